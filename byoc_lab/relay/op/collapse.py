"""Sums over what broadcasting repeats: collapse_sum_like, collapse_sum_to.

Source: `CollapseSumLikeRel`, `CollapseSumToRel` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.errors import BuildError
from byoc_lab.relay.attrs import attrs_type
from byoc_lab.relay.dims import Any, Unknown
from byoc_lab.relay.expr import Call, Constant, Expr, const
from byoc_lab.relay.op.namespace import builds
from byoc_lab.relay.op.registry import OpPattern, define_op
from byoc_lab.relay.op.relations import NO_DTYPE, Types, broadcast, fail, need_rank, tensors
from byoc_lab.relay.op.relax_types import rank_of, shape_of
from byoc_lab.relay.types import TensorType, Type


def collapsed(x: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    """`x` summed over the axes that broadcasting to its shape repeats."""
    spare = x.ndim - len(shape)
    axes = [n for n in range(x.ndim) if n < spare or (shape[n - spare] == 1 and x.shape[n] != 1)]
    return np.asarray(x.sum(axis=tuple(axes)), x.dtype).reshape(tuple(shape))


def check_collapses(op: str, x: TensorType, narrow: TensorType) -> None:
    """Raise TypeInferenceError unless `narrow` broadcasts to the shape of `x`."""
    if broadcast(op, narrow, x) != x.shape and x.is_static and narrow.is_static:
        fail(op, f"{narrow} does not broadcast to {x}, which is to be summed to its shape")


def _flops(attrs: AnyValue, args: AnyValue, result: AnyValue) -> int:
    return prod(args[0].shape)


def like_relation(attrs: AnyValue, data: Type | None, like: Type | None) -> Types:
    """data in the shape of collapse_type, which broadcasts to that of data."""
    op = "collapse_sum_like"
    x, narrow = tensors(op, "data collapse_type", data, like)
    if x is None or narrow is None:
        return x, narrow, None
    check_collapses(op, x, narrow)
    return x, narrow, TensorType(narrow.shape, x.dtype)


def _collapse(R: AnyValue, x: AnyValue, shape: Sequence[int]) -> AnyValue:
    """Sums in Relax; its own collapse_sum_to cannot be lowered."""
    whole = shape_of(x)
    spare = rank_of(x) - len(shape)
    axes = [n for n, d in enumerate(whole) if n < spare or (shape[n - spare] == 1 and d != 1)]
    return R.reshape(R.sum(x, axis=axes) if axes else x, shape)


define_op(
    "collapse_sum_like",
    "data collapse_type",
    like_relation,
    reference=lambda attrs, x, like: collapsed(x, like.shape),
    flops=_flops,
    relax=lambda R, attrs, x, like: _collapse(R, x, shape_of(like)),
    pattern=OpPattern.COMM_REDUCE,
    doc="data summed to the shape of another tensor: the gradient of broadcasting.",
)


def to_relation(attrs: AnyValue, data: Type | None, shape: Type | None) -> Types:
    """data in the attribute's shape, or in one known only at run time, `?` all over."""
    op = "collapse_sum_to"
    x, s = tensors(op, "data shape", data, shape)
    if s is not None:
        need_rank(op, "shape", s, 1)
    if x is None:
        return None, s, None
    if attrs.shape is not None:
        narrow = TensorType(attrs.shape, x.dtype)
        check_collapses(op, x, narrow)
        return x, s, narrow
    if s is None or isinstance(s.shape[0], Unknown):
        return x, s, None
    return x, s, TensorType([Any()] * s.shape[0], x.dtype)


def _to_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, shape: AnyValue) -> AnyValue:
    if attrs.shape is None:
        raise BuildError("collapse_sum_to: Relax can only take a constant as shape")
    return _collapse(R, x, attrs.shape)


TO = define_op(
    "collapse_sum_to",
    "data wanted",  # not the name of the attribute: a builder has one parameter for each
    to_relation,
    reference=lambda attrs, x, shape: collapsed(x, tuple(int(n) for n in shape)),
    attrs=attrs_type("relay.attrs.InitOpAttrs"),
    attrs_key="",
    flops=_flops,
    relax=_to_relax,
    pattern=OpPattern.COMM_REDUCE,
    doc="data summed to a shape that broadcasts to its own.",
)


@builds("collapse_sum_to")
def collapse_sum_to(data: Expr, shape: AnyValue) -> Call:
    """`data` summed to `shape`: ints, or an expression."""
    wanted = shape if isinstance(shape, Expr) else const(list(shape), "int32")
    known = wanted.numpy().tolist() if isinstance(wanted, Constant) else None
    attrs = attrs_type("relay.attrs.InitOpAttrs").make(shape=known, dtype=NO_DTYPE)
    return Call(TO, [data, wanted], attrs)
