"""Arithmetic on packed bits: bitpack, bitserial_conv2d and bitserial_dense.

Source: src/relay/op/nn/bitserial.cc and topi/nn/bitserial_*.py of TVM 0.16.
"""

from __future__ import annotations

from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.attrs import (
    Attr,
    AttrsType,
    DType,
    boolean,
    dtype,
    integer,
    integers,
    string,
)
from byoc_lab.relay.dims import Unknown
from byoc_lab.relay.expr import Call, Expr
from byoc_lab.relay.op.namespace import builds
from byoc_lab.relay.op.registry import OpPattern, define_op
from byoc_lab.relay.op.relations import (
    NO_DTYPE,
    Types,
    dim,
    fail,
    need_length,
    need_rank,
    tensors,
)
from byoc_lab.relay.op.relax_types import by_topi
from byoc_lab.relay.op.windows import (
    Pads,
    four_pads,
    padded,
    padding_of_builder,
    pads_of,
    spatial_result,
    taps,
)
from byoc_lab.relay.types import TensorType, Type

PACK, CONV, DENSE = "nn.bitpack", "nn.bitserial_conv2d", "nn.bitserial_dense"
WIDTHS = {f"uint{bits}": bits for bits in (8, 16, 32, 64)}


def _width(op: str, name: str, kind: str) -> int:
    """How many bits a packed number holds."""
    if kind not in WIDTHS:
        fail(op, f"attribute {name} must be one of {', '.join(WIDTHS)}, found {kind!r}")
    return WIDTHS[kind]


def _need_whole_words(op: str, ty: TensorType, axis: int, width: int) -> None:
    size = ty.shape[axis]
    if not isinstance(size, Unknown) and size % width:
        fail(op, f"axis {axis} of {ty} must be a multiple of the {width} bits of a packed number")


# nn.bitpack --------------------------------------------------------------------------------------


def pack_relation(attrs: AnyValue, data: Type | None) -> Types:
    """data gives as many tensors of bits as `bits` says, in a new axis bit_axis; along pack_axis
    the elements become the bits of one number, the first of them its highest bit."""
    (x,) = tensors(PACK, "data", data)
    width = _width(PACK, "pack_type", attrs.pack_type)
    if not 1 <= attrs.bits <= 8:
        fail(PACK, f"attribute bits must be in [1, 8], found {attrs.bits}")
    if x is None:
        return None, None
    rank = len(x.shape)
    for name, end in (("pack_axis", rank), ("bit_axis", rank + 1)):
        if not 0 <= attrs[name] < end:
            fail(PACK, f"attribute {name} must be in [0, {end}), found {attrs[name]}")
    _need_whole_words(PACK, x, attrs.pack_axis, width)
    shape = list(x.shape)
    shape[attrs.pack_axis] = dim(lambda d: d // width, shape[attrs.pack_axis])
    shape.insert(attrs.bit_axis, attrs.bits)
    return x, TensorType(shape, attrs.pack_type)


def pack_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    width = WIDTHS[attrs.pack_type]
    words = np.moveaxis(x, attrs.pack_axis, -1)
    words = words.reshape(*words.shape[:-1], -1, width)
    places = np.arange(width - 1, -1, -1, dtype=attrs.pack_type)
    packed = [
        (((words >> bit) & 1).astype(attrs.pack_type) << places).sum(axis=-1, dtype=attrs.pack_type)
        for bit in range(attrs.bits)
    ]
    back = [np.moveaxis(p, -1, attrs.pack_axis) for p in packed]
    return np.stack(back, axis=attrs.bit_axis)


define_op(
    PACK,
    "data",
    pack_relation,
    reference=pack_reference,
    attrs=AttrsType(
        "relay.attrs.BitPackAttrs",
        (
            Attr("bits", integer, 1, "how many bits of each element are taken, the lowest first"),
            Attr("pack_axis", integer, 1, "along which elements become the bits of one number"),
            Attr("bit_axis", integer, -1, "where the new axis is that counts the bits taken"),
            Attr("pack_type", dtype, NO_DTYPE, f"what is packed into: {', '.join(WIDTHS)}"),
            Attr("name", string, "BitPack", "what TVM calls the computation"),
        ),
    ),
    defaults={"bit_axis": 2, "pack_type": DType("uint32")},
    flops=lambda attrs, args, result: 0,
    relax=lambda R, attrs, x: by_topi(
        PACK, x, attrs.bits, attrs.pack_axis, attrs.bit_axis, str(attrs.pack_type), attrs.name
    ),
    pattern=OpPattern.INJECTIVE,
    doc="The lowest bits of the elements of data, packed into numbers.",
)

# The two linear operators ------------------------------------------------------------------------


def _unpacked(packed: np.ndarray, axis: int, bit_axis: int) -> np.ndarray:
    """What bitpack was given, as far as the bits taken tell."""
    bits = np.moveaxis(packed, bit_axis, 0)
    width = packed.dtype.itemsize * 8
    places = np.arange(width - 1, -1, -1, dtype=packed.dtype)
    total: AnyValue = 0
    for weight, part in enumerate(bits):
        lanes = (np.moveaxis(part, axis, -1)[..., None] >> places) & packed.dtype.type(1)
        flat = lanes.reshape(*lanes.shape[:-2], -1).astype("int64")
        total = total + (np.moveaxis(flat, -1, axis) << weight)
    return total


def _factors(attrs: AnyValue, weight: np.ndarray) -> np.ndarray:
    """The weight as it counts: for unipolar data a bit of 0 stands for -1."""
    bits = weight.astype("int64") & ((1 << attrs.weight_bits) - 1)
    return 2 * bits - ((1 << attrs.weight_bits) - 1) if attrs.unipolar else bits


class _Window:
    """The attributes under the names that `windows` knows."""

    dilation = (1, 1)

    def __init__(self, attrs: AnyValue):
        self.strides, self.padding = attrs.strides, attrs.padding

    def get(self, name: str, default: AnyValue = None) -> AnyValue:
        return getattr(self, name, default)


_LAYOUTS = {"NCHW": ("OIHW", (0, 1, 2, 3)), "NHWC": ("HWIO", (0, 3, 1, 2))}


def _channels(attrs: AnyValue) -> int:
    """Which axis of the data holds the channels."""
    _, order = _LAYOUTS[attrs.data_layout]
    return order[1]


def conv_relation(attrs: AnyValue, data: Type | None, weight: Type | None) -> Types:
    """data (N, C, H, W) and a weight, packed or not, give (N, channels, H', W'); NHWC likewise."""
    x, w = tensors(CONV, "data weight", data, weight)
    if attrs.data_layout not in _LAYOUTS or attrs.kernel_layout != _LAYOUTS[attrs.data_layout][0]:
        fail(
            CONV,
            "attributes data_layout and kernel_layout must be NCHW and OIHW, or NHWC and HWIO, "
            f"found {attrs.data_layout!r} and {attrs.kernel_layout!r}",
        )
    need_length(CONV, "kernel_size", attrs.kernel_size, 2)
    need_length(CONV, "strides", attrs.strides, 2)
    need_length(CONV, "padding", attrs.padding, 1, 2, 4)
    width = _width(CONV, "pack_dtype", attrs.pack_dtype)
    if attrs.channels is None or not attrs.out_dtype:
        fail(CONV, "attributes channels and out_dtype must be given")
    if x is None or w is None:
        return x, w, None
    need_rank(CONV, "data", x, 4)
    _, order = _LAYOUTS[attrs.data_layout]
    _need_whole_words(CONV, x, _channels(attrs), width)
    if len(w.shape) not in (4, 5):
        fail(CONV, f"weight must have 4 dimensions, or 5 when it is packed, found {w}")
    if len(w.shape) == 5 and attrs.data_layout != "NCHW":  # TVM takes its axes for others
        fail(CONV, f"a packed weight needs attribute data_layout NCHW, found {attrs.data_layout!r}")
    size = spatial_result(CONV, [x.shape[n] for n in order[2:]], attrs.kernel_size, _Window(attrs))
    shape = (x.shape[0], attrs.channels, *size)
    return x, w, TensorType([shape[order.index(n)] for n in range(4)], attrs.out_dtype)


def _kernel(attrs: AnyValue, weight: np.ndarray) -> np.ndarray:
    """The weight as (O, I, H, W), unpacked."""
    weight = _unpacked(weight, 1, 4) if weight.ndim == 5 else weight
    return weight if attrs.data_layout == "NCHW" else weight.transpose(3, 2, 0, 1)


def conv_reference(attrs: AnyValue, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Exact. TVM subtracts counts in pack_dtype, so unipolar data packed into less than the bits of
    out_dtype gives it other numbers."""
    _, order = _LAYOUTS[attrs.data_layout]
    x = data.transpose(order).astype("int64") & ((1 << attrs.activation_bits) - 1)
    factors = _factors(attrs, _kernel(attrs, weight))
    pads: Pads = pads_of(attrs.padding, 2)
    kernel = factors.shape[2:]
    around = padded(x, pads, 0)
    size = [
        (d - k) // s + 1 for d, k, s in zip(around.shape[2:], kernel, attrs.strides, strict=True)
    ]
    out = np.zeros((len(x), len(factors), *size), "int64")
    for (i, j), view in taps(around, kernel, attrs.strides, (1, 1), size):
        out += np.einsum("nchw,oc->nohw", view, factors[:, :, i, j])
    return np.ascontiguousarray(out.transpose(np.argsort(order)).astype(attrs.out_dtype))


def _conv_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, w: AnyValue) -> AnyValue:
    return by_topi(
        f"{CONV}_{attrs.data_layout.lower()}",
        x,
        w,
        list(attrs.strides),
        list(four_pads(attrs.padding)),
        attrs.activation_bits,
        attrs.weight_bits,
        str(attrs.pack_dtype),
        str(attrs.out_dtype),
        attrs.unipolar,
    )


WEIGHT_BITS = Attr("weight_bits", integer, 1, "how many bits of the weight count")
PACK_DTYPE = Attr("pack_dtype", dtype, NO_DTYPE, f"what is packed into: {', '.join(WIDTHS)}")
OUT_DTYPE = Attr("out_dtype", dtype, NO_DTYPE, "dtype of the result")
UNIPOLAR = Attr("unipolar", boolean, True, "whether a bit 0 of the weight stands for -1")

BITSERIAL_CONV2D = define_op(
    CONV,
    "data weight",
    conv_relation,
    reference=conv_reference,
    attrs=AttrsType(
        "relay.attrs.BinaryConv2DAttrs",
        (
            Attr("strides", integers, (1, 1), "steps of the window: (height, width)"),
            Attr("padding", integers, (0, 0), "zeros around: (height, width), or before, after"),
            Attr("kernel_size", integers, (3, 3), "(height, width)"),
            Attr("channels", integer, None, "number of output channels"),
            Attr("activation_bits", integer, 1, "how many bits of the data count"),
            WEIGHT_BITS,
            Attr("data_layout", string, "NCHW", "NCHW or NHWC"),
            Attr("kernel_layout", string, "OIHW", "OIHW or HWIO"),
            PACK_DTYPE,
            OUT_DTYPE,
            UNIPOLAR,
        ),
    ),
    flops=lambda attrs, args, result: (
        2 * prod(result.shape) * prod(attrs.kernel_size) * args[0].shape[_channels(attrs)]
    ),
    relax=_conv_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="Two-dimensional convolution of the lowest bits of data and weight, by counting bits.",
)


@builds(CONV)
def bitserial_conv2d(
    data: Expr,
    weight: Expr,
    strides: AnyValue = (1, 1),
    padding: AnyValue = (0, 0),
    channels: int | None = None,
    kernel_size: AnyValue = (3, 3),
    activation_bits: int = 1,
    weight_bits: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    pack_dtype: str = "uint32",
    out_dtype: str = "int16",
    unipolar: bool = True,
) -> Call:
    """Convolution of the lowest `activation_bits` and `weight_bits` of integers."""
    attrs = BITSERIAL_CONV2D.definition.attrs.make(
        strides=strides,
        padding=padding_of_builder(padding, 2),
        kernel_size=kernel_size,
        channels=channels,
        activation_bits=activation_bits,
        weight_bits=weight_bits,
        data_layout=data_layout,
        kernel_layout=kernel_layout,
        pack_dtype=pack_dtype,
        out_dtype=out_dtype,
        unipolar=unipolar,
    )
    return Call(BITSERIAL_CONV2D, [data, weight], attrs)


def dense_relation(attrs: AnyValue, data: Type | None, weight: Type | None) -> Types:
    """data (N, inputs) and a weight (units, inputs), packed or not, give (N, units)."""
    x, w = tensors(DENSE, "data weight", data, weight)
    width = _width(DENSE, "pack_dtype", attrs.pack_dtype)
    if attrs.units is None or not attrs.out_dtype:
        fail(DENSE, "attributes units and out_dtype must be given")
    if x is None or w is None:
        return x, w, None
    need_rank(DENSE, "data", x, 2)
    _need_whole_words(DENSE, x, 1, width)
    if len(w.shape) not in (2, 3):
        fail(DENSE, f"weight must have 2 dimensions, or 3 when it is packed, found {w}")
    return x, w, TensorType((x.shape[0], attrs.units), attrs.out_dtype)


def dense_reference(attrs: AnyValue, data: np.ndarray, weight: np.ndarray) -> np.ndarray:
    x = data.astype("int64") & ((1 << attrs.data_bits) - 1)
    w = _unpacked(weight, 1, 1) if weight.ndim == 3 else weight
    return (x @ _factors(attrs, w).T).astype(attrs.out_dtype)


define_op(
    DENSE,
    "data weight",
    dense_relation,
    reference=dense_reference,
    attrs=AttrsType(
        "relay.attrs.BinaryDenseAttrs",
        (
            Attr("units", integer, None, "number of output features", may_be_none=True),
            Attr("data_bits", integer, 1, "how many bits of the data count"),
            WEIGHT_BITS,
            PACK_DTYPE,
            OUT_DTYPE,
            UNIPOLAR,
        ),
    ),
    defaults={"pack_dtype": DType("uint32"), "out_dtype": DType("int16")},
    flops=lambda attrs, args, result: 2 * prod(result.shape) * args[0].shape[1],
    relax=lambda R, attrs, x, w: by_topi(
        DENSE,
        x,
        w,
        attrs.data_bits,
        attrs.weight_bits,
        str(attrs.pack_dtype),
        str(attrs.out_dtype),
        attrs.unipolar,
    ),
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="data @ weight.T of the lowest bits of both, by counting bits.",
)
