"""Arm Compute Library: float32 and 8-bit operators in NHWC, one image at a time."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

from byoc_lab.backends.registry import Entry, Predicate, Refused, register
from byoc_lab.compat.integrations.matched import (
    check_root,
    has_attributes,
    is_tensor_of,
    with_params,
    words,
)
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, Sequential
from byoc_lab.passes.layout.convert_layout import ConvertLayout, is_depthwise
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Expr, Op, const
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.contrib import register_optimizer
from byoc_lab.relay.patterns import DFPattern, is_constant, is_expr, is_op, is_tuple, wildcard

NAME = "arm_compute_lib"
FLOAT = ("float32",)
BYTES = ("uint8", "int8")
CONVOLUTIONS = ("nn.conv2d", "qnn.conv2d")


def is_arm_compute_runtime_enabled() -> bool:
    """Whether the library can run here: always False, because byoc_lab only partitions for it."""
    return False


# Supported calls ---------------------------------------------------------------------------------


def is_per_channel_quantization(zero_point: Expr, scale: Expr) -> bool:
    """Whether a scale or zero point has more than one element."""
    shapes = [e.checked_type.shape for e in (zero_point, scale)]
    return any(len(shape) != 0 and shape[0] != 1 for shape in shapes)


def _are_single(call: Call, *pairs: tuple[int, int]) -> bool | Refused:
    """Whether each (zero point, scale), given by argument indices, is a scalar."""
    if any(is_per_channel_quantization(call.args[z], call.args[s]) for z, s in pairs):
        return Refused("scales and zero points must be single numbers, not one for each channel")
    return True


def conv2d(call: Call) -> bool | Refused:
    """Whether ACL supports a convolution."""
    return _takes_conv(call, FLOAT, ("float32", ""))


def qnn_conv2d(call: Call) -> bool | Refused:
    """Whether ACL supports a quantized convolution."""
    return _takes_conv(call, BYTES, ("int32", "")) and _are_single(call, (2, 4), (3, 5))


def _takes_conv(call: Call, dtypes: Collection[str], results: tuple[str, ...]) -> bool | Refused:
    answer = (
        has_attributes(call, data_layout="NHWC", out_dtype=results)
        and is_tensor_of(call.args[0], dtypes, ranks=(4,))
        and is_tensor_of(call.args[1], dtypes, ranks=(4,))
    )
    if not answer:
        return answer
    types: list[Any] = [arg.checked_type for arg in call.args[:2]]
    if types[0].shape[0] != 1:
        return Refused(f"there must be one image, found {types[0]}")
    if is_depthwise(call.attrs, types):
        return depthwise_conv2d(call.attrs, call.args)
    return has_attributes(call, groups=1)


def depthwise_conv2d(attrs: Any, args: Sequence[Expr]) -> bool | Refused:
    """Whether ACL supports a depthwise convolution, whose kernel shape begins with height and
    width."""
    kernel = args[1].checked_type.shape
    if kernel[0] != kernel[1] or kernel[0] not in (3, 5):
        return Refused(f"a depthwise kernel must be 3 by 3 or 5 by 5, found {kernel}")
    if tuple(attrs.strides) not in ((1, 1), (2, 2)):
        return Refused(f"its strides must be (1, 1) or (2, 2), found {attrs.strides}")
    return True


def dense(call: Call) -> bool | Refused:
    """Whether ACL supports a dense layer."""
    return (
        is_tensor_of(call.args[0], FLOAT)
        and is_tensor_of(call.args[1], FLOAT, ranks=(2,))
        and has_attributes(call, out_dtype=("float32", ""))
    )


def qnn_dense(call: Call) -> bool | Refused:
    """Whether ACL supports a quantized dense layer."""
    return (
        is_tensor_of(call.args[0], BYTES)
        and is_tensor_of(call.args[1], BYTES, ranks=(2,))
        and has_attributes(call, out_dtype="int32")
        and _are_single(call, (2, 4), (3, 5))
    )


def max_pool2d(call: Call) -> bool | Refused:
    return _takes_pool(call, (*FLOAT, *BYTES))


def avg_pool2d(call: Call, from_quantized_composite: bool = False) -> bool | Refused:
    """Whether ACL supports an average pool: of float32, or of int32 between two casts of 8-bit
    tensors."""
    return _takes_pool(call, ("int32",) if from_quantized_composite else FLOAT)


def global_max_pool2d(call: Call) -> bool | Refused:
    return _takes_pool(call, (*FLOAT, *BYTES))


def global_avg_pool2d(call: Call) -> bool | Refused:
    return _takes_pool(call, FLOAT)


def _takes_pool(call: Call, dtypes: Collection[str]) -> bool | Refused:
    # Global pools have no dilation.
    dilation = {"dilation": ((1, 1),)} if "dilation" in call.attrs else {}
    return is_tensor_of(call.args[0], dtypes) and has_attributes(call, layout="NHWC", **dilation)


def maximum(call: Call) -> bool | Refused:
    return is_tensor_of(call.args[0], FLOAT)


def add(call: Call) -> bool | Refused:
    return is_tensor_of(call.args[0], FLOAT) and is_tensor_of(call.args[1], FLOAT)


def qnn_add(call: Call) -> bool | Refused:
    """Whether ACL supports a quantized addition."""
    return (
        is_tensor_of(call.args[0], BYTES)
        and is_tensor_of(call.args[1], BYTES)
        and _are_single(call, (3, 2), (5, 4), (7, 6))
    )


# Fused patterns -----------------------------------------------------------------------------------


def _conv_pattern() -> DFPattern:
    found = is_op("nn.conv2d")(_padded(), is_constant())
    return _with_bias(found).optional(is_op("nn.relu"))


def _qnn_conv_pattern() -> DFPattern:
    found = is_op("qnn.conv2d")(_padded(), *_constants(5))
    return _requantized(_with_bias(found).optional(is_op("nn.relu")))


def _qnn_dense_pattern() -> DFPattern:
    return _requantized(_with_bias(is_op("qnn.dense")(wildcard(), *_constants(5))))


def _avg_pool2d_pattern() -> DFPattern:
    wide = is_op("cast")(wildcard())
    return is_op("cast")(is_op("nn.avg_pool2d")(wide) | is_op("nn.global_avg_pool2d")(wide))


def _l2_pool2d_pattern() -> DFPattern:
    squared = is_op("power")(wildcard(), is_expr(const(2.0)))
    return is_op("sqrt")(is_op("nn.avg_pool2d")(squared))


def _padded() -> DFPattern:
    return is_op("nn.pad")(wildcard(), wildcard()) | wildcard()


def _constants(count: int) -> list[DFPattern]:
    return [is_constant() for _ in range(count)]


def _with_bias(product: DFPattern) -> DFPattern:
    return product.optional(lambda x: is_op("nn.bias_add")(x, is_constant()))


def _requantized(sums: DFPattern) -> DFPattern:
    return is_op("qnn.requantize")(sums, wildcard(), wildcard(), *_constants(2))


def _check_requantized(match: Call, operator: str, check: Predicate) -> bool | Refused:
    return has_attributes(match, out_dtype=BYTES) and check_root(match, operator, check)


def _check_avg_pool2d(match: Call) -> bool | Refused:
    pool: Any = match.args[0]
    return (
        has_attributes(match, dtype=BYTES)
        and has_attributes(pool.args[0], dtype="int32")
        and avg_pool2d(pool, from_quantized_composite=True)
    )


def _check_concatenate(match: Call, disabled_ops: Collection[str]) -> bool | Refused:
    if "concatenate" in disabled_ops:
        return Refused("concatenate is among the disabled operators")
    for ty in match.args[0].checked_type.fields:
        if ty.dtype not in (*FLOAT, *BYTES):
            return Refused(f"the dtype must be {words((*FLOAT, *BYTES))}, found {ty}")
    return has_attributes(match, axis=tuple(range(-4, 4)))


def arm_compute_lib_pattern_table(disabled_ops: Collection[str] = ("concatenate",)) -> list[Entry]:
    """(name, pattern, check) of each pattern that ACL fuses, including "concatenate" unless it is
    disabled."""
    entries: dict[str, tuple[DFPattern, Predicate]] = {
        "conv2d": (_conv_pattern(), lambda m: check_root(m, "nn.conv2d", conv2d)),
        "qnn_conv2d": (
            _qnn_conv_pattern(),
            lambda m: _check_requantized(m, "qnn.conv2d", qnn_conv2d),
        ),
        "dense": (
            _with_bias(is_op("nn.dense")(wildcard(), is_constant())),
            lambda m: check_root(m, "nn.dense", dense),
        ),
        "qnn_dense": (
            _qnn_dense_pattern(),
            lambda m: _check_requantized(m, "qnn.dense", qnn_dense),
        ),
        "avg_pool2d": (_avg_pool2d_pattern(), _check_avg_pool2d),
        "l2_pool2d": (_l2_pool2d_pattern(), lambda m: check_root(m, "nn.avg_pool2d", avg_pool2d)),
        "concatenate": (
            is_op("concatenate")(is_tuple(None)),
            partial(_check_concatenate, disabled_ops=disabled_ops),
        ),
    }
    return [(f"{NAME}.{name}", *entry) for name, entry in entries.items()]


# The passes ---------------------------------------------------------------------------------------


def pipeline(disabled_ops: Collection[str] = ("concatenate",)) -> list[Pass]:
    """The passes of `partition_for_arm_compute_lib`: every match becomes a separate region."""
    return [
        InferType(),
        MergeComposite(arm_compute_lib_pattern_table(disabled_ops)),
        AnnotateTarget(NAME, include_non_call_ops=False),
        PartitionGraph(),
    ]


def partition_for_arm_compute_lib(
    mod: IRModule,
    params: Mapping[str, Any] | None = None,
    disabled_ops: Collection[str] = ("concatenate",),
    **opts: Any,
) -> IRModule:
    """Move the operators that ACL supports into external functions; `params` are bound into @main
    first.

    disabled_ops: "concatenate" stays outside unless this is empty. opts: ignored, as in TVM, whose
    command line passes the same options to every integration.
    """
    passes = pipeline(disabled_ops)
    return Sequential(passes, name="partition_for_arm_compute_lib")(with_params(mod, params))


def preprocess_module(mod: IRModule) -> IRModule:
    """Convert the weights of convolutions to the layouts that ACL reads: OHWI, or IHWO for
    depthwise convolutions.

    PartitionGraph applies this to every external function for ACL. ConvertLayout has level 3: a
    Sequential skips it at lower levels.
    """
    wanted = {operator: ["NHWC", "OHWI"] for operator in CONVOLUTIONS}
    with _converting():
        return Sequential([ConvertLayout(wanted), FoldConstant()])(mod)


@contextmanager
def _converting() -> Iterator[None]:
    """Within this context, ConvertLayout uses ACL's layout rule."""
    key = "FTVMConvertOpLayout"
    before = {op: op.get_attr(key) for op in map(Op.get, CONVOLUTIONS)}
    try:
        for op in before:
            op.reset_attr(key)
            op.set_attr(key, partial(_convert_conv, op))
        yield
    finally:
        for op, rule in before.items():
            op.reset_attr(key)
            op.set_attr(key, rule)


def _convert_conv(
    op: Op, attrs: Attrs, args: Sequence[Expr], types: Sequence[Any], wanted: Sequence[str]
) -> Call:
    data, kernel = wanted
    if is_depthwise(attrs, types):
        kernel = kernel[3] + kernel[1:3] + kernel[0]
    return Call(op, args, attrs.replace(data_layout=data, kernel_layout=kernel))


register(
    NAME,
    patterns=arm_compute_lib_pattern_table,
    supports={
        "reshape": lambda call: True,
        "nn.conv2d": conv2d,
        "nn.dense": dense,
        "nn.max_pool2d": max_pool2d,
        "nn.avg_pool2d": avg_pool2d,
        "nn.global_max_pool2d": global_max_pool2d,
        "nn.global_avg_pool2d": global_avg_pool2d,
        "maximum": maximum,
        "add": add,
        "qnn.add": qnn_add,
    },
    pipeline=pipeline,
)
register_optimizer(NAME, preprocess_module)
