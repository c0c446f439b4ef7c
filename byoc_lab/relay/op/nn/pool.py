"""Pooling over one, two or three spatial axes.

Source: `Pool1DRel`, `Pool2DRel`, `Pool3DRel`, `GlobalPool2DRel` of TVM 0.16.
"""

from __future__ import annotations

from functools import partial
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, boolean, integers, string
from byoc_lab.relay.ir.dims import Dim
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import same
from byoc_lab.relay.op.framework.layout import inverse_permute, permute, positions
from byoc_lab.relay.op.framework.precision import FOLLOW, NEVER
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    need_length,
    need_positive,
    need_rank,
    tensor_relation,
)
from byoc_lab.relay.op.framework.relax_types import (
    by_topi,
    dtype_of,
    in_wide_integers,
    shape_of,
    typed,
)
from byoc_lab.relay.op.framework.windows import (
    SPATIAL,
    Pads,
    check_window_attrs,
    padded,
    pads_of,
    spatial_axis_names,
    spatial_result,
    static_result,
    taps,
    window_normalize,
)
from byoc_lab.relay.op.tensor.blocks import with_blocked_layouts

RANKS = (1, 2, 3)
POOLS_2D = {"max": FakeQuantized.SAME, "avg": FakeQuantized.POOL}
COUNT_PADDING = Attr("count_include_pad", boolean, False, "whether padding counts in the average")


def layouts(rank: int) -> tuple[Attr, Attr]:
    """The layout attributes of pooling."""
    return (
        Attr("layout", string, f"NC{SPATIAL[rank]}", "layout of the data"),
        Attr("out_layout", string, "", "ignored, as in TVM: the result has the layout of the data"),
    )


def window(rank: int) -> tuple[Attr, ...]:
    """The attributes of a pooling window."""
    each, ones = spatial_axis_names(rank), (1,) * rank
    return (
        Attr("pool_size", integers, doc=f"size of the window: ({each})"),
        Attr("strides", integers, ones, f"step of the window: ({each})"),
        Attr("dilation", integers, ones, f"distance between window elements: ({each})"),
        Attr("padding", integers, (0,) * rank, f"padding: ({each}), or all before, then all after"),
        *layouts(rank),
        Attr(
            "ceil_mode", boolean, False, "whether the last window may extend beyond the padded data"
        ),
    )


def pool_order(op: str, attrs: AnyValue, rank: int) -> tuple[int, ...]:
    """The permutation to (N, C, spatial) of data and result."""
    return positions(op, "layout", attrs.layout, f"NC{SPATIAL[rank]}")


def define_pool(
    name: str, kind: str, rank: int, sizes, compute, flops, relax, **facts: AnyValue
) -> None:
    """Define a pooling of data in any layout.

    sizes(attrs, spatial size of the data): the spatial size of the result. compute(attrs, data):
    the result, for data and result in the order (N, C, spatial).
    """

    def result_type(attrs: AnyValue, x: TensorType) -> Type:
        """data (N, C, H, W) gives (N, C, H', W')."""
        order = pool_order(name, attrs, rank)
        need_rank(name, "data", x, rank + 2)
        n, c, *size = permute(x.shape, order)
        return TensorType(inverse_permute((n, c, *sizes(attrs, size)), order), x.dtype)

    def reference(attrs: AnyValue, data: np.ndarray) -> np.ndarray:
        order = pool_order(name, attrs, rank)
        out = compute(attrs, data.transpose(order))
        return np.ascontiguousarray(out.transpose(np.argsort(order)))

    usual = {
        "arithmetic": Arithmetic.MAX_POOL if kind == "max" else Arithmetic.MEAN,
        "mixed_precision": FOLLOW if kind == "max" else NEVER,
    }
    define_op(
        name,
        "data",
        **with_blocked_layouts(
            name,
            ("layout",),
            ("layout",),
            relation=tensor_relation(name, "data", result_type),
            reference=reference,
            flops=flops,
            relax=relax,
        ),
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        layout=layout_rules.pooling,
        **{**usual, **facts},
    )


def pads_with_overhang(attrs: AnyValue, data: AnyValue, size: AnyValue) -> Pads:
    """The padding, extended by the part of the last windows of ceil_mode beyond the end."""
    before, after = pads_of(attrs.padding, len(size))
    ends = [
        (n - 1) * stride + (k - 1) * dilation + 1
        for n, k, stride, dilation in zip(
            size, attrs.pool_size, attrs.strides, attrs.dilation, strict=True
        )
    ]
    reached = zip(ends, before, data, after, strict=True)
    return before, tuple(max(a, end - b - n) for end, b, n, a in reached)


def _windows(attrs: AnyValue, x: np.ndarray, pads: Pads, value: AnyValue, size: AnyValue):
    around = padded(x, pads, value)
    return (v for _, v in taps(around, attrs.pool_size, attrs.strides, attrs.dilation, size))


def lowest(kind: np.dtype) -> AnyValue:
    """The value that TVM pads with for a maximum: the smallest finite number, not -infinity."""
    if kind.name == "bfloat16":
        import ml_dtypes  # NumPy lacks bfloat16 and its limits

        return ml_dtypes.finfo(kind).min
    return (np.finfo if np.issubdtype(kind, np.floating) else np.iinfo)(kind).min


def _max(attrs: AnyValue, x: np.ndarray, pads: Pads, size: AnyValue) -> np.ndarray:
    views = _windows(attrs, x, pads, lowest(x.dtype), size)
    out = next(views).copy()
    for view in views:
        np.maximum(out, view, out=out)
    return out


def window_divisor(
    attrs: AnyValue, data: AnyValue, pads: Pads, size: AnyValue, kind: AnyValue
) -> np.ndarray:
    """The number of elements that count in each window, at least 1. `data`: the spatial axes."""
    # Data elements count; padding counts only with count_include_pad; positions beyond the padding
    # never count.
    none = (0,) * len(size)
    before, after = pads_of(attrs.padding, len(size))
    counted = np.ones((1, 1, *data), kind)
    counted = padded(counted, (before, after), 1 if attrs.count_include_pad else 0)
    overhang = tuple(total - a for total, a in zip(pads[1], after, strict=True))
    counted = padded(counted, (none, overhang), 0)
    divisor = np.zeros((1, 1, *size), kind)
    for view in _windows(attrs, counted, (none, none), 0, size):
        divisor += view
    return np.maximum(divisor, 1)


def _average(attrs: AnyValue, x: np.ndarray, pads: Pads, size: AnyValue) -> np.ndarray:
    # A sum of small integers may exceed their range.
    wide = np.result_type(x.dtype, np.int32) if x.dtype.kind in "iu" else x.dtype
    total = np.zeros((*x.shape[:2], *size), wide)
    for view in _windows(attrs, x, pads, 0, size):
        total += view
    divisor = window_divisor(attrs, x.shape[2:], pads, size, wide)
    return (total / divisor).astype(x.dtype, copy=False)


def average_of_integers(rank: int, options: dict[str, AnyValue], x: AnyValue) -> AnyValue:
    """avg_pool by TOPI, because Relax's avg_pool declares the dtype of x, but its compiled code
    returns int64."""
    o = options
    sizes = [list(o[name]) for name in ("pool_size", "strides", "dilation")]
    before, after = pads_of(o["padding"], rank)
    rest = "avg", o["ceil_mode"], o["layout"], o["count_include_pad"]
    return by_topi(f"nn.pool{rank}d", x, *sizes, [*before, *after], *rest)


def without_ceil_mode(
    R: AnyValue, op: str, rank: int, attrs: AnyValue, options: dict[str, AnyValue], x: AnyValue
) -> AnyValue:
    """The data, and `options` changed to explicit padding with the same windows as ceil mode.

    Relax omits a window that begins in the padding; TVM 0.16 includes it.
    """
    order = pool_order(op, attrs, rank)
    data = [shape_of(x)[axis] for axis in order[2:]]
    size = static_result(op, data, attrs.pool_size, attrs)
    (before, after), stated = pads_with_overhang(attrs, data, size), pads_of(attrs.padding, rank)
    if options["count_include_pad"] and after != stated[1]:
        # Explicit padding counts in the average; positions beyond it do not.
        width = [0] * (2 * (rank + 2))
        for axis, first, last in zip(order[2:], *stated, strict=True):
            width[2 * axis : 2 * axis + 2] = first, last
        x = typed(R.nn.pad(x, width))
        before, after = (0,) * rank, tuple(a - s for a, s in zip(after, stated[1], strict=True))
        options["count_include_pad"] = False
    options |= {"ceil_mode": False, "padding": (*before, *after)}
    return x


def _pool(kind: str, rank: int, more: tuple[Attr, ...], compute, doc: str) -> None:
    name = f"nn.{kind}_pool{rank}d"

    def relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
        names = ("pool_size", "strides", "padding", "dilation", "ceil_mode", "layout")
        options = {n: attrs[n] for n in names}
        options["count_include_pad"] = attrs.get("count_include_pad", False)
        x = typed(x)
        if attrs.ceil_mode:
            x = without_ceil_mode(R, name, rank, attrs, options, x)
        if kind == "max" or "float" in dtype_of(x):
            return getattr(R.nn, f"{kind}_pool{rank}d")(x, **options)
        return in_wide_integers(R, x, partial(average_of_integers, rank, options))

    def sizes(attrs: AnyValue, size: AnyValue) -> tuple[Dim, ...]:
        """As in nn.conv2d."""
        check_window_attrs(name, attrs, rank)
        need_length(name, "pool_size", attrs.pool_size, rank)
        need_positive(name, attrs, "pool_size")
        return spatial_result(name, size, attrs.pool_size, attrs)

    def computed(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
        size = static_result(name, x.shape[2:], attrs.pool_size, attrs)
        return compute(attrs, x, pads_with_overhang(attrs, x.shape[2:], size), size)

    define_pool(
        name,
        kind,
        rank,
        sizes,
        computed,
        flops=lambda attrs, args, result: prod(result.concrete_shape) * prod(attrs.pool_size),
        relax=relax,
        from_relax={name: same},
        attrs=AttrsType(f"relay.attrs.{kind.capitalize()}Pool{rank}DAttrs", (*window(rank), *more)),
        normalize=window_normalize(rank),
        defaults={"pool_size": (1,) * rank},
        mixed_precision=FOLLOW,
        fake_quantized=POOLS_2D[kind] if rank == 2 else None,  # as in TVM
        qat=rank == 2,
        doc=doc,
    )


for _rank in RANKS:
    _pool("max", _rank, (), _max, "The maximum of each window; padding is ignored.")
    _pool(
        "avg",
        _rank,
        (COUNT_PADDING,),
        _average,
        "The average of each window; padding counts only with count_include_pad.",
    )
