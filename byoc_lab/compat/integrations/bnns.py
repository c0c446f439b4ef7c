"""BNNS, the neural network routines of Apple's Accelerate: float32, NCHW, constant weights."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from math import pi, sqrt
from typing import Any

from byoc_lab.backends.registry import Entry, Refused, register
from byoc_lab.compat.integrations.matched import (
    chain,
    check_root,
    has_attributes,
    is_tensor_of,
    with_params,
)
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, Sequential
from byoc_lab.passes.layout.alter_op_layout import AlterOpLayout
from byoc_lab.passes.simplify.dynamic_to_static import DynamicToStatic
from byoc_lab.relay.ir.expr import Call, Constant, Expr, const
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import DFPattern, is_expr, is_op, wildcard

NAME = "bnns"
FLOAT = ("float32",)
IMAGES = (3, 4)  # supported ranks: 3 for one image, 4 for a batch
ACTIVATIONS = {"none": None, "relu": "nn.relu", "sigmoid": "sigmoid"}


# Supported calls ---------------------------------------------------------------------------------


def takes_pool(call: Call) -> bool | Refused:
    """Whether BNNS supports a pool: images must be NCHW."""
    return is_tensor_of(call.args[0], FLOAT, IMAGES) and has_attributes(call, layout="NCHW")


def conv2d_check(call: Call) -> bool | Refused:
    """Whether BNNS supports a convolution: images must be NCHW, the weight constant."""
    return (
        is_tensor_of(call.args[0], FLOAT, ranks=(4,))
        and _is_constant("weight", call.args[1])
        and is_tensor_of(call.args[1], FLOAT, ranks=(4,))
        and has_attributes(call, data_layout="NCHW", out_dtype=("", "float32"))
    )


def dense(call: Call) -> bool | Refused:
    """Whether BNNS supports a dense layer: the weight must be constant."""
    return (
        is_tensor_of(call.args[0], FLOAT)
        and _is_constant("weight", call.args[1])
        and is_tensor_of(call.args[1], FLOAT, ranks=(2,))
        and has_attributes(call, out_dtype=("", "float32"))
    )


def instance_norm_check(call: Call) -> bool | Refused:
    """Whether BNNS supports an instance norm: along the channels, with constant gamma and beta."""
    rank = len(call.args[0].checked_type.shape)
    return (
        is_tensor_of(call.args[0], FLOAT, IMAGES)
        and _is_constant("gamma", call.args[1])
        and _is_constant("beta", call.args[2])
        and has_attributes(call, axis=rank - 3)
    )


def bias_check(call: Call) -> bool | Refused:
    """Whether an addition adds a constant to the channels of NCHW images."""
    answer = _is_constant("bias", call.args[1])
    if not answer:
        return answer
    if call.is_op("nn.bias_add"):
        return has_attributes(call, axis=1)
    shape = call.args[1].checked_type.shape
    if len(shape) not in IMAGES or any(d != 1 for d in (*shape[:-3], *shape[-2:])):
        return Refused(f"the bias must have a shape (c, 1, 1) or (1, c, 1, 1), found {shape}")
    return True


def _is_constant(what: str, expr: Expr) -> bool | Refused:
    return True if isinstance(expr, Constant) else Refused(f"the {what} must be a constant")


# Fused patterns -----------------------------------------------------------------------------------


def make_conv_pattern(with_bias: bool = True, activation: str = "none") -> DFPattern:
    """A convolution, a bias added to it, and an activation: "none", "relu" or "sigmoid"."""
    found: DFPattern = is_op("nn.conv2d")(wildcard(), wildcard())
    if with_bias:
        bias = wildcard()
        found = is_op("add")(found, bias) | is_op("nn.bias_add")(found, bias)
    operator = ACTIVATIONS[activation]
    return is_op(operator)(found) if operator else found


def make_dense_bias_pattern() -> DFPattern:
    """A dense layer followed by an addition."""
    return is_op("add")(is_op("nn.dense")(wildcard(), wildcard()), wildcard())


def make_dense_bias_gelu_pattern() -> DFPattern:
    """0.5 x (1 + tanh(sqrt(2 / pi) (0.044715 x^3 + x))) in exactly this form, where x is a dense
    layer with bias."""
    x = make_dense_bias_pattern()
    cubic = is_op("multiply")(is_op("power")(x, _is(3.0)), _is(0.044715))
    inner = is_op("multiply")(is_op("add")(cubic, x), _is(sqrt(2 / pi)))
    gate = is_op("add")(is_op("tanh")(inner), _is(1.0))
    return is_op("multiply")(is_op("multiply")(gate, _is(0.5)), x)


def _is(number: float) -> DFPattern:
    return is_expr(const(number, "float32"))


def check_conv(match: Call) -> bool | Refused:
    """Whether BNNS supports a convolution fused with the operators after it."""
    for call in takewhile(lambda c: not c.is_op("nn.conv2d"), chain(match)):
        if (call.is_op("add") or call.is_op("nn.bias_add")) and not (answer := bias_check(call)):
            return answer
    return check_root(match, "nn.conv2d", conv2d_check)


def check_dense(match: Call) -> bool | Refused:
    """Whether BNNS supports a dense layer fused with the operators after it."""
    return check_root(match, "nn.dense", dense)


def pattern_table() -> list[Entry]:
    """(name, pattern, check) of each pattern that BNNS fuses."""
    convolutions = [
        ("conv2d_bias_relu", make_conv_pattern(True, "relu")),
        ("conv2d_relu", make_conv_pattern(False, "relu")),
        ("conv2d_bias_sigmoid", make_conv_pattern(True, "sigmoid")),
        ("conv2d_sigmoid", make_conv_pattern(False, "sigmoid")),
        ("conv2d_bias", make_conv_pattern(True)),
    ]
    return [
        *((f"{NAME}.{name}", pattern, check_conv) for name, pattern in convolutions),
        (f"{NAME}.dense_bias_gelu", make_dense_bias_gelu_pattern(), check_dense),
        (f"{NAME}.dense_bias", make_dense_bias_pattern(), check_dense),
    ]


def pipeline() -> list[Pass]:
    """The passes of `partition_for_bnns`: every match becomes a separate region.

    FoldConstant, FoldScaleAxis and AlterOpLayout have levels 2 and 3, so a Sequential skips them
    below these: run under PassContext(opt_level=3).
    """
    return [
        InferType(),
        FoldConstant(),
        FoldScaleAxis(),
        DynamicToStatic(),
        AlterOpLayout(),
        FoldConstant(),
        MergeComposite(pattern_table()),
        AnnotateTarget(NAME),
        PartitionGraph(),
    ]


def partition_for_bnns(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """Move the operators that BNNS supports into external functions; `params` are bound into @main
    first."""
    return Sequential(pipeline(), name="partition_for_bnns")(with_params(mod, params))


POOLS = ("nn.max_pool2d", "nn.avg_pool2d", "nn.global_max_pool2d", "nn.global_avg_pool2d")
register(
    NAME,
    patterns=pattern_table,
    supports={
        "nn.batch_matmul": lambda call: True,
        **dict.fromkeys(POOLS, takes_pool),
        "nn.conv2d": conv2d_check,
        "nn.dense": dense,
        "nn.instance_norm": instance_norm_check,
    },
    pipeline=pipeline,
)
