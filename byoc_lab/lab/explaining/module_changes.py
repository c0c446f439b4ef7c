"""Changes of a module at one call: each returns the new module and maps calls to their
replacements."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from byoc_lab.errors import InputError
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.attrs import REQUIRED, Attrs
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op, Var, const
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.relay.op.framework.evaluate import evaluate_op
from byoc_lab.relay.op.tensor.dyn import has_static_form, run_time_arguments
from byoc_lab.relay.op.tensor.reduce import reduced_axes
from byoc_lab.relay.patterns.matcher import COMMUTATIVE

Edited = tuple[IRModule, dict[Call, Call]]
FLOAT = "float32"
IMAGE_AXES: dict[tuple[int, ...], str] = {(2, 3): "NCHW", (1, 2): "NHWC"}
"""The axes of an image's height and width, and the layout."""


def edit(mod: IRModule, rewrite: Callable[[Any, Any], Expr]) -> Edited:
    """`mod` with `rewrite(pre, post)` applied to every node of its functions."""
    memo: dict[Expr, Expr] = {}
    out = mod.copy()
    for gv, func in mod.functions.items():
        new = rebuild(func, rewrite, memo=memo)
        if new is not func:  # the result may have a different type
            new = Function(new.params, new.body, None, new.type_params, new.attrs, new.span)
        out.put_unchecked(gv.name_hint, new)
    calls = {a: b for a, b in memo.items() if isinstance(a, Call) and isinstance(b, Call)}
    return out, calls


def _is_symmetric(op: Op) -> bool:
    """Whether the operands of a binary operator can be swapped; tested with integers."""
    if op.definition.inputs != ("lhs", "rhs"):
        return False
    a, b = np.array([2, 3]), np.array([5, 1])
    return np.array_equal(evaluate_op(op, None, (a, b)), evaluate_op(op, None, (b, a)))


def swapped(mod: IRModule, call: Call) -> Edited | None:
    """Swap the operands of a symmetric operator; None for other operators."""
    if not isinstance(call.op, Op) or not _is_symmetric(call.op):
        return None

    def swap(pre: Expr, post: Any) -> Any:
        if pre is not call:
            return post
        return Call(post.op, post.args[::-1], post.attrs, span=post.span)

    return edit(mod, swap)


def other_attributes(mod: IRModule, call: Call) -> Iterator[tuple[str, Edited, bool]]:
    """Variants with one rewritten attribute, such as "axis=-1": the description, the module, and
    whether it computes the same results. The attribute is an axis counted from the other end, a
    different axis, or a default."""
    attrs = call.attrs
    if not isinstance(attrs, Attrs) or attrs.schema is None or not isinstance(call.op, Op):
        return
    for name, value, same in _other_values(call, attrs):
        new = attrs.replace(**{name: value})

        def write(pre: Expr, post: Any, new: Attrs = new) -> Any:
            return Call(post.op, post.args, new, span=post.span) if pre is call else post

        yield f"{name}={value!r}", edit(mod, write), same


def _other_values(call: Call, attrs: Attrs) -> Iterator[tuple[str, Any, bool]]:
    assert attrs.schema is not None
    rank = _rank(call.args[0]) if call.args else None
    axis = attrs.get("axis")
    if rank and isinstance(axis, int) and not isinstance(axis, bool):
        yield "axis", axis - rank if axis >= 0 else axis + rank, True
    for part in attrs.schema.fields:
        if part.default is not REQUIRED and attrs[part.name] != part.default:
            yield part.name, part.default, False
    if rank and isinstance(axis, int) and not isinstance(axis, bool):
        for other in range(rank):
            if other not in (axis, axis + rank):
                yield "axis", other, False


def _rank(expr: Expr) -> int | None:
    ty = expr.checked_type if expr.is_typed else None
    return len(ty.shape) if isinstance(ty, TensorType) else None


def computed_in_float32(mod: IRModule, call: Call) -> Edited | None:
    """Cast the operands of a call to float32, and its result back."""
    ty = call.checked_type
    if not isinstance(ty, TensorType) or not isinstance(call.op, Op):
        return None
    types = [a.checked_type for a in call.args]
    if not any(isinstance(t, TensorType) and t.dtype != FLOAT for t in types):
        return None
    inner: dict[Call, Call] = {}

    def cast(pre: Expr, post: Any) -> Any:
        if pre is not call:
            return post
        args = [
            _cast(a, FLOAT) if isinstance(t, TensorType) and t.dtype != FLOAT else a
            for a, t in zip(post.args, types, strict=True)
        ]
        inner[call] = Call(post.op, args, post.attrs, span=post.span)
        return _cast(inner[call], ty.dtype) if ty.dtype != FLOAT else inner[call]

    out, calls = edit(mod, cast)
    return out, {**calls, **inner}


def as_global_pool(mod: IRModule, call: Call) -> Edited | None:
    """Write a mean over both axes of an image as a global average pooling, with a squeeze if the
    mean does not keep these axes; None for any other call."""
    ty = call.args[0].checked_type if call.op_name == "mean" else None
    if not isinstance(ty, TensorType) or len(ty.shape) != 4:
        return None
    axes = reduced_axes("mean", call.attrs, 4)
    layout = IMAGE_AXES.get(axes)
    if layout is None:
        return None
    inner: dict[Call, Call] = {}

    def pool(pre: Expr, post: Any) -> Any:
        if pre is not call:
            return post
        inner[call] = _call("nn.global_avg_pool2d", post.args[0], layout=layout)
        kept = call.attrs["keepdims"]
        return inner[call] if kept else _call("squeeze", inner[call], axis=list(axes))

    out, calls = edit(mod, pool)
    return out, {**calls, **inner}


def _cast(expr: Expr, dtype: str) -> Call:
    return _call("cast", expr, dtype=dtype)


def _call(name: str, expr: Expr, **attrs: Any) -> Call:
    op = Op.get(name)
    schema = op.definition.attrs
    assert schema is not None
    return Call(op, [expr], schema.make(**attrs))


def computed_twice(mod: IRModule, values: Sequence[Expr], match: Collection[Expr]) -> Edited:
    """Copy the nodes of `match` on which some values depend, for users outside of `match`."""
    needed = set(post_order(*values))
    copies: dict[Expr, Expr] = {}

    def use(pre: Expr, post: Any) -> Any:
        parts = zip(pre.parts(), post.parts(), strict=True)
        copied = [copies.get(was, now) for was, now in parts]
        if pre in match:
            if pre in needed:
                copies[pre] = post.with_parts(copied)
            return post
        return post if copies.keys().isdisjoint(pre.parts()) else post.with_parts(copied)

    return edit(mod, use)


def computed_once(mod: IRModule) -> Edited:
    """Merge all calls of an operator with the same operands and attributes."""
    known: dict[object, Call] = {}

    def once(pre: Expr, post: Any) -> Any:
        if not isinstance(pre, Call) or not isinstance(post.op, Op):
            return post
        attrs = tuple((k, repr(v)) for k, v in dict(post.attrs or {}).items())
        return known.setdefault((post.op, tuple(post.args), attrs), post)

    return edit(mod, once)


def _parameters(mod: IRModule) -> tuple[Var, ...]:
    func = next((f for gv, f in mod.functions.items() if gv.name_hint == "main"), None)
    return func.params if isinstance(func, Function) else ()


def weights(mod: IRModule) -> tuple[str, ...]:
    """The names of the parameters of @main that are weights, not inputs: calls use them, but never
    as the first operand. Relay does not mark weights otherwise; operators take their data first."""
    params = _parameters(mod)
    rest: set[Expr] = set()
    first: set[Expr] = set()
    for node in post_order(*mod.functions.values()):
        if isinstance(node, Call):
            first.update(node.args[:1])
            rest.update(node.args[1:])
        elif not isinstance(node, Function):
            first.update(node.parts())  # a tuple or branch passes them to any operator
    return tuple(p.name_hint for p in params if p in rest and p not in first)


def data(mod: IRModule) -> frozenset[str]:
    """The names of the parameters of @main that are the first operand of an operator whose operands
    have an order: its data."""
    calls = (n for n in post_order(*mod.functions.values()) if isinstance(n, Call) and n.op_name)
    first = {n.args[0] for n in calls if n.args and n.op_name not in COMMUTATIVE}
    return frozenset(p.name_hint for p in _parameters(mod) if p in first)


def bound(mod: IRModule, names: Sequence[str], value: int) -> Edited | None:
    """Bind parameters of @main to tensors filled with one value; None if a name does not exist or
    is ambiguous, or if a parameter has no fixed shape or a dtype without values."""
    values = {}
    for p in _parameters(mod):
        ty = p.checked_type
        if p.name_hint in names and isinstance(ty, TensorType) and ty.is_static:
            try:
                number = const(value, ty.dtype).data.view()
            except InputError:
                return None
            # a view, which needs no memory
            values[p.name_hint] = NDArray(np.broadcast_to(number, ty.concrete_shape))
    named = sum(p.name_hint in values for p in _parameters(mod))
    if set(values) != set(names) or not names or named > len(values):
        return None
    out = mod.copy()
    out.put_unchecked("main", bind_params_by_name(mod["main"], values))
    calls = (
        [n for n in post_order(*m.functions.values()) if isinstance(n, Call)] for m in (mod, out)
    )
    return out, dict(zip(*calls, strict=True))


def size_parameters(mod: IRModule) -> list[str]:
    """The parameters of @main that only decide the sizes of dynamic operators."""
    if "main" not in mod:
        return []
    body = mod["main"].body
    sizes = [a for n in post_order(body) if has_static_form(n) for a in run_time_arguments(n)]
    data: set[Expr] = set()
    todo = [body] if sizes else []
    while todo:
        node = todo.pop()
        if node not in data:
            data.add(node)
            skipped = run_time_arguments(node) if has_static_form(node) else ()
            todo += (part for part in node.parts() if part not in skipped)
    only = set(post_order(*sizes)) - data
    return [p.name_hint for p in mod["main"].params if p in only]


def unknown_inputs(mod: IRModule) -> dict[str, Sequence[Any]]:
    """The shapes of the parameters of @main with unknown dimension sizes, by name."""
    types = {p.name_hint: p.checked_type for p in _parameters(mod)}
    return {
        n: ty.shape for n, ty in types.items() if isinstance(ty, TensorType) and not ty.is_static
    }


def with_shapes(mod: IRModule, shapes: Mapping[str, Sequence[Any]]) -> Edited:
    """Give parameters of @main these shapes, by name."""
    new: dict[Expr, Expr] = {
        p: Var(p.name_hint, TensorType(shapes[p.name_hint], p.checked_type.dtype))
        for p in _parameters(mod)
        if p.name_hint in shapes
    }
    return edit(mod, lambda pre, post: new.get(pre, post))
