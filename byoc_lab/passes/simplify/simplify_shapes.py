"""Simplifications of SimplifyExpr based on shapes and layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from byoc_lab.relay.ir.expr import Call, Expr, Op, const
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op.framework.namespace import function
from byoc_lab.relay.op.framework.registry import OpPattern
from byoc_lab.relay.op.tensor.relayout import axes_of_layout, pads_blocks
from byoc_lab.relay.op.tensor.shape import reshaped_to
from byoc_lab.relay.patterns import DFPattern, DFPatternCallback, is_constant, is_op, wildcard

NodeMap = dict[DFPattern, list[Expr]]


def fixed_shape(expr: Any) -> tuple[int, ...] | None:
    """The shape of a typed tensor; None if it is not completely known."""
    ty = expr.checked_type
    if isinstance(ty, TensorType) and all(isinstance(d, int) for d in ty.shape):
        return tuple(d for d in ty.shape if isinstance(d, int))
    return None


def is_any_op(*names: str) -> DFPattern:
    """A pattern for any of these operators; undefined ones are skipped."""
    known = [is_op(name) for name in names if name in Op.list_op_names()]
    pattern: DFPattern = known[0]
    for other in known[1:]:
        pattern = pattern | other
    return pattern


class ConcretizeLike(DFPatternCallback):
    """`zeros_like(%x)` -> `zeros(shape=..., dtype=...)`, and the like, when the shape is known.

    make(node_map, shape, dtype): creates the call with the shape as an attribute.
    """

    reason = "the shape is known, so it becomes an attribute"

    def __init__(self, name: str, make: Callable[[list[Expr], Any, str], Expr]):
        super().__init__()
        op = Op.get(name)
        self.args = [wildcard() for _ in op.definition.inputs]
        self.make = make
        self.pattern = is_op(name)(*self.args)

    def callback(self, pre: Any, post: Expr, node_map: NodeMap) -> Expr:
        shape = fixed_shape(pre)
        if shape is None:
            return post
        return self.make([node_map[a][0] for a in self.args], shape, pre.checked_type.dtype)


def concretized() -> Iterator[DFPatternCallback]:
    """A ConcretizeLike for each operator that takes its shape from a tensor."""
    makers: dict[str, Callable[[list[Expr], Any, str], Expr]] = {
        "zeros_like": lambda args, shape, dtype: function("zeros")(shape, dtype),
        "ones_like": lambda args, shape, dtype: function("ones")(shape, dtype),
        "full_like": lambda args, shape, dtype: function("full")(args[1], shape, dtype),
        "reshape_like": lambda args, shape, dtype: reshaped_to(args[0], shape),
        "broadcast_to_like": lambda args, shape, dtype: function("broadcast_to")(args[0], shape),
        "collapse_sum_like": lambda args, shape, dtype: function("collapse_sum_to")(args[0], shape),
    }
    return (ConcretizeLike(n, make) for n, make in makers.items() if n in Op.list_op_names())


class SimplifyReshape(DFPatternCallback):
    """`reshape(reshape(%x))` -> one reshape."""

    reason = "only the last shape matters"

    def __init__(self) -> None:
        super().__init__()
        self.x = wildcard()
        reshapes = ("reshape", "contrib_reverse_reshape")
        self.pattern = is_any_op(*reshapes)(is_any_op(*reshapes)(self.x))

    def callback(self, pre: Any, post: Expr, node_map: NodeMap) -> Expr:
        shape = fixed_shape(pre)
        return post if shape is None else reshaped_to(node_map[self.x][0], shape)


def _order(call: Any, rank: int) -> list[int]:
    """For each axis of the result of a transpose or layout_transform, the axis of its data."""
    if call.is_op("transpose"):
        axes = call.attrs.axes
        return [a % rank for a in axes] if axes is not None else list(range(rank))[::-1]
    source, target = _letters(call.attrs.src_layout), _letters(call.attrs.dst_layout)
    return [source.index(letter) for letter in target[:rank]]


def _letters(layout: str) -> list[str]:
    return [letter for letter, _ in axes_of_layout("layout_transform", layout)]


def _permuted(layout: str, order: list[int]) -> str:
    """The layout with its axes permuted."""
    axes = [f"{size or ''}{letter}" for letter, size in axes_of_layout("layout_transform", layout)]
    return "".join(axes[n] for n in order)


class SimplifyTranspose(DFPatternCallback):
    """Two transposes or layout transforms in a row -> one."""

    reason = "one permutation gives the final order of the axes"

    def __init__(self) -> None:
        super().__init__()
        self.x = wildcard()
        moves = ("transpose", "layout_transform")
        self.pattern = is_any_op(*moves)(is_any_op(*moves)(self.x))

    def callback(self, pre: Any, post: Expr, node_map: NodeMap) -> Expr:
        x, first = node_map[self.x][0], pre.args[0]
        layouts = _through_blocks(first, pre)
        if layouts is not None:
            source, target = layouts
            if any(_pads(c) for c in _blocked(first, pre)):
                return post  # the zeros that pad the last block must be kept
            return x if source == target else function("layout_transform")(x, source, target)
        rank = len(pre.checked_type.shape)
        inner, outer = _order(first, rank), _order(pre, rank)
        return function("transpose")(x, axes=[inner[n] for n in outer])


def _through_blocks(first: Any, second: Any) -> tuple[str, str] | None:
    """The source and target layouts of one layout_transform that replaces both calls, if at least
    one of them creates or removes blocks such as 16c; else None.
    """
    blocked = _blocked(first, second)
    if not blocked:
        return None
    source, target = blocked[0].attrs.src_layout, blocked[-1].attrs.dst_layout
    if len(blocked) == 2:
        return source, target
    if len(_letters(source)) < len(_letters(target)):  # the first call is the plain transpose
        order = _order(first, len(_letters(source)))
        inverse = [order.index(n) for n in range(len(order))]
        return _permuted(source, inverse), target
    return source, _permuted(target, _order(second, len(_letters(target))))


def _blocked(*calls: Any) -> list[Any]:
    return [c for c in calls if _changes_rank(c)]


def _pads(call: Any) -> bool:
    return pads_blocks(
        call.args[0].checked_type.shape, call.attrs.src_layout, call.attrs.dst_layout
    )


def _changes_rank(call: Any) -> bool:
    if not call.is_op("layout_transform"):
        return False
    return len(_letters(call.attrs.src_layout)) != len(_letters(call.attrs.dst_layout))


class SimplifyNoOpTranspose(DFPatternCallback):
    """Remove a transpose or layout transform that moves nothing."""

    reason = "every axis keeps its position"

    def __init__(self) -> None:
        super().__init__()
        self.x = wildcard()
        self.pattern = is_any_op("transpose", "layout_transform")(self.x)

    def callback(self, pre: Any, post: Expr, node_map: NodeMap) -> Expr:
        if pre.is_op("layout_transform") and pre.attrs.src_layout != pre.attrs.dst_layout:
            return post
        rank = len(pre.checked_type.shape)
        return node_map[self.x][0] if _order(pre, rank) == list(range(rank)) else post


class FullElementwise(DFPatternCallback):
    """`add(%x, ones(...))` -> `add(%x, 1)`, and likewise for other broadcasting operators, for
    zeros and full."""

    reason = "a single number broadcasts to a constant tensor"

    def __init__(self) -> None:
        super().__init__()
        self.x, data, self.value = wildcard(), wildcard(), is_constant()
        self.full = is_op("full")(self.value) | is_op("full_like")(data, self.value)
        self.ones = is_op("ones")() | is_op("ones_like")(data)
        self.zeros = is_op("zeros")() | is_op("zeros_like")(data)
        filled = self.full | self.ones | self.zeros
        op = wildcard().has_attr({"TOpPattern": int(OpPattern.BROADCAST)})
        self.pattern = op(filled, self.x) | op(self.x, filled)

    def callback(self, pre: Any, post: Any, node_map: NodeMap) -> Expr:
        x = node_map[self.x][0]
        is_left = post.args[1] is x
        if pre.args[1 if is_left else 0].checked_type != pre.checked_type:
            return post
        if self.full in node_map:
            value = node_map[self.value][0]
        else:
            value = const(int(self.ones in node_map), pre.checked_type.dtype)
        args = [value, x] if is_left else [x, value]
        return Call(post.op, args, post.attrs, post.type_args, post.span)
