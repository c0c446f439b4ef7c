"""Pooling to a given size over one, two or three spatial axes.

Source: `AdaptivePool1DRel`, `AdaptivePool2DRel`, `AdaptivePool3DRel` of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue
from typing import cast

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, integers
from byoc_lab.relay.ir.dims import Dim
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import same
from byoc_lab.relay.op.framework.layout import inverse_permute, permute
from byoc_lab.relay.op.framework.namespace import builds, function
from byoc_lab.relay.op.framework.normalizers import numbers_to_lists
from byoc_lab.relay.op.framework.precision import FOLLOW, NEVER
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import need_length, need_rank, tensor_relation
from byoc_lab.relay.op.framework.relax_types import (
    by_topi,
    dtype_of,
    in_wide_integers,
    mean_of,
    shape_of,
)
from byoc_lab.relay.op.framework.windows import SPATIAL, last_axes, spatial_axis_names
from byoc_lab.relay.op.nn.pool import RANKS, layouts, pool_order
from byoc_lab.relay.op.tensor.blocks import with_blocked_layouts


def bins(length: int, count: int) -> list[tuple[int, int]]:
    """(start, end) of each of `count` parts of an axis; parts may overlap."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def _adaptive_size(attrs: AnyValue, size: AnyValue) -> tuple[Dim, ...]:
    """The spatial size of the result: by default the size of the data; a single number is for all
    axes."""
    output = attrs.output_size
    if not output:
        return tuple(size)
    return tuple(output) * len(size) if len(output) == 1 else tuple(output)


def _adaptive(kind: str, rank: int, compute, attrs_type: AttrsType, doc: str) -> None:
    name = f"nn.adaptive_{kind}_pool{rank}d"

    def result_type(attrs: AnyValue, x: TensorType) -> Type:
        """data (N, C, H, W) gives (N, C, *output_size)."""
        order = pool_order(name, attrs, rank)
        need_rank(name, "data", x, rank + 2)
        n, c, *size = permute(x.shape, order)
        if attrs.output_size:
            need_length(name, "output_size", attrs.output_size, *sorted({1, rank}))
        shape = (n, c, *_adaptive_size(attrs, size))
        return TensorType(inverse_permute(shape, order), x.dtype)

    def reference(attrs: AnyValue, data: np.ndarray) -> np.ndarray:
        order = pool_order(name, attrs, rank)
        x = data.transpose(order)
        size = cast("tuple[int, ...]", _adaptive_size(attrs, x.shape[2:]))
        parts = [bins(n, count) for n, count in zip(x.shape[2:], size, strict=True)]
        out = np.empty((*x.shape[:2], *size), x.dtype)
        for at in np.ndindex(*size):
            inside = [slice(*part[i]) for part, i in zip(parts, at, strict=True)]
            index: tuple[AnyValue, ...] = (..., *at)
            out[index] = compute(last_axes(x, inside), axis=tuple(range(2, rank + 2)))
        return np.ascontiguousarray(out.transpose(np.argsort(order)))

    def relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
        axes = [attrs.layout.index(axis) for axis in SPATIAL[rank]]
        whole = shape_of(x)
        size = _adaptive_size(attrs, [whole[a] for a in axes])
        if all(count == 1 for count in size):
            if kind == "avg":
                return mean_of(R, x, axes, True)
            return R.max(x, axis=axes, keepdims=True)
        function = "nn.adaptive_pool" if rank == 2 else f"nn.adaptive_pool{rank}d"
        if kind == "max":
            return by_topi(function, x, list(size), kind, attrs.layout)
        if "float" in dtype_of(x):
            return getattr(R.nn, f"adaptive_avg_pool{rank}d")(x, size, attrs.layout)
        return in_wide_integers(
            R, x, lambda x: by_topi(function, x, list(size), kind, attrs.layout)
        )

    define_op(
        name,
        "data",
        **with_blocked_layouts(
            name,
            ("layout",),
            ("layout",),
            relation=tensor_relation(name, "data", result_type),
            reference=reference,
            flops=lambda attrs, args, result: max(prod(args[0].shape), prod(result.shape)),
            relax=relax,
        ),
        from_relax={name: same} if kind == "avg" else {},  # Relax lacks the maximum
        attrs=attrs_type,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        normalize=numbers_to_lists("output_size") if rank == 1 else None,
        defaults={"output_size": None},
        layout=layout_rules.pooling,
        arithmetic=Arithmetic.EXTREME if kind == "max" else Arithmetic.MEAN,
        mixed_precision=FOLLOW if kind == "max" else NEVER,
        fake_quantized=FakeQuantized.WIDE_POOL if (kind, rank) == ("avg", 1) else None,  # as in TVM
        doc=doc,
    )


def _global_builder(kind: str, rank: int) -> None:
    """Register global pooling for other than two axes, where TVM has only the adaptive operator."""
    adaptive, word = f"nn.adaptive_{kind}_pool{rank}d", f"global_{kind}_pool{rank}d"

    def build(data: Expr, layout: str, out_layout: str) -> Call:
        return function(adaptive)(data, (1,) * rank, layout, out_layout)

    build.__name__ = build.__qualname__ = word
    build.__doc__ = f"`{adaptive}` with an output_size of 1: {KINDS[kind][1]}"
    builds(f"nn.{word}", defaults_of=adaptive)(build)


KINDS = {
    "avg": (np.mean, "the average of each channel."),
    "max": (np.max, "the maximum of each channel."),
}
PARTS = {
    "avg": "The average of each of output_size nearly equal parts of the spatial axes.",
    "max": "The maximum of each of output_size nearly equal parts of the spatial axes.",
}
for _rank in RANKS:
    _attrs = AttrsType(
        f"relay.attrs.AdaptivePool{_rank}DAttrs",
        (
            Attr(
                "output_size",
                integers,
                (),
                f"({spatial_axis_names(_rank)}), or one number for all; None: as in the data",
                may_be_none=True,
            ),
            *layouts(_rank),
        ),
    )
    for _kind, (_compute, _) in KINDS.items():
        _adaptive(_kind, _rank, _compute, _attrs, PARTS[_kind])
        if _rank != 2:
            _global_builder(_kind, _rank)
