"""Operators that cut slices: strided_slice, slice_like.

Source: `StridedSliceRel`, `SliceLikeRel` of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, integers, string
from byoc_lab.relay.ir.dims import Any, Dim, Unknown
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import RelaxCall, ints, relay_call
from byoc_lab.relay.op.framework.precision import FOLLOW
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import axes_of, fail
from byoc_lab.relay.op.framework.relax_types import rank_of, shape_of


def slices_of(attrs: AnyValue, shape: AnyValue) -> dict[int, slice]:
    """The slice that `strided_slice` applies to each axis, for data of a static `shape`.

    Negative numbers count from the end; all bounds are limited to the axis. With slice_mode "size",
    `end` holds sizes (-1: up to the end) and the strides are 1. Without attribute axes, a missing
    begin or end is the begin or end of the axis.
    """
    op = "strided_slice"
    if attrs.begin is None or attrs.end is None:
        fail(op, "attributes begin and end must be given")
    begin, end, strides = attrs.begin, attrs.end, tuple(attrs.strides or ())
    if attrs.slice_mode == "size":
        strides = ()
    elif attrs.slice_mode != "end":
        fail(op, f"attribute slice_mode must be end or size, found {attrs.slice_mode!r}")
    count = max(len(begin), len(end), len(strides))
    axes = axes_of(op, range(count) if attrs.axes is None else attrs.axes, len(shape))
    if len(strides) == 1:
        strides *= len(axes)
    strides += (1,) * (len(axes) - len(strides))
    if attrs.axes is None:
        begin += tuple(0 if step > 0 else -1 for step in strides[len(begin) :])
        rest = zip(strides[len(end) :], shape[len(end) : len(axes)], strict=True)
        whole = attrs.slice_mode == "end"
        end += tuple((length if whole else -1) if step > 0 else 0 for step, length in rest)
    if len(begin) != len(axes) or len(end) != len(axes):
        fail(op, f"begin {list(begin)} and end {list(end)} must have {len(axes)} numbers")
    if 0 in strides:
        fail(op, "attribute strides must not hold a 0")
    slices = {}
    for axis, first, last, step in zip(axes, begin, end, strides, strict=False):
        length = shape[axis]
        low, high = (0, length) if step > 0 else (-1, length - 1)
        first = min(max(first + length if first < 0 else first, low), high)
        if attrs.slice_mode == "size":
            last = length if last < 0 else first + last
        last = min(max(last + length if last < 0 else last, low), high)
        slices[axis] = slice(first, None if last < 0 else last, step)
    return slices


def slice_type(attrs: AnyValue, x: TensorType) -> Type:
    """The shape after `slices_of`; a cut dimension that is unknown stays `?`."""
    cuts = slices_of(attrs, [1 if isinstance(d, Unknown) else d for d in x.shape])
    shape = [_cut(d, cuts[n]) if n in cuts else d for n, d in enumerate(x.shape)]
    return TensorType(shape, x.dtype)


def _cut(length: Dim, cut: slice) -> Dim:
    return Any() if isinstance(length, Unknown) else len(range(*cut.indices(length)))


def slice_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    cuts = slices_of(attrs, x.shape)
    return x[tuple(cuts.get(n, slice(None)) for n in range(x.ndim))].copy()


def _slice_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    shape = shape_of(x)
    cuts = slices_of(attrs, shape)
    ends = []
    for n, cut in cuts.items():
        if cut.stop is None:
            ends.append(-shape[n] - 1)  # before the first element
        else:  # in Relax, an empty slice must end at its begin
            least = cut.step > 0
            ends.append(max(cut.start, cut.stop) if least else min(cut.start, cut.stop))
    return R.strided_slice(
        x, list(cuts), [c.start for c in cuts.values()], ends, [c.step for c in cuts.values()]
    )


def _strided_slice_from_relax(
    op: Op,
    call: RelaxCall,
    x: Expr,
    axes: AnyValue,
    begin: AnyValue,
    end: AnyValue,
    strides: AnyValue = None,
) -> Expr:
    return relay_call(
        "strided_slice",
        x,
        begin=ints(begin),
        end=_ends(call, ints(axes), ints(begin), ints(end), strides),
        strides=[1] * len(ints(axes)) if strides is None else ints(strides),
        axes=ints(axes),
    )


def _ends(
    call: RelaxCall, axes: list[int], begin: list[int], end: list[int], strides: AnyValue
) -> list[int]:
    """The ends of a slice of Relax, for Relay. A slice with a negative step that includes the first
    element ends before that element; in both languages this end is a number beyond the axis."""
    steps = [1] * len(axes) if strides is None else ints(strides)
    return [
        -call.shape[axis] - 1 if step < 0 and last < -call.shape[axis] else last
        for axis, last, step in zip(axes, end, steps, strict=True)
    ]


define_op(
    "strided_slice",
    "data",
    result_type=slice_type,
    from_relax={"strided_slice": _strided_slice_from_relax},
    reference=slice_reference,
    attrs=AttrsType(
        "relay.attrs.StridedSliceAttrs",
        (
            Attr("begin", integers, REQUIRED, "first index, per axis", may_be_none=True),
            Attr(
                "end",
                integers,
                REQUIRED,
                "index past the last one, per axis; or size",
                may_be_none=True,
            ),
            Attr(
                "strides",
                integers,
                REQUIRED,
                "step, per axis; one number: for all axes",
                may_be_none=True,
            ),
            Attr("slice_mode", string, "end", "whether `end` holds indices (end) or sizes (size)"),
            Attr("axes", integers, REQUIRED, "axes; None: the first ones", may_be_none=True),
        ),
    ),
    relax=_slice_relax,
    pattern=OpPattern.INJECTIVE,
    layout=layout_rules.strided_slice,
    parameters="data begin end strides axes slice_mode",
    defaults={"begin": REQUIRED, "end": REQUIRED},
    normalize=lambda values: {**values, "strides": values["strides"] or [1]},
    doc="data[begin:end:strides] on the given axes.",
    mixed_precision=FOLLOW,
    fake_quantized=FakeQuantized.SAME,
    qat=True,
)


def _axes_to_cut(attrs: AnyValue, rank: int, like: int) -> tuple[int, ...]:
    return axes_of("slice_like", attrs.axes or range(like), rank)


def slice_like_type(attrs: AnyValue, x: TensorType, like: TensorType) -> Type:
    """data with the sizes of shape_like on the given axes, or on all axes."""
    op = "slice_like"
    shape = list(x.shape)
    for axis in _axes_to_cut(attrs, len(shape), len(like.shape)):
        if axis >= len(like.shape):
            fail(op, f"shape_like {like} has no axis {axis}")
        own, target = shape[axis], like.shape[axis]
        if not isinstance(own, Unknown) and not isinstance(target, Unknown) and target > own:
            fail(op, f"axis {axis} of {x} is smaller than axis {axis} of {like}")
        shape[axis] = target
    return TensorType(shape, x.dtype)


def slice_like_reference(attrs: AnyValue, x: np.ndarray, like: np.ndarray) -> np.ndarray:
    axes = _axes_to_cut(attrs, x.ndim, like.ndim)
    return x[tuple(slice(like.shape[n] if n in axes else None) for n in range(x.ndim))].copy()


def _slice_like_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, like: AnyValue) -> AnyValue:
    axes = list(_axes_to_cut(attrs, rank_of(x), rank_of(like)))
    ends = [shape_of(like)[n] for n in axes]
    return R.strided_slice(x, axes, [0] * len(axes), ends, [1] * len(axes))


define_op(
    "slice_like",
    "data shape_like",
    result_type=slice_like_type,
    reference=slice_like_reference,
    attrs=AttrsType(
        "relay.attrs.SliceLikeAttrs",
        (Attr("axes", integers, (), "axes that are cut; None or empty: all", may_be_none=True),),
    ),
    defaults={"axes": None},
    in_relax=("strided_slice",),
    relax=_slice_like_relax,
    pattern=OpPattern.INJECTIVE,
    layout=layout_rules.slice_like,
    doc="data cut to the sizes of another tensor.",
)
