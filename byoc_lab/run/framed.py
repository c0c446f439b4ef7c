"""Expressions created while a call of a function is inlined.

The frame maps the function's type parameters to the types of this call, so the created expressions
have types without type parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.relay.ir.expr import Call, Expr, Tuple, describe
from byoc_lab.relay.ir.types import FuncType, TensorType, TupleType, Type, replace
from byoc_lab.run.abstract_values import cannot_build
from byoc_lab.run.interpreter import Closure, ScopeFrame, Value


def frame_of_call(node: Call, callee: Closure, args: list[Value], frame: ScopeFrame) -> ScopeFrame:
    """The frame of a call: binds the callee's parameters to `args` and its type parameters to the
    types of this call."""
    function = callee.function
    types = [replace(t, frame.types) for t in node.type_args]
    own: dict[Type, Type] = (
        dict(zip(function.type_params, types, strict=True)) if len(types) else {}
    )
    inner = ScopeFrame(callee.frame, own)
    inner.values.update(zip(function.params, args, strict=True))
    return inner


def with_parts(node: Expr, parts: list[Expr], frame: ScopeFrame) -> Expr:
    """`node` with its parts replaced, typed for this call of the enclosing function."""
    same = all(a is b for a, b in zip(parts, node.parts(), strict=True))
    made = node if same else node.with_parts(parts)
    if made.is_typed or not node.is_typed:
        return made
    typed: Expr = made.with_type(replace(node.checked_type, frame.types))
    return typed


def tuple_of(fields: Sequence[Expr]) -> Tuple:
    """A tuple, typed if its fields are typed."""
    made = Tuple(fields)
    typed = all(f.is_typed for f in made.fields)
    return made.with_type(TupleType([f.checked_type for f in made.fields])) if typed else made


def result_type(node: Call, frame: ScopeFrame) -> Type:
    """The type of a recursive call. Raises BuildError if it contains anything but tensors and
    tuples."""
    if not node.is_typed:
        raise cannot_build(
            node, f"{describe(node)} is recursive and has no type: infer types first"
        )
    ty = replace(node.checked_type, frame.types)
    todo = [ty]
    while todo:
        part = todo.pop()
        if isinstance(part, TupleType):
            todo += part.fields
        elif not isinstance(part, TensorType):
            kind = "functions" if isinstance(part, FuncType) else "data or references"
            raise cannot_build(node, f"a recursion on tensors returns {kind}: {ty}")
    return ty
