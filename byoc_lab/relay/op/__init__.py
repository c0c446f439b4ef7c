"""The operators: one definition each (see `registry.define_op`), in files by family.

Every module of the folders below is imported here by `discover`, so a new family is a new file.
`byoc_lab.compat.op` does the same for the operators that only scripts written for TVM use.
"""

from __future__ import annotations

from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.op import annotation, image, nn, qnn, tensor, vision
from byoc_lab.relay.op.framework.namespace import discover
from byoc_lab.relay.op.framework.registry import OpDef, OpPattern, builder, builders, define_op

discover(annotation, tensor, nn, image, vision, qnn, last=["dyn", "static_or_dynamic"])

# Defined by `byoc_lab.compat.op`; the names are here for the error messages.
IN_COMPAT = frozenset({
    "annotation.checkpoint", "collapse_sum_like", "collapse_sum_to", "contrib_reverse_reshape",
    "device_copy", "fast_erf", "fast_exp", "fast_tanh", "image.crop_and_resize", "image.dilation2d",
    "invert_permutation", "matrix_set_diag", "nn.batch_to_space_nd", "nn.contrib_conv2d_NCHWc",
    "nn.contrib_dense_pack", "nn.contrib_depthwise_conv2d_NCHWc", "nn.correlation",
    "nn.cross_entropy", "nn.cross_entropy_with_logits", "nn.dilate", "nn.fast_softmax",
    "nn.fifo_buffer", "nn.nll_loss", "nn.space_to_batch_nd", "on_device", "qnn.contrib_dense_pack",
    "qnn.simulated_dequantize", "qnn.simulated_quantize", "searchsorted", "sequence_mask",
    "sliding_window", "vision.multibox_prior", "vision.multibox_transform_loc", "vision.proposal",
    "vision.regular_non_max_suppression", "vision.yolo_reorg",
})  # fmt: skip
Op.elsewhere.update(dict.fromkeys(IN_COMPAT, "byoc_lab.compat"))
# Prefixes of operators that TVM's lowering creates, with the ends of error messages.
_LOWERED = "TVM's lowering creates it; pass the module before relay.build or vm.compile"
Op.unsupported.update(dict.fromkeys(("call_lowered", "memory.", "vm."), _LOWERED))


def get(name: str) -> Op:
    """The operator of that name. Raises UnknownNameError."""
    return Op.get(name)


def register_op_attr(op_name: str, attr_key: str, value: object = None, level: int = 10):
    """Set an attribute of an operator ("target.dnnl", ...); without a value, a decorator."""

    def register(v: object) -> object:
        Op.get(op_name).set_attr(attr_key, v, level)
        return v

    return register if value is None else register(value)


def register_legalize(op_name: str, legal_op: object = None, level: int = 10):
    """Register how the pass Legalize rewrites an operator; see that pass."""
    return register_op_attr(op_name, "FTVMLegalize", legal_op, level)


def register_alter_op_layout(op_name: str, alter_layout: object = None, level: int = 10):
    """Register how the pass AlterOpLayout rewrites an operator; see that pass."""
    return register_op_attr(op_name, "FTVMAlterOpLayout", alter_layout, level)


def register_convert_op_layout(op_name: str, convert_layout: object = None, level: int = 10):
    """Register how the pass ConvertLayout gives an operator the desired layouts; see that pass."""
    return register_op_attr(op_name, "FTVMConvertOpLayout", convert_layout, level)


def register_mixed_precision_conversion(op_name: str, func: object = None, level: int = 10):
    """Register the dtypes that the pass ToMixedPrecision gives an operator; see that pass.

    The function maps a call and the narrow dtype to a category (TVM: colour), the dtype to compute
    in and the dtype of the result.
    """
    return register_op_attr(op_name, "FTVMMixedPrecisionConversionType", func, level)


def register_fake_quantization_to_integer(op_name: str, func: object = None, level: int = 10):
    """Register how the pass FakeQuantizationToInteger rewrites an operator; see that pass."""
    return register_op_attr(op_name, "FTVMFakeQuantizationToInteger", func, level)


def register_optional_fake_quantization_to_integer(
    op_name: str, func: object = None, level: int = 10
):
    """Register how the pass FakeQuantizationToInteger rewrites an operator if `optional_qnn_ops`
    lists it; see that pass."""
    return register_op_attr(op_name, "FTVMOptionalFakeQuantizationToInteger", func, level)


def register_infer_correct_layout(op_name: str, infer_layout: object = None, level: int = 10):
    """Register the layout rule of an operator; see `framework.layout_rules`."""
    return register_op_attr(op_name, "FInferCorrectLayout", infer_layout, level)


__all__ = [
    "Op",
    "OpDef",
    "OpPattern",
    "builder",
    "builders",
    "define_op",
    "get",
    "register_alter_op_layout",
    "register_convert_op_layout",
    "register_fake_quantization_to_integer",
    "register_infer_correct_layout",
    "register_legalize",
    "register_mixed_precision_conversion",
    "register_op_attr",
    "register_optional_fake_quantization_to_integer",
]
