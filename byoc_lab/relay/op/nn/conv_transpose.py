"""Transposed convolution in one, two and three spatial dimensions: each input element, times the
kernel, is added to a window of the result.

Source: `Conv1DTransposeRel`, `Conv2DTransposeRel`, `Conv3DTransposeRel` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any as AnyValue
from typing import cast

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, dtype, integer, integers, string
from byoc_lab.relay.ir.dims import Dim, Unknown
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.layout import inverse_permute, permute, with_layout
from byoc_lab.relay.op.framework.relations import (
    NO_DTYPE,
    Types,
    differ,
    dim,
    fail,
    need_length,
    need_rank,
    out_dtype,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import typed, zeros_if_empty
from byoc_lab.relay.op.framework.windows import (
    AXIS_NAMES,
    SPATIAL,
    check_window_attrs,
    last_axes,
    padding_of_builder,
    pads_of,
    spatial_axis_names,
    taps,
    window_normalize,
)
from byoc_lab.relay.op.nn.conv import (
    check_weight,
    define_convolution,
    has_group_axis,
    orders,
    plain_operands,
    without_group_axis,
)


def transpose_attrs(rank: int) -> AttrsType:
    each, spatial = spatial_axis_names(rank), SPATIAL[rank]
    zeros, ones = (0,) * rank, (1,) * rank
    return AttrsType(
        f"relay.attrs.Conv{rank}DTransposeAttrs",
        (
            Attr("channels", integer, None, "number of output channels; None: as in the weight"),
            Attr("kernel_size", integers, None, f"({each}); None: as in the weight"),
            Attr(
                "strides",
                integers,
                ones,
                f"distance in the result between input elements: ({each})",
            ),
            Attr(
                "output_padding",
                integers,
                zeros,
                f"elements added at the end of the result: ({each})",
            ),
            Attr(
                "padding",
                integers,
                zeros,
                f"elements cut off the result: ({each}), or all before, then all after",
            ),
            Attr("dilation", integers, ones, f"distance between kernel elements: ({each})"),
            Attr("groups", integer, 1, "number of groups of channels, convolved independently"),
            Attr("data_layout", string, f"NC{spatial}", "layout of the data"),
            Attr("kernel_layout", string, f"IO{spatial}", "layout of the weight"),
            Attr("out_layout", string, "", "layout of the result; empty: data_layout"),
            Attr("out_dtype", dtype, NO_DTYPE, "dtype of the result; empty: the dtype of the data"),
        ),
    )


def last_padding(attrs: AnyValue, rank: int) -> tuple[int, ...]:
    """output_padding, one number per spatial axis. With one spatial axis, TVM's tests pass two
    numbers, of which TVM reads the first."""
    return attrs.output_padding[:1] if rank == 1 else attrs.output_padding


def transposed_size(
    op: str, size: Sequence[Dim], kernel: Sequence[Dim], attrs: AnyValue
) -> tuple[Dim, ...]:
    """(n - 1) * stride + (k - 1) * dilation + 1 - pads + output_padding for each spatial axis.

    Raises TypeInferenceError if a size would be negative.
    """
    result = []
    rank = len(size)
    pads = map(sum, zip(*pads_of(attrs.padding, rank), strict=True))
    for n, k, pad, s, d, more, axis in zip(
        size,
        kernel,
        pads,
        attrs.strides,
        attrs.dilation,
        last_padding(attrs, rank),
        SPATIAL[rank],
        strict=True,
    ):
        length = dim(lambda n, k, s=s, d=d, e=more - pad: (n - 1) * s + (k - 1) * d + 1 + e, n, k)
        if not isinstance(length, Unknown) and length < 0:
            fail(
                op,
                f"padding {list(attrs.padding)} is more than the {AXIS_NAMES[axis]} of the result",
            )
        result.append(length)
    return tuple(result)


def transpose_relation(
    op: str, rank: int, attrs: AnyValue, data: Type | None, weight: Type | None
) -> Types:
    """data (N, C, H, W) and weight (C, O / groups, KH, KW) give (N, O, H', W').

    H' = (H - 1) * stride + (KH - 1) * dilation + 1 - top - bottom + output_padding, W' likewise.
    """
    x, w = tensors(op, "data weight", data, weight)
    if x is None:
        return None, w, None
    check_window_attrs(op, attrs, rank)
    need_length(op, "output_padding", last_padding(attrs, rank), rank)
    order, kernel_order, out_order = orders(op, attrs, rank, "IO")
    need_rank(op, "data", x, rank + 2)
    n, c, *size = permute(x.shape, order)
    groups = attrs.groups
    if groups < 1 or (not isinstance(c, Unknown) and c % groups):
        fail(op, f"the {c} input channels of {x} are not divisible by groups={groups}")
    if w is None:
        if attrs.channels is None or attrs.kernel_size is None:
            return x, None, None
        need_length(op, "kernel_size", attrs.kernel_size, rank)
        if attrs.channels % groups:
            fail(op, f"channels={attrs.channels} is not divisible by groups={groups}")
        shape = (c, attrs.channels // groups, *attrs.kernel_size)
        if has_group_axis(attrs):
            shape = (groups, dim(lambda n: n // groups, c), *shape[1:])
        w = TensorType(inverse_permute(shape, kernel_order), x.dtype)
    need_rank(op, "weight", w, rank + 2 + has_group_axis(attrs))
    inputs, per_group, *kernel = permute(w.shape, kernel_order)
    if has_group_axis(attrs):
        if differ(inputs, groups):
            fail(op, f"weight must have groups={groups} groups, found {inputs} in {w}")
        inputs, per_group, *kernel = dim(lambda n: n * groups, per_group), *kernel
    if differ(inputs, c):
        fail(op, f"weight must have {c} input channels for data {x}, found {inputs} in {w}")
    channels = dim(lambda n: n * groups, per_group)
    check_weight(op, attrs, w, channels, tuple(kernel))
    result = (n, channels, *transposed_size(op, size, kernel, attrs))
    return x, w, TensorType(inverse_permute(result, out_order), out_dtype(attrs, x))


def transpose_reference(
    op: str, rank: int, attrs: AnyValue, data: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """One matrix product per kernel element, added to the result positions of that element."""
    order, kernel_order, out_order = orders(op, attrs, rank, "IO")
    x, w = plain_operands(attrs, data, weight, order, kernel_order)
    n, c, *size = x.shape
    _, per_group, *kernel = w.shape
    groups = attrs.groups
    before, after = pads_of(attrs.padding, rank)
    kept = cast("tuple[int, ...]", transposed_size(op, size, kernel, attrs))
    full = [k + a + b for k, a, b in zip(kept, before, after, strict=True)]
    out = np.zeros((n, groups * per_group, *full), x.dtype)
    rows = x.reshape(n, groups, c // groups, prod(size))
    for at, view in taps(out, kernel, attrs.strides, attrs.dilation, size):
        factor = last_axes(w, at).reshape(groups, c // groups, per_group).swapaxes(1, 2)
        view += (factor @ rows).reshape(n, groups * per_group, *size)
    inside = [slice(b, b + k) for b, k in zip(before, kept, strict=True)]
    out = last_axes(out, inside).transpose(np.argsort(out_order))
    return np.ascontiguousarray(out.astype(attrs.out_dtype or data.dtype, copy=False))


def transpose_flops(attrs: AnyValue, args: AnyValue, result: TensorType) -> int:
    """Two operations (multiplication and addition) per pair of a data element and a weight
    element."""
    if 0 in args[0].shape:
        return 0
    channels = args[0].shape[attrs.data_layout.index("C")]
    return 2 * prod(args[0].shape) * (prod(args[1].shape) // channels)


def _normalize(rank: int):
    """With one spatial axis TVM's builder stores its arguments unchanged; with two it expands
    padding to four numbers and nothing else."""

    def normalize(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
        if rank == 2:
            values["padding"] = padding_of_builder(values["padding"], 2)
        return values

    return window_normalize(3) if rank == 3 else normalize


def _conv_transpose(rank: int, doc: str) -> None:
    op = f"nn.conv{rank}d_transpose"
    relation = partial(transpose_relation, op, rank)

    def relax(R: AnyValue, attrs: AnyValue, data: AnyValue, weight: AnyValue) -> AnyValue:
        zeros = zeros_if_empty(R, relation, attrs, typed(data), typed(weight))
        if zeros is not None:
            return zeros
        options = ("strides", "padding", "dilation", "groups")
        # Relax infers types for other layouts but can lower only these.
        plain, kernel = f"NC{SPATIAL[rank]}", f"IO{SPATIAL[rank]}"
        weight, kernel_layout = without_group_axis(R, weight, attrs, kernel)
        result = getattr(R.nn, f"conv{rank}d_transpose")(
            with_layout(R, data, attrs.data_layout, plain),
            with_layout(R, weight, kernel_layout, kernel),
            **{name: attrs[name] for name in options},
            output_padding=last_padding(attrs, rank),
            data_layout=plain,
            kernel_layout=kernel,
            out_dtype=attrs.out_dtype or None,
        )
        return with_layout(R, result, plain, attrs.out_layout or attrs.data_layout)

    define_convolution(
        op,
        rank,
        relation=relation,
        reference=partial(transpose_reference, op, rank),
        flops=transpose_flops,
        relax=relax,
        attrs=transpose_attrs(rank),
        parameters="data weight strides padding dilation groups channels kernel_size data_layout "
        "kernel_layout out_layout output_padding out_dtype",
        normalize=_normalize(rank),
        layout=layout_rules.convolution if rank > 1 else None,  # as in TVM
        doc=doc,
    )


_conv_transpose(1, "Transposed convolution with one spatial axis.")
_conv_transpose(2, "Transposed convolution with two spatial axes.")
_conv_transpose(3, "Transposed convolution with three spatial axes.")
