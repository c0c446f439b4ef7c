"""Sequences and permutations: sequence_mask, sliding_window, searchsorted, invert_permutation.

Source: `SequenceMaskRel`, `SlidingWindowRel`, `SearchSortedRel`, `InvertPermutationRel` of
TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, boolean, dtype, integer, integers, number
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.costs import comparisons, no_flops
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    axis_of,
    differ,
    dim,
    fail,
    need_integers,
    need_length,
    need_rank,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import by_topi, dtype_of, rank_of


def mask_relation(attrs: AnyValue, data: Type | None, lengths: Type | None) -> Types:
    """data has time on `axis` (0 or 1) and the batch on the other axis; one sequence length per
    batch element."""
    op = "sequence_mask"
    x, n = tensors(op, "data valid_length", data, lengths)
    if attrs.axis not in (0, 1):
        fail(op, f"attribute axis must be 0 or 1, found {attrs.axis}")
    if x is not None:
        if len(x.shape) < 2:
            fail(op, f"data must have at least two dimensions, found {x}")
        batch = x.shape[1 - attrs.axis]
        if n is not None and (len(n.shape) != 1 or differ(n.shape[0], batch)):
            fail(op, f"valid_length must be a vector of the {batch} of the batch, found {n}")
    return x, n, x


def mask_reference(attrs: AnyValue, x: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    times = np.arange(x.shape[attrs.axis])
    valid = times[:, None] < lengths if attrs.axis == 0 else times < lengths[:, None]
    valid = valid.reshape(*valid.shape, *[1] * (x.ndim - 2))
    return np.where(valid, x, x.dtype.type(attrs.mask_value))


define_op(
    "sequence_mask",
    "data valid_length",
    mask_relation,
    arithmetic=Arithmetic.INDEXED,
    reference=mask_reference,
    attrs=AttrsType(
        "relay.attrs.SequenceMaskAttrs",
        (
            Attr("mask_value", number, 0.0, "value after the end of a sequence"),
            Attr("axis", integer, 0, "time axis, 0 or 1; the other one is the batch"),
        ),
    ),
    defaults={"mask_value": 0},
    relax=lambda R, attrs, x, n: by_topi("sequence_mask", x, n, attrs.mask_value, attrs.axis),
    pattern=OpPattern.INJECTIVE,
    doc="data with all elements after the end of each sequence replaced by mask_value.",
)


def sliding_type(attrs: AnyValue, x: TensorType) -> Type:
    """Axes from `axis` on become (windows of each..., window_shape...)."""
    op = "sliding_window"
    axis = axis_of(op, attrs.axis, len(x.shape))
    if not attrs.window_shape:
        fail(op, "attribute window_shape must hold at least one number")
    need_length(op, "window_shape", attrs.window_shape, len(x.shape) - axis)
    need_length(op, "strides", attrs.strides, len(attrs.window_shape))
    if min(*attrs.strides, *attrs.window_shape) < 1:
        fail(op, f"window_shape {attrs.window_shape} and strides {attrs.strides} must be positive")
    counts = []
    for length, size, step in zip(x.shape[axis:], attrs.window_shape, attrs.strides, strict=True):
        count = dim(lambda n, k=size, s=step: (n - k) // s + 1, length)
        if isinstance(count, int) and count < 1:
            fail(op, f"a window of size {size} does not fit into an axis of size {length} of {x}")
        counts.append(count)
    return TensorType((*x.shape[:axis], *counts, *attrs.window_shape), x.dtype)


def sliding_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    axis = attrs.axis % x.ndim
    view = np.lib.stride_tricks.sliding_window_view(
        x, attrs.window_shape, axis=tuple(range(axis, x.ndim))
    )
    steps = tuple(slice(None, None, s) for s in attrs.strides)
    return view[(slice(None),) * axis + steps].copy()


define_op(
    "sliding_window",
    "data",
    result_type=sliding_type,
    reference=sliding_reference,
    attrs=AttrsType(
        "relay.attrs.SlidingWindowAttrs",
        (
            Attr("axis", integer, doc="first axis of the window, which covers all later axes"),
            Attr("window_shape", integers, doc="size of the window"),
            Attr("strides", integers, doc="step of the window"),
        ),
    ),
    relax=lambda R, attrs, x: by_topi(
        "sliding_window", x, attrs.axis % rank_of(x), list(attrs.window_shape), list(attrs.strides)
    ),
    pattern=OpPattern.OPAQUE,
    doc="All windows over the last axes of data, as new axes.",
    arithmetic=Arithmetic.COPY,
)


def search_relation(attrs: AnyValue, ordered: Type | None, values: Type | None) -> Types:
    """The sequence is a vector, or has as many rows as values; the result has the shape of values
    and the attribute's dtype."""
    op = "searchsorted"
    s, v = tensors(op, "sorted_sequence values", ordered, values)
    if attrs.dtype not in ("int32", "int64"):
        fail(op, f"attribute dtype must be int32 or int64, found {attrs.dtype!r}")
    if s is None or v is None:
        return s, v, None
    if not s.shape or not v.shape:
        fail(op, f"sorted_sequence and values must have an axis, found {s} and {v}")
    if len(s.shape) > 1 and (
        len(s.shape) != len(v.shape)
        or any(differ(a, b) for a, b in zip(s.shape[:-1], v.shape[:-1], strict=True))
    ):
        fail(op, f"values must have the axes of {s} except the last, found {v}")
    return s, v, TensorType(v.shape, attrs.dtype)


def search_reference(attrs: AnyValue, ordered: np.ndarray, values: np.ndarray) -> np.ndarray:
    side: AnyValue = "right" if attrs.right else "left"
    if ordered.ndim == 1:
        return np.searchsorted(ordered, values, side).astype(attrs.dtype)
    rows = ordered.reshape(-1, ordered.shape[-1])
    searched = values.reshape(len(rows), -1)
    indices = [np.searchsorted(r, v, side) for r, v in zip(rows, searched, strict=True)]
    return np.stack(indices).reshape(values.shape).astype(attrs.dtype)


define_op(
    "searchsorted",
    "sorted_sequence values",
    search_relation,
    reference=search_reference,
    attrs=AttrsType(
        "relay.attrs.SearchSortedAttrs",
        (
            Attr("right", boolean, False, "True: index after equal elements; False: before"),
            Attr("dtype", dtype, dtype("int32"), "dtype of the result: int32 or int64"),
        ),
    ),
    flops=lambda attrs, args, result: comparisons(prod(result.shape), args[0].shape[-1]),
    relax=lambda R, attrs, s, v: by_topi("searchsorted", s, v, attrs.right, attrs.dtype),
    pattern=OpPattern.OPAQUE,
    doc="The index in sorted_sequence at which each value would be inserted.",
)


def invert_type(attrs: AnyValue, x: TensorType) -> Type:
    """data is an integer vector; the result has the same type."""
    need_rank("invert_permutation", "data", x, 1)
    need_integers("invert_permutation", "data", x)
    return x


define_op(
    "invert_permutation",
    "data",
    result_type=invert_type,
    arithmetic=Arithmetic.EXACT,
    reference=lambda attrs, x: np.argsort(x, kind="stable").astype(x.dtype),
    flops=no_flops,
    in_relax=("argsort",),
    relax=lambda R, attrs, x: R.argsort(x, dtype=dtype_of(x)),
    pattern=OpPattern.INJECTIVE,
    doc="The inverse of a permutation: out[data[i]] = i.",
)
