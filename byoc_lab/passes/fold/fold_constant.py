"""FoldConstant: evaluates constant subexpressions at compile time."""

from __future__ import annotations

from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np

from byoc_lab.errors import ByocLabError, EvaluationError, PassError
from byoc_lab.passes.framework.hook import unheard
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite, rule
from byoc_lab.relay.analysis.known_sizes import SHAPES
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import numpy_dtype, shown_array
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.ir.variables import free_vars
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op.framework.evaluate import evaluate_op
from byoc_lab.relay.op.tensor.dyn import has_static_form, static_form
from byoc_lab.relay.typing.infer import infer_above, infer_expr

ANNOTATIONS = ("annotation.compiler_begin", "annotation.compiler_end")
ON_DEVICE = "on_device"
FOLDED_UP_TO = 1 << 29
"""The maximum size in bytes of a folded value, unless it is at most four times the size of its
operands. The largest weight of VGG has 411 MB; a malicious module may request any size, in any
number of nodes."""
FOLD_QNN = "FoldConstant(fold_qnn=True)"
"""The pass that also folds quantized operators on constants."""


class FoldConstant(FunctionPass):
    """Evaluates constant subexpressions at compile time.

    A call of an operator whose arguments are all constants (or tuples of them) becomes the constant
    that it evaluates to; so do projections of literal tuples, ifs with a constant condition, and
    lets of a constant value. `shape_of` and `ndarray_size` become constants if the shape is known.
    An `on_device` around a constant is kept, and the result still counts as a constant. Not folded:
    calls without arguments (`zeros`), calls of functions, stateful and opaque operators, quantized
    arithmetic unless `fold_qnn`, values of more than 512 MiB (FOLDED_UP_TO), and everything inside
    a Primitive function, because other tools created it; a let whose variable such a function uses
    is kept.

    fold_qnn: also fold quantized operators. era="2020-01": also fold inside Primitive functions, as
    the pass did before September 2020.

    Source: src/relay/transforms/fold_constant.cc of TVM 0.16.
    """

    opt_level = 2
    eras = ("2020-01",)

    def __init__(self, fold_qnn: bool = False, era: str | None = None):
        self.fold_qnn = fold_qnn
        self.era = self.checked_era(era)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        folded = self.fold(func)
        assert isinstance(folded, Function)
        return folded

    def fold(self, expr: Expr) -> Expr:
        """`expr` with its constant subexpressions evaluated, also `shape_of` and `ndarray_size` if
        `expr` is typed."""

        def enter(node: Expr) -> bool:
            closed = isinstance(node, Function) and bool(node.attrs.get("Primitive"))
            return self.era is not None or not closed or node is expr

        memo: dict[Expr, Expr] = {}
        nodes = list(post_order(expr))
        left_alone = {v for n in nodes if not enter(n) for v in free_vars(n)}
        value_of = {n.var: n.value for n in nodes if isinstance(n, Let) and n.var not in left_alone}

        def use_constant(pre: Any, post: Any) -> Expr:
            value = memo.get(value_of[pre]) if pre in value_of else None
            return value if value is not None and _is_literal(value) else post

        rules = (
            RewriteRule("evaluate", _computed, self._evaluate),
            state_shape,
            drop_let,
            pick_field,
            pick_branch,
        )
        folded: Expr = rewrite(expr, rules, enter, memo, use_constant)
        return folded

    def _evaluate(self, pre: Expr, post: Expr) -> Expr | None:
        if not isinstance(post, Call) or not isinstance(post.op, Op) or not post.args:
            return None
        if not all(map(_is_constant, post.args)):
            return None
        if post.op.name in ANNOTATIONS:
            raise PassError(
                f"FoldConstant found {post.op.name} of a constant, which cannot be evaluated. Fold "
                f"before annotating, or run PartitionGraph first"
            )
        return evaluated(post, pre.checked_type if pre.is_typed else None, self.fold_qnn)


def _computed(call: Call, result: Expr) -> str:
    """The call and its result, with their values, in words."""
    return f"{call.op_name}({', '.join(map(_shown, call.args))}) = {_shown(result)}"


def _shown(expr: Expr) -> str:
    """The value of a constant for messages."""
    if isinstance(expr, Tuple):
        return (
            f"({', '.join(map(_shown, expr.fields[:4]))}{', ...' if len(expr.fields) > 4 else ''})"
        )
    return shown_array(expr.numpy()) if isinstance(expr, Constant) else describe(expr)


def evaluated(call: Call, ty: Type | None, fold_qnn: bool = False) -> Expr | None:
    """The value of a call of an operator on constants and tuples of constants. ty: its type.

    None if the call is not folded: it has no arguments, the operator has side effects or no NumPy
    reference, it is quantized (without `fold_qnn`), or its value is larger than FOLDED_UP_TO.
    """
    op, attrs, args = call.op, call.attrs, call.args
    assert isinstance(op, Op)
    if not args or op.name in (ON_DEVICE, *ANNOTATIONS) or op.get_attr("TOpIsStateful"):
        return None
    if (is_quantised(op) and not fold_qnn) or op.definition.reference is None:
        return None
    if _is_too_large(call, ty):
        return None
    try:
        return _to_expr(evaluate_op(op, attrs, [_to_value(a) for a in args]))
    except EvaluationError:
        # An index out of range, ...: the error occurs at run time, if the call runs.
        return None


def is_quantised(op: Op) -> bool:
    """Whether FoldConstant evaluates an operator with `fold_qnn` only."""
    return op.name.startswith("qnn.")


def _is_too_large(call: Call, ty: Type | None) -> bool:
    """Whether a value exceeds the memory limit for folding."""
    if _bytes(ty) is None:  # a dimension depends on a value, which is known here
        constants = [_plain(arg) for arg in call.args]
        plain = Call(call.op, constants, call.attrs)
        if call.is_op("arange"):
            bounds = dict(zip(("start", "stop", "step"), constants, strict=True))
            plain = Call(call.op, constants, call.attrs.replace(**bounds))
        elif has_static_form(plain):
            plain = static_form(plain) or plain
        try:
            ty = infer_expr(plain).checked_type
        except ByocLabError:  # the error occurs at run time, if the call runs
            return True
    size = _bytes(ty) or 0
    if size <= FOLDED_UP_TO:
        return False
    return size > 4 * sum(leaf.nbytes for arg in call.args for leaf in _leaves(_to_value(arg)))


def _bytes(ty: Type | None) -> int | None:
    """The bytes of a value; None if a size is unknown."""
    if isinstance(ty, TupleType):
        sizes = [_bytes(field) for field in ty.fields]
        return None if None in sizes else sum(filter(None, sizes))
    if not isinstance(ty, TensorType) or not ty.is_static:
        return None
    return prod(ty.concrete_shape) * numpy_dtype(ty.dtype).itemsize


def _leaves(value: Any) -> Iterator[np.ndarray]:
    if isinstance(value, tuple):
        for field in value:
            yield from _leaves(field)
    else:
        yield value


def folded(expr: Expr, fold_qnn: bool = False) -> Expr:
    """`expr`, which does not belong to a module, with its constant subexpressions evaluated."""
    with unheard():
        return FoldConstant(fold_qnn).fold(expr)


@rule("state shape", lambda call, found: f"the shape is known: {call.op_name} = {_shown(found)}")
def state_shape(pre: Expr, post: Expr) -> Expr | None:
    """Fold `shape_of` or `ndarray_size`, except for a scalar, for which TVM 0.16 is wrong."""
    if not (isinstance(pre, Call) and isinstance(pre.op, Op) and pre.op.name in SHAPES):
        return None
    ty = pre.args[0].checked_type if pre.args[0].is_typed else None
    if not isinstance(ty, TensorType) or not ty.is_static or not ty.shape:
        return None
    shape = np.array(ty.concrete_shape)
    found = shape if pre.op.name == "shape_of" else shape.prod()
    return Constant(np.asarray(found, pre.attrs["dtype"]))


@rule("pick field", "a field of a literal tuple is that field")
def pick_field(pre: Expr, post: Expr) -> Expr | None:
    if isinstance(post, TupleGetItem) and isinstance(post.tuple_value, Tuple):
        return post.tuple_value.fields[post.index]
    return None


@rule("pick branch", lambda node, branch: f"the condition is {_shown(node.cond)}")
def pick_branch(pre: Expr, post: Expr) -> Expr | None:
    if isinstance(post, If) and _is_literal(post.cond):
        return post.true_branch if _to_value(post.cond) else post.false_branch
    return None


@rule("drop let", "a constant needs no name")
def drop_let(pre: Expr, post: Expr) -> Expr | None:
    # The constant has replaced the variable everywhere, even at its binding.
    return post.body if isinstance(post, Let) and not isinstance(post.var, Var) else None


def _is_literal(expr: Expr) -> bool:
    """Whether an expression is a constant, possibly inside an `on_device`."""
    return isinstance(expr, Constant) or (
        isinstance(expr, Call)
        and isinstance(expr.op, Op)
        and expr.op.name == ON_DEVICE
        and isinstance(expr.args[0], Constant)
    )


def _is_constant(expr: Expr) -> bool:
    todo = [expr]
    while todo:
        node = todo.pop()
        if isinstance(node, Tuple):
            todo += node.fields
        elif not _is_literal(node):
            return False
    return True


def _plain(expr: Expr) -> Expr:
    """A constant or tuple of constants, without the `on_device` around it."""
    if isinstance(expr, Tuple):
        return Tuple([_plain(field) for field in expr.fields])
    return expr.args[0] if isinstance(expr, Call) else expr


def _to_value(expr: Expr) -> object:
    if isinstance(expr, Constant):
        return expr.numpy()
    if isinstance(expr, Call):
        return _to_value(expr.args[0])
    return tuple(map(_to_value, expr.parts()))


def _to_expr(value: object) -> Expr:
    if isinstance(value, tuple):
        return Tuple([_to_expr(v) for v in value])
    return Constant(np.asarray(value))


def typed_and_folded(node: Expr) -> Expr:
    """Infer the type of a node with typed parts; returns the node, or the constant that it folds
    to."""
    typed = infer_above(node)
    found = state_shape.apply(typed, typed) or pick_field.apply(typed, typed)
    if found is None and isinstance(typed, Call) and isinstance(typed.op, Op):
        constant = all(map(_is_constant, typed.args))
        found = evaluated(typed, typed.checked_type) if constant else None
    if found is None or found.is_typed:
        return typed if found is None else found
    return _typed_constant(found)


def _typed_constant(found: Expr) -> Expr:
    if isinstance(found, Tuple):
        found = Tuple([_typed_constant(f) for f in found.fields])
    return infer_above(found)
