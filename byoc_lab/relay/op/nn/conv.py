"""Convolution in one, two and three spatial dimensions.

Source: `Conv1DRel`, `Conv2DRel`, `Conv3DRel` of TVM 0.16 (src/relay/op/nn/convolution.h), which
do not infer the weight type of a grouped convolution; here it is inferred from `channels`,
`kernel_size` and `groups` too.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, dtype, integer, integers, string
from byoc_lab.relay.ir.dims import Dim, Unknown
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.from_relax import same
from byoc_lab.relay.op.framework.layout import inverse_permute, permute, positions, with_layout
from byoc_lab.relay.op.framework.precision import ALWAYS
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
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
from byoc_lab.relay.op.framework.relax_types import shape_of, typed, zeros_if_empty
from byoc_lab.relay.op.framework.windows import (
    SPATIAL,
    check_window_attrs,
    last_axes,
    padded,
    pads_of,
    spatial_axis_names,
    spatial_result,
    static_result,
    taps,
    window_normalize,
)
from byoc_lab.relay.op.tensor.blocks import with_blocked_layouts


def conv_attrs(rank: int, padding: int) -> AttrsType:
    """The attributes. padding: the number of elements in the default of attribute padding, which
    differs between TVM's operators."""
    each, spatial = spatial_axis_names(rank), SPATIAL[rank]
    return AttrsType(
        f"relay.attrs.Conv{rank}DAttrs",
        (
            Attr("strides", integers, (1,) * rank, f"step of the window: ({each})"),
            Attr(
                "padding",
                integers,
                (0,) * padding,
                f"padding with zeros: ({each}), or all before, then all after",
            ),
            Attr("dilation", integers, (1,) * rank, f"distance between kernel elements: ({each})"),
            Attr("groups", integer, 1, "number of groups of channels, convolved independently"),
            Attr("channels", integer, None, "number of output channels; None: as in the weight"),
            Attr("kernel_size", integers, None, f"({each}); None: as in the weight"),
            Attr("data_layout", string, f"NC{spatial}", "layout of the data"),
            Attr("kernel_layout", string, f"OI{spatial}", "layout of the weight"),
            Attr("out_layout", string, "", "layout of the result; empty: data_layout"),
            Attr("out_dtype", dtype, NO_DTYPE, "dtype of the result; empty: the dtype of the data"),
        ),
    )


def orders(
    op: str, attrs: AnyValue, rank: int, channels: str = "OI"
) -> tuple[tuple[int, ...], ...]:
    """Permutations to (N, C, spatial) for data and result, and to (O, I, spatial) for the weight.

    The order of the permutations is data, weight, result. `channels`: the channel axes of the
    weight, "OI" or "IO". A weight with an axis for the groups ("GOIHW", which DNNL's legalization
    writes) gets that axis first. Raises TypeInferenceError for a layout that is not a permutation.
    """
    data, kernel = f"NC{SPATIAL[rank]}", f"{channels}{SPATIAL[rank]}"
    kernel = f"G{kernel}" if has_group_axis(attrs) else kernel
    return (
        positions(op, "data_layout", attrs.data_layout, data),
        positions(op, "kernel_layout", attrs.kernel_layout, kernel),
        positions(op, "out_layout", attrs.out_layout or attrs.data_layout, data),
    )


def has_group_axis(attrs: AnyValue) -> bool:
    """Whether the groups are an axis of the weight: (G, O / G, I / G, spatial)."""
    return "G" in attrs.kernel_layout


def depthwise_swap(op: str, attrs: AnyValue, channels: Dim, outputs: Dim | None) -> bool:
    """Whether axis O of a depthwise convolution's weight has the input channels, and axis I the
    number of output channels per input channel.

    This is so in layout "HWOI", and in other layouts if attributes channels and kernel_size are
    given and `outputs`, the size of axis O, equals the number of groups.
    """
    if attrs.groups <= 1 or attrs.groups != channels or has_group_axis(attrs):
        return False
    if attrs.kernel_layout == "HWOI":
        return True
    is_described = attrs.channels is not None and attrs.kernel_size is not None
    return op != "nn.conv1d" and is_described and outputs == attrs.groups


def conv_relation(
    op: str, rank: int, attrs: AnyValue, data: Type | None, weight: Type | None
) -> Types:
    """data (N, C, H, W) and weight (O, C / groups, KH, KW) give (N, O, H', W').

    H' = (H + top + bottom - (KH - 1) * dilation - 1) // stride + 1; W' and other numbers of
    spatial axes likewise.
    """
    x, w = tensors(op, "data weight", data, weight)
    if x is None:
        return None, w, None
    check_window_attrs(op, attrs, rank)
    order, kernel_order, out_order = orders(op, attrs, rank)
    need_rank(op, "data", x, rank + 2)
    n, c, *size = permute(x.shape, order)
    groups = attrs.groups
    if groups < 1 or (not isinstance(c, Unknown) and c % groups):
        fail(op, f"the {c} input channels of {x} are not divisible by groups={groups}")
    if w is None:
        swapped = depthwise_swap(op, attrs, c, None)
        if attrs.channels is None or attrs.kernel_size is None:
            return x, None, None
        need_length(op, "kernel_size", attrs.kernel_size, rank)
        kernel: tuple[Dim, ...] = attrs.kernel_size
        channels: Dim = attrs.channels
        first, second = (
            (c, channels // groups) if swapped else (channels, dim(lambda n: n // groups, c))
        )
        shape = (first, second, *kernel)
        if has_group_axis(attrs):
            shape = (groups, channels // groups, second, *kernel)
        w = TensorType(inverse_permute(shape, kernel_order), x.dtype)
    else:
        need_rank(op, "weight", w, rank + 2 + has_group_axis(attrs))
        first, second, *sizes = permute(w.shape, kernel_order)
        swapped = depthwise_swap(op, attrs, c, first)
        if has_group_axis(attrs):
            if differ(first, groups):
                fail(op, f"weight must have groups={groups} groups, found {first} in {w}")
            first, second, *sizes = (dim(lambda n: n * groups, second), *sizes)
        kernel = tuple(sizes)
        channels = dim(lambda n: n * groups, second) if swapped else first
        inputs, expected = (first, c) if swapped else (second, dim(lambda n: n // groups, c))
        if differ(inputs, expected):
            fail(
                op,
                f"weight must have {expected} input channels ({c} of the data / groups="
                f"{groups}), found {inputs} in {w} ({attrs.kernel_layout}) for data {x}",
                kind="input channels",
                operator=op,
                expected=expected,
                channels=c,
                groups=groups,
                found=inputs,
                weight=w,
            )
        check_weight(op, attrs, w, channels, kernel)
    if not isinstance(channels, Unknown) and channels % groups:
        fail(op, f"the {channels} output channels are not divisible by groups={groups}")
    shape = (n, channels, *spatial_result(op, size, kernel, attrs))
    return x, w, TensorType(inverse_permute(shape, out_order), out_dtype(attrs, x))


def check_weight(
    op: str, attrs: AnyValue, w: TensorType, channels: Dim, kernel: tuple[Dim, ...]
) -> None:
    """Raise TypeInferenceError when a weight does not fit attributes channels and kernel_size."""
    if attrs.channels is not None and differ(attrs.channels, channels):
        fail(op, f"weight must have channels={attrs.channels} outputs, found {channels} in {w}")
    if attrs.kernel_size is not None:
        need_length(op, "kernel_size", attrs.kernel_size, len(kernel))
        if any(differ(a, b) for a, b in zip(attrs.kernel_size, kernel, strict=True)):
            order = orders(op, attrs, len(kernel))[1]
            wanted = [*permute(w.shape, order)[: -len(kernel)], *attrs.kernel_size]
            fitting = TensorType(inverse_permute(wanted, order), w.dtype)
            message = f"weight must have kernel_size={list(attrs.kernel_size)}, found {w}"
            fail(op, message, kind="mismatch", types=(w, fitting))


def plain_operands(
    attrs: AnyValue,
    data: np.ndarray,
    weight: np.ndarray,
    order: Sequence[int],
    kernel_order: Sequence[int],
) -> tuple[np.ndarray, np.ndarray]:
    """Data and weight permuted by `orders`; the weight without the axis of groups.

    Both are cast to the wider of the dtypes of data and result, so that no accuracy is lost.
    """
    inner = np.result_type(data.dtype, np.dtype(attrs.out_dtype or data.dtype))
    w = weight.transpose(kernel_order).astype(inner, copy=False)
    if has_group_axis(attrs):
        w = w.reshape(w.shape[0] * w.shape[1], *w.shape[2:])
    return data.transpose(order).astype(inner, copy=False), w


MAX_COLUMNS = 2**25  # maximum number of elements in the column matrix of a convolution


def conv_reference(
    op: str, rank: int, attrs: AnyValue, data: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Matrix products; depthwise: one product per kernel element."""
    order, kernel_order, out_order = orders(op, attrs, rank)
    x, w = plain_operands(attrs, data, weight, order, kernel_order)
    n, c = x.shape[:2]
    groups = attrs.groups
    if depthwise_swap(op, attrs, c, w.shape[0]):
        w = w.reshape(c * w.shape[1], 1, *w.shape[2:])
    o, per_group, *kernel = w.shape
    size = static_result(op, x.shape[2:], kernel, attrs)
    x = padded(x, pads_of(attrs.padding, rank), 0)
    w = w.reshape(groups, o // groups, per_group, *kernel)
    if per_group == 1:
        out = np.zeros((n, groups, o // groups, prod(size)), x.dtype)
        for at, view in taps(x, kernel, attrs.strides, attrs.dilation, size):
            block = view.reshape(n, groups, 1, prod(size))
            out += block * last_axes(w, at)
    elif o < c and prod(attrs.strides) == 1 and prod(kernel) > 1:
        out = _products_first(attrs, x, w, size)
    else:
        out = _columns_first(attrs, x, w, size)
    out = out.reshape(n, o, *size).transpose(np.argsort(out_order))
    return np.ascontiguousarray(out.astype(attrs.out_dtype or data.dtype, copy=False))


def _products_first(
    attrs: AnyValue, x: np.ndarray, w: np.ndarray, size: Sequence[int]
) -> np.ndarray:
    """All products of weights and data at once, and then their sums: for few output channels.

    w: (groups, outputs, inputs, kernel axes).
    """
    groups, outputs, inputs, *kernel = w.shape
    n, _, *around = x.shape
    by_element = np.moveaxis(w.reshape(groups, outputs, inputs, prod(kernel)), -1, 1)
    factors = by_element.reshape(groups, prod(kernel) * outputs, inputs)
    made = (factors @ x.reshape(n, groups, inputs, prod(around))).reshape(
        n, groups, prod(kernel), outputs, *around
    )
    out = np.zeros((n, groups, outputs, *size), x.dtype)
    positions = enumerate(taps(made, kernel, attrs.strides, attrs.dilation, size))
    for number, (_, view) in positions:
        out += view[:, :, number]
    return out


def _columns_first(
    attrs: AnyValue, x: np.ndarray, w: np.ndarray, size: Sequence[int]
) -> np.ndarray:
    """Convolve by one matrix product over columns; a column has the data elements for one output
    position. If the column matrix would be too large, by one product per kernel element. w:
    (groups, outputs, inputs, kernel axes)."""
    groups, outputs, inputs, *kernel = w.shape
    n, elements = x.shape[0], prod(kernel)
    views = taps(x, kernel, attrs.strides, attrs.dilation, size)
    if elements == 1:
        ((at, view),) = views
        return last_axes(w, at) @ view.reshape(n, groups, inputs, prod(size))
    if elements * x.shape[0] * x.shape[1] * prod(size) > MAX_COLUMNS:
        out = np.zeros((n, groups, outputs, prod(size)), x.dtype)
        for at, view in views:
            out += last_axes(w, at) @ view.reshape(n, groups, inputs, prod(size))
        return out
    columns = np.empty((n, groups, elements, inputs, *size), x.dtype)
    for number, (_, view) in enumerate(views):
        columns[:, :, number] = view.reshape(n, groups, inputs, *size)
    by_element = np.moveaxis(w.reshape(groups, outputs, inputs, prod(kernel)), -1, 2)
    factors = by_element.reshape(groups, outputs, elements * inputs)
    return factors @ columns.reshape(n, groups, elements * inputs, prod(size))


def without_group_axis(
    R: AnyValue, weight: AnyValue, attrs: AnyValue, kernel: str
) -> tuple[AnyValue, str]:
    """The weight in the form that Relax needs, without a group axis, and its layout.

    `kernel`: the layout of such a weight.
    """
    if not has_group_axis(attrs):
        return weight, attrs.kernel_layout
    ordered = typed(with_layout(R, weight, attrs.kernel_layout, f"G{kernel}"))
    groups, channels, *rest = shape_of(ordered)
    return R.reshape(ordered, (groups * channels, *rest)), kernel


def conv_flops(attrs: AnyValue, args: AnyValue, result: TensorType) -> int:
    """Two operations (multiplication and addition) per result element and weight element of its
    window."""
    if 0 in result.shape:
        return 0
    channel = (attrs.out_layout or attrs.data_layout).index("C")
    per_result = prod(args[1].shape) // result.concrete_shape[channel]
    return 2 * prod(result.concrete_shape) * per_result


def define_convolution(
    op: str, rank: int, relation, reference, flops, relax, **facts: AnyValue
) -> None:
    """Define a convolution, plain or transposed, that also computes blocked layouts."""
    define_op(
        op,
        "data weight",
        **with_blocked_layouts(
            op,
            ("data_layout", "kernel_layout"),
            ("out_layout", "data_layout"),
            relation=relation,
            reference=reference,
            flops=flops,
            relax=relax,
        ),
        from_relax={op: same},
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        arithmetic=Arithmetic.CONVOLUTION,
        mixed_precision=ALWAYS,
        fake_quantized=FakeQuantized.CONVOLUTION if rank == 2 else None,  # as in TVM
        qat=rank == 2,
        **facts,
    )


def _conv(rank: int, padding: int, doc: str) -> None:
    op = f"nn.conv{rank}d"
    relation = partial(conv_relation, op, rank)

    def relax(R: AnyValue, attrs: AnyValue, data: AnyValue, weight: AnyValue) -> AnyValue:
        options = ("strides", "padding", "dilation", "groups", "data_layout")
        kernel = f"OI{SPATIAL[rank]}"
        data, weight = typed(data), typed(weight)
        zeros = zeros_if_empty(R, relation, attrs, data, weight)
        if zeros is not None:
            return zeros
        weight, kernel_layout = without_group_axis(R, weight, attrs, kernel)
        weight = typed(weight)
        channels = shape_of(data)[attrs.data_layout.index("C")]
        outputs = shape_of(weight)[kernel_layout.index("O")]
        if depthwise_swap(op, attrs, channels, outputs):
            ordered = typed(with_layout(R, weight, kernel_layout, kernel))
            first, second, *sizes = shape_of(ordered)
            weight, kernel_layout = R.reshape(ordered, (first * second, 1, *sizes)), kernel
        result = getattr(R.nn, f"conv{rank}d")(
            data,
            weight,
            **{name: attrs[name] for name in options},
            kernel_layout=kernel_layout,
            out_dtype=attrs.out_dtype or None,
        )
        # Relax infers the type for a different out_layout but cannot lower it.
        return with_layout(R, result, attrs.data_layout, attrs.out_layout)

    define_convolution(
        op,
        rank,
        relation=relation,
        reference=partial(conv_reference, op, rank),
        flops=conv_flops,
        relax=relax,
        attrs=conv_attrs(rank, padding),
        normalize=window_normalize(rank),
        defaults={"strides": 1, "padding": 0, "dilation": 1}
        if rank == 1
        else {"padding": (0,) * rank},
        layout=layout_rules.convolution,
        doc=doc,
    )


_conv(1, 2, "Convolution with one spatial axis (a cross-correlation: the kernel is not flipped).")
_conv(2, 2, "Convolution with two spatial axes (a cross-correlation: the kernel is not flipped).")
_conv(3, 3, "Convolution with three spatial axes (a cross-correlation: the kernel is not flipped).")
