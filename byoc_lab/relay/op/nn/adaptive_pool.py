"""Pooling to a given size over one, two or three spatial axes; global pooling to size 1.

Source: `AdaptivePool1DRel`, `AdaptivePool2DRel`, `AdaptivePool3DRel`, `GlobalPool2DRel` of TVM
0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue
from typing import cast

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, integers
from byoc_lab.relay.ir.dims import Dim
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.op.framework.costs import per_input_element
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import same
from byoc_lab.relay.op.framework.namespace import builds, function
from byoc_lab.relay.op.framework.normalizers import numbers_to_lists
from byoc_lab.relay.op.framework.registry import Arithmetic
from byoc_lab.relay.op.framework.relations import need_length
from byoc_lab.relay.op.framework.relax_types import (
    by_topi,
    dtype_of,
    in_wide_integers,
    mean_of,
    shape_of,
)
from byoc_lab.relay.op.framework.windows import SPATIAL, last_axes, spatial_axis_names
from byoc_lab.relay.op.nn.pool import RANKS, define_pool, layouts


def bins(length: int, count: int) -> list[tuple[int, int]]:
    """(start, end) of each of `count` parts of an axis; parts may overlap."""
    return [(i * length // count, -(-(i + 1) * length // count)) for i in range(count)]


def _adaptive(name: str, kind: str, rank: int, sizes, doc: str, **facts: AnyValue) -> None:
    """Define a pooling to the size sizes(attrs, spatial size of the data)."""
    compute = KINDS[kind][0]

    def computed(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
        size = cast("tuple[int, ...]", sizes(attrs, x.shape[2:]))
        parts = [bins(n, count) for n, count in zip(x.shape[2:], size, strict=True)]
        out = np.empty((*x.shape[:2], *size), x.dtype)
        for at in np.ndindex(*size):
            inside = [slice(*part[i]) for part, i in zip(parts, at, strict=True)]
            index: tuple[AnyValue, ...] = (..., *at)
            out[index] = compute(last_axes(x, inside), axis=tuple(range(2, rank + 2)))
        return out

    def relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
        axes = [attrs.layout.index(axis) for axis in SPATIAL[rank]]
        whole = shape_of(x)
        size = sizes(attrs, [whole[a] for a in axes])
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

    define_pool(name, kind, rank, sizes, computed, relax=relax, doc=doc, **facts)


def _global_builder(kind: str, rank: int) -> None:
    """Register global pooling for other than two axes, for which TVM has only the adaptive
    operator."""
    adaptive, word = f"nn.adaptive_{kind}_pool{rank}d", f"global_{kind}_pool{rank}d"

    def build(data: Expr, layout: str, out_layout: str) -> Call:
        return function(adaptive)(data, (1,) * rank, layout, out_layout)

    build.__name__ = build.__qualname__ = word
    build.__doc__ = f"`{adaptive}` with an output_size of 1: {KINDS[kind][1]}"
    builds(f"nn.{word}", defaults_of=adaptive)(build)


KINDS: dict[str, tuple[AnyValue, str]] = {
    "avg": (np.mean, "the average of each channel."),
    "max": (np.max, "the maximum of each channel."),
}
PARTS = {
    "avg": "The average of each of output_size nearly equal parts of the spatial axes.",
    "max": "The maximum of each of output_size nearly equal parts of the spatial axes.",
}


def _adaptive_sizes(name: str, rank: int):
    def sizes(attrs: AnyValue, size: AnyValue) -> tuple[Dim, ...]:
        """By default the size of the data; a single number is for all axes."""
        output = attrs.output_size
        if not output:
            return tuple(size)
        need_length(name, "output_size", output, *sorted({1, rank}))
        return tuple(output) * len(size) if len(output) == 1 else tuple(output)

    return sizes


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
    for _kind in KINDS:
        _name = f"nn.adaptive_{_kind}_pool{_rank}d"
        _adaptive(
            _name,
            _kind,
            _rank,
            _adaptive_sizes(_name, _rank),
            PARTS[_kind],
            flops=lambda attrs, args, result: max(prod(args[0].shape), prod(result.shape)),
            from_relax={_name: same} if _kind == "avg" else {},  # Relax lacks the maximum
            attrs=_attrs,
            normalize=numbers_to_lists("output_size") if _rank == 1 else None,
            defaults={"output_size": None},
            # As in TVM, only this one.
            fake_quantized=FakeQuantized.WIDE_POOL if (_kind, _rank) == ("avg", 1) else None,
            **({"arithmetic": Arithmetic.EXTREME} if _kind == "max" else {}),
        )
        if _rank != 2:
            _global_builder(_kind, _rank)

GLOBAL_ATTRS = AttrsType("relay.attrs.GlobalPool2DAttrs", layouts(2))
for _kind, _doc in (
    ("avg", "The average over height and width of each channel."),
    ("max", "The maximum over height and width of each channel."),
):
    _adaptive(
        f"nn.global_{_kind}_pool2d",
        _kind,
        2,
        lambda attrs, size: (1, 1),
        _doc,
        flops=per_input_element(1),
        in_relax=("max",) if _kind == "max" else ("nn.adaptive_avg_pool2d", "mean"),
        attrs=GLOBAL_ATTRS,
        fake_quantized=FakeQuantized.WIDE_POOL if _kind == "avg" else None,  # as in TVM
        qat=_kind == "avg",
    )
