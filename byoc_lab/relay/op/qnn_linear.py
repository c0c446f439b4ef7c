"""qnn.conv2d, conv2d_transpose, dense, batch_matmul, contrib_dense_pack: sums of products of
quantized numbers, exact in int32.

The result has scale input_scale * kernel_scale and zero point 0. Source: `QnnConv2DRel`,
`QnnConv2DTransposeRel`, `QnnDenseRel`, `QnnBatchMatmulRel` of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.expr import Call, Expr, Op
from byoc_lab.relay.op import layout_rules
from byoc_lab.relay.op.namespace import builds
from byoc_lab.relay.op.qnn_math import (
    along,
    check_dtype,
    check_scalar,
    check_vector,
    constants,
    relax_constant,
)
from byoc_lab.relay.op.registry import OpDef, OpPattern, define_op
from byoc_lab.relay.op.relations import Types, relation_of, tensors
from byoc_lab.relay.op.relax_types import rank_of
from byoc_lab.relay.op.windows import window_normalize
from byoc_lab.relay.types import TensorType, Type

NAMES = "data weight input_zero_point kernel_zero_point input_scale kernel_scale"
NARROW = ("int8", "uint8", "int16")


def _linear(op: str, outputs, doc: str, names: str = NAMES) -> Op:
    """An operator that is `op` without its "q" on (data - zero point) and (weight - zero point).

    outputs(attrs) is the axis of the weight that holds the output channels, None when scales and
    zero points are scalars.
    """
    plain: OpDef = Op.get(op.removeprefix("q")).definition
    words = names.split()

    def relation(attrs: AnyValue, *types: Type | None) -> Types:
        """As without quantization; kernel scale and zero point may be one per output channel."""
        x, w, zero, kernel_zero, scale, kernel_scale = tensors(op, names, *types)
        rest = (zero, kernel_zero, scale, kernel_scale)
        check_dtype(op, "the result", attrs.out_dtype, "int16", "int32", "int64")
        check_scalar(op, words[2], zero, "int32")
        check_scalar(op, words[4], scale, "float32")
        if x is None or w is None:
            return x, w, *rest, None
        check_dtype(op, words[0], x.dtype, *NARROW)
        check_dtype(op, words[1], w.dtype, *NARROW)
        # The two need not have the same dtype, so the plain operator is asked about one.
        *_, result = relation_of(op, plain, attrs, x, TensorType(w.shape, x.dtype))
        axis = outputs(attrs)
        channels = 1 if axis is None else w.shape[axis]
        check_vector(op, words[3], kernel_zero, "int32", channels)
        check_vector(op, words[5], kernel_scale, "float32", channels)
        return x, w, *rest, result

    def reference(attrs: AnyValue, *args: np.ndarray) -> np.ndarray:
        x, w, zero, kernel_zero = args[:4]
        moved = x.astype(np.int32) - zero.reshape(())
        weight = w.astype(np.int32) - along(kernel_zero, outputs(attrs) or 0, w.ndim)
        assert plain.reference is not None
        return plain.reference(attrs, moved, weight)

    def relax(R: AnyValue, attrs: AnyValue, x: AnyValue, w: AnyValue, *rest: AnyValue) -> AnyValue:
        zero, kernel_zero = constants(op, f"{words[2]} {words[3]}", *rest[:2])
        across = along(kernel_zero, outputs(attrs) or 0, rank_of(w))
        moved = R.subtract(R.astype(x, "int32"), relax_constant(zero.reshape(()), "int32"))
        weight = R.subtract(R.astype(w, "int32"), relax_constant(across, "int32"))
        assert plain.relax is not None
        return plain.relax(R, attrs, moved, weight)

    def flops(attrs: AnyValue, args: AnyValue, result: AnyValue) -> int:
        assert plain.flops is not None
        return plain.flops(attrs, args[:2], result)

    return define_op(
        op,
        names,
        relation,
        reference=reference,
        attrs=plain.attrs,
        flops=flops,
        relax=relax,
        # TVM gives the transposed convolution no class.
        pattern=OpPattern.OPAQUE if "transpose" in op else OpPattern.OUT_ELEMWISE_FUSABLE,
        layout=layout_rules.quantized(plain.layout) if plain.layout else None,
        doc=doc,
    )


CONV2D = _linear(
    "qnn.conv2d",
    lambda attrs: attrs.kernel_layout.index("O"),
    "Convolution of data and weight without their zero points.",
)
CONV2D_TRANSPOSE = _linear(
    "qnn.conv2d_transpose",
    lambda attrs: attrs.kernel_layout.index("O"),
    "Transposed convolution of data and weight without their zero points.",
)
DENSE = _linear(
    "qnn.dense",
    lambda attrs: 0,
    "out[..., u] = sum over k of data[..., k] * weight[u, k], both without their zero points.",
)
BATCH_MATMUL = _linear(
    "qnn.batch_matmul",
    lambda attrs: None,
    "The products of matrices x and transposed matrices y, both without their zero points.",
    "x y x_zero_point y_zero_point x_scale y_scale",
)
DENSE_PACK = _linear(
    "qnn.contrib_dense_pack",
    lambda attrs: None,
    "As qnn.dense, the weight in blocks.",
)


@builds("qnn.conv2d")
def conv2d(
    data: Expr,
    kernel: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    kernel_size: AnyValue,
    channels: int | None,
    strides: AnyValue = (1, 1),
    padding: AnyValue = (0, 0),
    dilation: AnyValue = (1, 1),
    groups: int = 1,
    data_layout: str = "NCHW",
    kernel_layout: str = "OIHW",
    out_layout: str = "",
    out_dtype: str = "int32",
) -> Call:
    """The convolution of quantized data (N, C, H, W); see `nn.conv2d` for the attributes."""
    values = {
        "strides": strides,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
        "channels": channels,
        "kernel_size": kernel_size,
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
        "out_layout": out_layout,
        "out_dtype": out_dtype,
    }
    attrs = CONV2D.definition.attrs.make(window_normalize(2)(values))
    args = [data, kernel, input_zero_point, kernel_zero_point, input_scale, kernel_scale]
    return Call(CONV2D, args, attrs)


@builds("qnn.dense")
def dense(
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    units: int | None,
    out_dtype: str = "int32",
) -> Call:
    """The product of quantized data (..., K) and weight (units, K)."""
    attrs = DENSE.definition.attrs.make(units=units, out_dtype=out_dtype)
    args = [data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale]
    return Call(DENSE, args, attrs)


@builds("qnn.conv2d_transpose")
def conv2d_transpose(
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    strides: AnyValue = (1, 1),
    padding: AnyValue = (0, 0),
    dilation: AnyValue = (1, 1),
    groups: int = 1,
    channels: int | None = None,
    kernel_size: AnyValue = None,
    data_layout: str = "NCHW",
    kernel_layout: str = "IOHW",
    out_layout: str = "",
    output_padding: AnyValue = (0, 0),
    out_dtype: str = "int32",
) -> Call:
    """The transposed convolution of quantized data; see `nn.conv2d_transpose`."""
    values = {
        "strides": strides,
        "padding": padding,
        "dilation": dilation,
        "groups": groups,
        "channels": channels,
        "kernel_size": kernel_size,
        "data_layout": data_layout,
        "kernel_layout": kernel_layout,
        "out_layout": out_layout,
        "output_padding": output_padding,
        "out_dtype": out_dtype,
    }
    attrs = CONV2D_TRANSPOSE.definition.attrs.make(window_normalize(2)(values))
    args = [data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale]
    return Call(CONV2D_TRANSPOSE, args, attrs)


@builds("qnn.batch_matmul")
def batch_matmul(
    x: Expr,
    y: Expr,
    x_zero_point: Expr,
    y_zero_point: Expr,
    x_scale: Expr,
    y_scale: Expr,
    out_dtype: str = "int32",
) -> Call:
    """The products of quantized x (B, M, K) and y (B, N, K), transposed."""
    attrs = BATCH_MATMUL.definition.attrs.make(
        out_dtype=out_dtype, transpose_a=False, transpose_b=True
    )
    return Call(BATCH_MATMUL, [x, y, x_zero_point, y_zero_point, x_scale, y_scale], attrs)


@builds("qnn.contrib_dense_pack")
def contrib_dense_pack(
    data: Expr,
    weight: Expr,
    input_zero_point: Expr,
    kernel_zero_point: Expr,
    input_scale: Expr,
    kernel_scale: Expr,
    kernel_layout: str = "NC",
    units: int | None = None,
    out_dtype: str = "int32",
) -> Call:
    """The product of quantized data (M, K) and a weight in blocks, such as "NC16n4c"."""
    attrs = DENSE_PACK.definition.attrs.make(
        units=units, out_dtype=out_dtype, weight_layout=kernel_layout
    )
    args = [data, weight, input_zero_point, kernel_zero_point, input_scale, kernel_scale]
    return Call(DENSE_PACK, args, attrs)
