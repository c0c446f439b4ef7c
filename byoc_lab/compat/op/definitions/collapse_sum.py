"""Sums that undo a broadcast: collapse_sum_like, collapse_sum_to.

Source: `CollapseSumLikeRel`, `CollapseSumToRel` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any as AnyValue

import numpy as np

from byoc_lab.errors import ArgumentError
from byoc_lab.relay.ir.dims import Any, Unknown
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, const
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.costs import per_input_element
from byoc_lab.relay.op.framework.namespace import builds
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    check_broadcasts_to,
    fail,
    need_rank,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import constant_array, rank_of, shape_of
from byoc_lab.relay.op.tensor.create import INIT_ATTRS
from byoc_lab.relay.op.tensor.reduce import REDUCE_ATTRS

LIKE, TO = "collapse_sum_like", "collapse_sum_to"
SUM = Op.get("sum").definition


def _summed(run: Callable[..., AnyValue], x: AnyValue, rank: int, shape: Sequence[int]) -> AnyValue:
    """`x` summed by `run(attrs, x)` over the axes that `shape` lacks or in which it has size 1; the
    latter axes are kept with size 1."""
    spare = rank - len(shape)
    axes = [n for n in range(rank) if n < spare or shape[n - spare] == 1]
    return run(REDUCE_ATTRS.make({"axis": axes, "keepdims": True}), x) if axes else x


def _reference(x: np.ndarray, shape: Sequence[int]) -> np.ndarray:
    assert SUM.reference is not None
    return np.asarray(_summed(SUM.reference, x, x.ndim, shape)).reshape(shape)


def _relax(R: AnyValue, x: AnyValue, shape: Sequence[int]) -> AnyValue:
    def run(attrs: AnyValue, x: AnyValue) -> AnyValue:
        assert SUM.relax is not None
        return SUM.relax(R, attrs, x)

    return R.reshape(_summed(run, x, rank_of(x), shape), shape)


def like_relation(attrs: AnyValue, data: Type | None, like: Type | None) -> Types:
    """The type of collapse_type, whose shape must broadcast to the shape of data."""
    x, narrow = tensors(LIKE, "data collapse_type", data, like)
    if x is not None and narrow is not None:
        if x.dtype != narrow.dtype:
            fail(LIKE, f"data and collapse_type must have one dtype, found {x} and {narrow}")
        check_broadcasts_to(LIKE, narrow, x)
    return x, narrow, narrow


define_op(
    LIKE,
    "data collapse_type",
    like_relation,
    reference=lambda attrs, x, like: _reference(x, like.shape),
    flops=per_input_element(1),
    relax=lambda R, attrs, x, like: _relax(R, x, shape_of(like)),
    pattern=OpPattern.COMM_REDUCE,
    arithmetic=Arithmetic.SUM,
    doc="data summed to the shape of another tensor, which broadcasts to the shape of data.",
)


def to_type(attrs: AnyValue, x: TensorType, lengths: TensorType) -> Type:
    """The shape is the attribute; if it is None, each element of the argument `shape` gives one
    unknown size."""
    need_rank(TO, "shape", lengths, 1)
    rank = lengths.shape[0]
    if isinstance(rank, Unknown):
        fail(TO, f"shape must be of a known length, found {lengths}")
    narrow = TensorType([Any()] * rank if attrs.shape is None else attrs.shape, x.dtype)
    check_broadcasts_to(TO, narrow, x)
    return narrow


define_op(
    TO,
    "data shape",
    result_type=to_type,
    reference=lambda attrs, x, shape: _reference(x, shape.tolist()),
    attrs=INIT_ATTRS,
    attrs_key="",
    fixed={"shape": None},
    flops=per_input_element(1),
    relax=lambda R, attrs, x, shape: _relax(R, x, constant_array(shape, TO, "shape").tolist()),
    pattern=OpPattern.COMM_REDUCE,
    shape_from=("shape",),
    arithmetic=Arithmetic.SUM,
    doc="data summed to a given shape, which broadcasts to the shape of data.",
)


@builds(TO)
def collapse_sum_to(data: Expr, shape: Expr | Sequence[int]) -> Call:
    """data summed to `shape`: a list of numbers, or a tensor. The result type has the sizes only if
    `shape` is a list or a constant. Raises ArgumentError for a constant that is not
    one-dimensional."""
    given = shape if isinstance(shape, Expr) else const(list(shape), "int32")
    known = given.numpy() if isinstance(given, Constant) else None
    if known is not None and known.ndim != 1:
        raise ArgumentError(
            f"{TO}: shape must have one axis, found a constant of shape {known.shape}; "
            f"give a list of numbers"
        )
    attrs = INIT_ATTRS.make({"shape": None if known is None else known.astype(int).tolist()})
    return Call(Op.get(TO), [data, given], attrs)
