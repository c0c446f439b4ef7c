"""CUTLASS: matrix products and NHWC convolutions for tensor cores, fused with the operators after
them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

from byoc_lab.backends.registry import Entry, Predicate, Refused, register
from byoc_lab.compat.integrations.matched import check_root, has_attributes, root_of, with_params
from byoc_lab.errors import InputError, UnknownAttributeError, UnknownNameError
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, PassContext, Sequential
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import DFPattern, is_constant, is_op, wildcard

NAME = "cutlass"
CONVOLUTION = "nn.conv2d"
ACTIVATIONS = ("hardswish", "silu", "relu", "sigmoid")  # that follow a bias
BYTES = ("int8", "uint8")


# Fused patterns -----------------------------------------------------------------------------------


def _product(operator: str) -> DFPattern:
    return is_op(operator)(wildcard(), wildcard())


def _biased(product: DFPattern) -> DFPattern:
    return (is_op("add") | is_op("nn.bias_add"))(product, wildcard())


def make_gelu_pattern(bias_out: DFPattern, out_dtype: str = "float16") -> DFPattern:
    """x (0.5 erf(x / sqrt(2)) + 0.5) with any constants; in float16, erf is computed in float32."""
    scaled = is_op("multiply")(bias_out, _number())
    if out_dtype == "float16":
        erf = is_op("cast")(is_op("erf")(is_op("cast")(scaled)))
    else:
        erf = is_op("erf")(scaled)
    gate = is_op("add")(is_op("multiply")(erf, _number()), _number())
    return is_op("multiply")(gate, bias_out)


def _number() -> DFPattern:
    """Any operand; a constant becomes part of the composite function, which `wildcard` alone does
    not allow."""
    return is_constant() | wildcard()


def make_gemm_pattern(
    with_bias: bool = True, with_act: str | None = None, out_dtype: str = "float16"
) -> DFPattern:
    """nn.dense, a bias added to it, and "relu" or "gelu". Raises UnknownNameError for other
    activations."""
    found = _product("nn.dense")
    if with_bias:
        found = _biased(found)
    if with_act == "gelu":
        return make_gelu_pattern(found, out_dtype)
    if with_act == "relu":
        return is_op("nn.relu")(found)
    if with_act is None:
        return found
    raise UnknownNameError(
        f'CUTLASS fuses "relu" and "gelu" with a dense layer, found {with_act!r}'
    )


def make_batch_matmul_pattern() -> DFPattern:
    return _product("nn.batch_matmul")


def make_conv2d_pattern(with_bias: bool = False, with_act: str | None = None) -> DFPattern:
    """A convolution, a bias, and one of `ACTIVATIONS`. Raises UnknownNameError for other
    activations."""
    found = _product(CONVOLUTION)
    if with_bias:
        found = _biased(found)
    if with_act is None:
        return found
    if with_act == "relu":
        return is_op("nn.relu")(found)
    if with_act == "sigmoid":
        return is_op("sigmoid")(found)
    if with_act == "silu":
        return is_op("multiply")(found, is_op("sigmoid")(found))
    if with_act == "hardswish":
        gate = is_op("clip")(is_op("add")(found, is_constant()))
        return is_op("multiply")(found, is_op("divide")(gate, is_constant()))
    raise UnknownNameError(
        f"CUTLASS fuses {', '.join(ACTIVATIONS)} with a convolution, found {with_act!r}"
    )


def make_conv2d_transpose_pattern() -> DFPattern:
    return _product("nn.conv2d_transpose")


def make_residual_block_pattern(
    tensor_op_out: DFPattern, binary_op: str = "add", with_act: str | None = "relu"
) -> DFPattern:
    """`tensor_op_out` plus or times another tensor, then relu if `with_act` is "relu"."""
    other = wildcard()
    found = is_op(binary_op)(tensor_op_out, other) | is_op(binary_op)(other, tensor_op_out)
    return is_op("nn.relu")(found) if with_act == "relu" else found


# Supported calls ---------------------------------------------------------------------------------


def check_dtype(lhs: Any, rhs: Any) -> bool | Refused:
    """Whether CUTLASS multiplies tensors of these two types: the same float type, or both 8-bit."""
    for dtypes in (("float16",), ("float32",), BYTES):
        if lhs.dtype in dtypes and rhs.dtype in dtypes:
            return True
    return Refused(
        f"the operands must both be float16, both float32 or both of 8 bits, found {lhs.dtype} "
        f"and {rhs.dtype}"
    )


def _dtypes_fit(call: Call) -> bool | Refused:
    return check_dtype(call.args[0].checked_type, call.args[1].checked_type)


def check_gemm(match: Call) -> bool | Refused:
    """Whether CUTLASS supports a dense layer fused with the operators after it."""
    return check_root(match, "nn.dense", _dtypes_fit)


def check_batch_matmul(match: Call) -> bool | Refused:
    """Whether CUTLASS supports a batched product: the rows of the first operand by the rows of the
    second."""
    return has_attributes(match, transpose_a=False, transpose_b=True) and _dtypes_fit(match)


def _check_conv(match: Call, operator: str, kernel_layout: str) -> bool | Refused:
    return check_root(match, operator, partial(_conv_fits, kernel_layout=kernel_layout))


def _conv_fits(conv: Call, kernel_layout: str) -> bool | Refused:
    answer = has_attributes(conv, data_layout="NHWC", kernel_layout=kernel_layout)
    if not answer:
        return answer
    data, weight = (arg.checked_type.shape for arg in conv.args)
    if data[3] == weight[0] == conv.attrs.groups:
        return Refused("a convolution must not be depthwise")
    return _dtypes_fit(conv)


def check_conv2d(match: Call) -> bool | Refused:
    """Whether CUTLASS supports a convolution (NHWC data, OHWI weight) fused with the operators
    after it."""
    return _check_conv(match, CONVOLUTION, "OHWI")


def check_conv2d_transpose(match: Call) -> bool | Refused:
    """Whether CUTLASS supports a transposed convolution: the gradient of a convolution with respect
    to its data."""
    return _check_conv(match, "nn.conv2d_transpose", "IHWO")


def _root(expr: Expr, operator: str) -> Call | None:
    """The first call of `operator` on the path of first operands.

    Raises UnknownAttributeError and InputError if TVM 0.16 raises AttributeError and IndexError:
    TVM's check reads the name of each callee and the first argument of each call.
    """
    while isinstance(expr, Call):
        if not isinstance(expr.op, Op):
            name = expr.op.attrs.get("Composite") if isinstance(expr.op, Function) else None
            made = f" It is the composite {name}." if name else ""
            raise UnknownAttributeError(
                f"{type(expr.op).__name__!r} object has no attribute 'name': the check looks for "
                f"{operator} but found a call of a function.{made} TVM 0.16 raises here, too"
            )
        if expr.is_op(operator):
            return expr
        if not expr.args:
            raise InputError(
                f"the check looks for {operator} but found {expr.op.name}, which has no arguments. "
                f"TVM 0.16 raises an IndexError here"
            )
        expr = expr.args[0]
    return None


def check_conv2d_residual(match: Call, binary_op: str) -> bool | Refused:
    """Whether CUTLASS supports a residual block: the other tensor has the shape of the
    convolution's result and does not depend on the convolution (unlike the two factors of silu).

    As in TVM 0.16, it raises an error if the path of first operands reaches, before a convolution,
    a call of a composite that an earlier table entry created, or a call without arguments.
    """
    conv = _root(match, CONVOLUTION)
    answer = check_conv2d(match)
    if not answer:
        return answer
    joined = root_of(match, binary_op)
    assert joined is not None
    if all(_root(side, CONVOLUTION) is conv for side in joined.args):
        return Refused("the other operand depends on the convolution itself")
    shapes = [side.checked_type.shape for side in joined.args]
    if any(a != b for a, b in zip(*shapes, strict=False)):
        return Refused(f"both operands must be of one shape, found {shapes}")
    return True


def pattern_table() -> list[Entry]:
    """(name, pattern, check) of each pattern that CUTLASS supports; a residual block comes before
    the patterns that it contains."""
    biased = {f"conv2d_bias_{a}": make_conv2d_pattern(True, a) for a in ACTIVATIONS}
    biased["conv2d_bias"] = make_conv2d_pattern(True)
    blocks = [
        (
            f"{NAME}.{name}_residual_{joins}{'_relu' if activation else ''}",
            make_residual_block_pattern(pattern, joins, activation),
            partial(check_conv2d_residual, binary_op=joins),
        )
        for activation in ("relu", None)
        for name, pattern in biased.items()
        for joins in ("add", "multiply")
    ]
    products: dict[str, tuple[DFPattern, Predicate]] = {
        "dense_bias_gelu_fp16": (make_gemm_pattern(True, "gelu"), check_gemm),
        "dense_bias_gelu_fp32": (make_gemm_pattern(True, "gelu", "float32"), check_gemm),
        "dense_bias_relu": (make_gemm_pattern(True, "relu"), check_gemm),
        "dense_bias": (make_gemm_pattern(True), check_gemm),
        "dense": (make_gemm_pattern(False), check_gemm),
        "batch_matmul": (make_batch_matmul_pattern(), check_batch_matmul),
        **{name: (pattern, check_conv2d) for name, pattern in biased.items()},
        "conv2d": (make_conv2d_pattern(), check_conv2d),
        "conv2d_transpose": (make_conv2d_transpose_pattern(), check_conv2d_transpose),
    }
    return [*blocks, *((f"{NAME}.{name}", *entry) for name, entry in products.items())]


def pipeline() -> list[Pass]:
    """The passes of `partition_for_cutlass` after the folding of batch norms: every match becomes a
    separate region; constants are passed as arguments."""
    return [
        InferType(),
        MergeComposite(pattern_table()),
        AnnotateTarget(NAME, include_non_call_ops=False),
        PartitionGraph(bind_constants=False),
    ]


def partition_for_cutlass(mod: IRModule, params: Mapping[str, Any] | None = None) -> IRModule:
    """Move the operators that CUTLASS supports into external functions.

    If `params` is given, even an empty mapping, the params are bound into @main and batch norms are
    folded into the weights first.
    """
    if params is not None:
        fold = [InferType(), SimplifyInference(), FoldConstant(), FoldScaleAxis()]
        with PassContext(opt_level=3):
            mod = Sequential(fold, name="fold_batch_norms")(with_params(mod, params))
    return Sequential(pipeline(), name="partition_for_cutlass")(mod)


register(NAME, patterns=pattern_table, pipeline=pipeline)
