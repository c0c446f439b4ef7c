"""Sums of products of quantized numbers, exact in int32: qnn.conv2d, conv2d_transpose, dense,
batch_matmul.

The result has scale input_scale * kernel_scale and zero point 0. Source: `QnnConv2DRel`,
`QnnConv2DTransposeRel`, `QnnDenseRel`, `QnnBatchMatmulRel` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework import layout_rules
from byoc_lab.relay.op.framework.registry import Arithmetic, OpDef, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import Types, relation_of, tensors
from byoc_lab.relay.op.framework.relax_types import rank_of
from byoc_lab.relay.op.qnn.math import (
    broadcast_scales,
    check_dtype,
    check_scalar,
    check_vector,
    constants,
    relax_constant,
)

NAMES = "data weight input_zero_point kernel_zero_point input_scale kernel_scale"
MATMUL_NAMES = "x y x_zero_point y_zero_point x_scale y_scale"
NARROW = ("int8", "uint8", "int16")


def define_linear(
    op: str,
    outputs: Callable[[AnyValue], int | None],
    doc: str,
    parameters: str,
    required: str = "",
    fixed: Mapping[str, AnyValue] | None = None,
    names: str = NAMES,
) -> None:
    """Define `op`, which applies the plain operator (nn.conv2d for qnn.conv2d) to (data - zero
    point) and (weight - zero point).

    outputs(attrs): the axis of the output channels in the weight; None if scales and zero points
    must be scalars.
    """
    plain: OpDef = Op.get(op.removeprefix("q")).definition
    words = names.split()

    def relation(attrs: AnyValue, *types: Type | None) -> Types:
        """As for the plain operator; kernel scale and zero point may be per output channel."""
        x, w, zero, kernel_zero, scale, kernel_scale = tensors(op, names, *types)
        rest = (zero, kernel_zero, scale, kernel_scale)
        check_dtype(op, "the result", attrs.out_dtype, "int16", "int32", "int64")
        check_scalar(op, words[2], zero, "int32")
        check_scalar(op, words[4], scale, "float32")
        if x is None or w is None:
            return x, w, *rest, None
        check_dtype(op, words[0], x.dtype, *NARROW)
        check_dtype(op, words[1], w.dtype, *NARROW)
        # Data and weight may differ in dtype; the relation of the plain operator is called with one
        # dtype.
        *_, result = relation_of(op, plain, attrs, x, TensorType(w.shape, x.dtype))
        axis = outputs(attrs)
        channels = 1 if axis is None else w.shape[axis]
        check_vector(op, words[3], kernel_zero, "int32", channels)
        check_vector(op, words[5], kernel_scale, "float32", channels)
        return x, w, *rest, result

    def reference(attrs: AnyValue, *args: np.ndarray) -> np.ndarray:
        x, w, zero, kernel_zero = args[:4]
        moved = x.astype(np.int32) - zero.reshape(())
        weight = w.astype(np.int32) - broadcast_scales(kernel_zero, outputs(attrs) or 0, w.ndim)
        assert plain.reference is not None
        return plain.reference(attrs, moved, weight)

    def relax(R: AnyValue, attrs: AnyValue, x: AnyValue, w: AnyValue, *rest: AnyValue) -> AnyValue:
        zero, kernel_zero = constants(op, f"{words[2]} {words[3]}", *rest[:2])
        offset = broadcast_scales(kernel_zero, outputs(attrs) or 0, rank_of(w))
        moved = R.subtract(R.astype(x, "int32"), relax_constant(zero.reshape(()), "int32"))
        weight = R.subtract(R.astype(w, "int32"), relax_constant(offset, "int32"))
        assert plain.relax is not None
        return plain.relax(R, attrs, moved, weight)

    def flops(attrs: AnyValue, args: AnyValue, result: AnyValue) -> int:
        assert plain.flops is not None
        return plain.flops(attrs, args[:2], result)

    define_op(
        op,
        names,
        relation,
        reference=reference,
        attrs=plain.attrs,
        arithmetic=Arithmetic.INTEGER_PRODUCT,
        flops=flops,
        relax=relax,
        # In TVM, the transposed convolution has no fusion pattern.
        pattern=OpPattern.OPAQUE if "transpose" in op else OpPattern.OUT_ELEMWISE_FUSABLE,
        layout=layout_rules.quantized(plain.layout) if plain.layout else None,
        parameters=parameters,
        defaults={"out_dtype": "int32", **dict.fromkeys(required.split(), REQUIRED)},
        fixed=fixed or {},
        normalize=plain.normalize,
        doc=doc,
    )


define_linear(
    "qnn.conv2d",
    lambda attrs: attrs.kernel_layout.index("O"),
    "nn.conv2d of data and weight, each without its zero point.",
    f"{NAMES.replace('weight', 'kernel=weight')} kernel_size channels strides padding dilation "
    "groups data_layout kernel_layout out_layout out_dtype",
    required="kernel_size channels",
)
define_linear(
    "qnn.conv2d_transpose",
    lambda attrs: attrs.kernel_layout.index("O"),
    "nn.conv2d_transpose of data and weight, each without its zero point.",
    f"{NAMES} strides padding dilation groups channels kernel_size data_layout kernel_layout "
    "out_layout output_padding out_dtype",
)
define_linear(
    "qnn.dense",
    lambda attrs: 0,
    "nn.dense of data and weight, each without its zero point.",
    f"{NAMES} units out_dtype",
    required="units",
)
define_linear(
    "qnn.batch_matmul",
    lambda attrs: None,
    "nn.batch_matmul of x (B, M, K) and y (B, N, K) transposed, each without its zero point.",
    f"{MATMUL_NAMES} out_dtype",
    fixed={"transpose_b": True},
    names=MATMUL_NAMES,
)
