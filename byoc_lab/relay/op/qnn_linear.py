"""qnn.conv2d and qnn.dense: sums of products of quantized numbers, exact in int32.

The result has scale input_scale * kernel_scale and zero point 0. Source: `QnnConv2DRel`,
`QnnDenseRel` of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.attrs import attrs_type
from byoc_lab.relay.expr import Call, Expr, Op
from byoc_lab.relay.op.namespace import builds
from byoc_lab.relay.op.nn_conv import conv_flops, conv_reference, conv_relation
from byoc_lab.relay.op.nn_dense import dense_reference, dense_relation
from byoc_lab.relay.op.qnn_math import (
    along,
    check_dtype,
    check_scalar,
    check_vector,
    constants,
    relax_constant,
)
from byoc_lab.relay.op.registry import OpDef, OpPattern, define_op
from byoc_lab.relay.op.relations import Types, tensors
from byoc_lab.relay.op.relax_types import rank_of
from byoc_lab.relay.op.windows import window_normalize
from byoc_lab.relay.types import TensorType, Type

NAMES = "data weight input_zero_point kernel_zero_point input_scale kernel_scale"
NARROW = ("int8", "uint8", "int16")


def _linear(op: str, attrs_key: str, outputs, plain_relation, plain_reference, flops, doc: str):
    """An operator that is `op` without its "q" on (data - zero point) and (weight - zero point).

    outputs(attrs) is the axis of the weight that holds the output channels.
    """
    plain: OpDef = Op.get(op.removeprefix("q")).definition

    def relation(attrs: AnyValue, *types: Type | None) -> Types:
        """As without quantization; kernel scale and zero point may be one per output channel."""
        x, w, zero, kernel_zero, scale, kernel_scale = tensors(op, NAMES, *types)
        rest = (zero, kernel_zero, scale, kernel_scale)
        check_dtype(op, "the result", attrs.out_dtype, "int16", "int32", "int64")
        check_scalar(op, "input_zero_point", zero, "int32")
        check_scalar(op, "input_scale", scale, "float32")
        if x is None or w is None:
            return x, w, *rest, None
        check_dtype(op, "data", x.dtype, *NARROW)
        check_dtype(op, "weight", w.dtype, *NARROW)
        _, w, result = plain_relation(attrs, x, w)
        assert isinstance(w, TensorType)
        channels = w.shape[outputs(attrs)]
        check_vector(op, "kernel_zero_point", kernel_zero, "int32", channels)
        check_vector(op, "kernel_scale", kernel_scale, "float32", channels)
        return x, w, *rest, result

    def reference(attrs: AnyValue, *args: np.ndarray) -> np.ndarray:
        x, w, zero, kernel_zero = args[:4]
        moved = x.astype(np.int32) - zero.reshape(())
        weight = w.astype(np.int32) - along(kernel_zero, outputs(attrs), w.ndim)
        return plain_reference(attrs, moved, weight)

    def relax(R: AnyValue, attrs: AnyValue, x: AnyValue, w: AnyValue, *rest: AnyValue) -> AnyValue:
        names = "input_zero_point kernel_zero_point"
        zero, kernel_zero = constants(op, names, *rest[:2])
        across = along(kernel_zero, outputs(attrs), rank_of(w))
        moved = R.subtract(R.astype(x, "int32"), relax_constant(zero.reshape(()), "int32"))
        weight = R.subtract(R.astype(w, "int32"), relax_constant(across, "int32"))
        assert plain.relax is not None
        return plain.relax(R, attrs, moved, weight)

    return define_op(
        op,
        NAMES,
        relation,
        reference=reference,
        attrs=attrs_type(attrs_key),
        defaults={"out_dtype": "int32"},
        flops=lambda attrs, args, result: flops(attrs, args[:2], result),
        relax=relax,
        pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
        normalize=window_normalize(2) if op == "qnn.conv2d" else None,
        doc=doc,
    )


CONV2D = _linear(
    "qnn.conv2d",
    "relay.attrs.Conv2DAttrs",
    lambda attrs: attrs.kernel_layout.index("O"),
    lambda attrs, x, w: conv_relation("qnn.conv2d", 2, attrs, x, w),
    lambda attrs, x, w: conv_reference("qnn.conv2d", 2, attrs, x, w),
    conv_flops,
    "Convolution of data and weight without their zero points.",
)
DENSE = _linear(
    "qnn.dense",
    "relay.attrs.DenseAttrs",
    lambda attrs: 0,
    dense_relation,
    dense_reference,
    lambda attrs, args, result: Op.get("nn.dense").definition.flops(attrs, args, result),
    "out[..., u] = sum over k of data[..., k] * weight[u, k], both without their zero points.",
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
