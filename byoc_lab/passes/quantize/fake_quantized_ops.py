"""What operators on fake-quantized tensors are in integers: rules of FakeQuantizationToInteger.

A rule `(call, types)` sees a call whose operands are integers already, and what they stand for:
`types[operand]`. It gives the call in integers and the affine type of that. `types[call]` is what
the region ends in, for operators that may choose.

Source: python/tvm/relay/transform/fake_quantization_to_integer.py of TVM 0.16. Three of its rules
compute something else, and are mended here: nn.leaky_relu is applied twice, the pad value of uint8
is cut to the range of int8, and the scales of a convolution in NHWC lie along its width.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any as AnyValue

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.quantize.qnn_tables import TABLES
from byoc_lab.relay.analysis.affine_type import AffineType, TensorAffineType, TupleAffineType
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, Tuple, describe
from byoc_lab.relay.ir.layout import Layout
from byoc_lab.relay.ir.types import TensorType, Type

RULES = "FTVMFakeQuantizationToInteger"
OPTIONAL = "FTVMOptionalFakeQuantizationToInteger"
FLOATS = ("float16", "bfloat16", "float32", "float64")
Made = tuple[Expr, AffineType]


class AffineTypes(dict[Expr, AffineType]):
    """What the integers of each expression stand for.

    float_types: what an expression was typed as before it was quantized. root: the quantize that
        the region ends in.
    """

    def __init__(self, root: Expr | None = None):
        super().__init__()
        self.root = root
        self.float_types: dict[Expr, Type] = {}

    def of_tensor(self, expr: Expr) -> TensorAffineType:
        """Raises PassError where `expr` is not known as a quantized tensor."""
        found = self.get(expr)
        if not isinstance(found, TensorAffineType):
            raise PassError(f"{describe(expr)} is no quantized tensor")
        return found

    def rank(self, expr: Expr) -> int:
        ty = self.float_types.get(expr) or expr.checked_type
        assert isinstance(ty, TensorType)
        return len(ty.shape)


QuantizationRule = Callable[[AnyValue, AffineTypes], Made]


def _rule(*names: str, table: str = RULES) -> Callable[[QuantizationRule], QuantizationRule]:
    def register(function: QuantizationRule) -> QuantizationRule:
        for name in names:
            Op.get(name).set_attr(table, function)
        return function

    return register


# Numbers -----------------------------------------------------------------------------------------


def _folded(expr: Expr) -> Expr:
    return FoldConstant().fold(expr)


def _numbers(expr: Expr) -> np.ndarray | None:
    """The numbers of what is a constant once it is folded."""
    folded = _folded(expr)
    return folded.numpy() if isinstance(folded, Constant) else None


def _close(a: Expr, b: Expr) -> bool:
    left, right = _numbers(a), _numbers(b)
    if left is None or right is None:
        return structural_equal(_folded(a), _folded(b))
    return np.allclose(left, right)


def _alike(a: TensorAffineType, b: TensorAffineType) -> bool:
    """Whether the same integers stand for the same numbers, nearly."""
    same = _close(a.scale, b.scale) and _close(a.zero_point, b.zero_point)
    return same and a.dtype == b.dtype


def _product_type(a: TensorAffineType, b: TensorAffineType, axis: int) -> TensorAffineType:
    """Of a product that is summed up in int32."""
    scale = _folded(relay.multiply(a.scale, b.scale))
    zero = _folded(relay.cast(relay.zeros_like(scale), "int32"))
    return TensorAffineType(scale, zero, "int32", axis)


def _length(vector: Expr) -> int:
    """How many scales or zero points there are."""
    numbers = _numbers(vector)
    if numbers is not None:
        return numbers.size
    ty = vector.checked_type
    assert isinstance(ty, TensorType)
    return int(np.prod(ty.concrete_shape))


def _across(vector: Expr, length: int, t: TensorAffineType, rank: int) -> Expr:
    """A number for each of `length` channels, shaped to broadcast along the axis of `t`."""
    shape = [1] * rank
    shape[t.axis] = -1
    return relay.reshape(relay.broadcast_to(vector, (length,)), shape)


def _requantized(
    x: Expr, have: TensorAffineType, want: TensorAffineType, axis: int | None = None
) -> Expr:
    return relay.qnn.op.requantize(
        x,
        have.scale,
        have.zero_point,
        want.scale,
        want.zero_point,
        axis=have.axis if axis is None else axis,
        out_dtype=want.dtype,
    )


def _quantized_constant(x: Expr, t: TensorAffineType, **options: AnyValue) -> Expr:
    """A number that somebody left unquantized. Raises PassError for what is none."""
    if not isinstance(x, Constant) or x.data.dtype not in FLOATS:
        raise PassError(f"{describe(x)} is neither quantized nor a floating-point constant")
    return relay.qnn.op.quantize(x, t.scale, t.zero_point, **options)


# Ends of a region --------------------------------------------------------------------------------


@_rule("qnn.dequantize")
def dequantize(call: AnyValue, types: AffineTypes) -> Made:
    return call.args[0], types[call]


@_rule("qnn.quantize")
def quantize(call: AnyValue, types: AffineTypes) -> Made:
    """Brings to another scale, if that is another."""
    x, scale, zero = call.args
    have = types.of_tensor(x)
    want = TensorAffineType(scale, zero, call.attrs.out_dtype, call.attrs.axis)
    if _alike(have, want):
        return x, want
    have = TensorAffineType(_folded(have.scale), _folded(have.zero_point), have.dtype, have.axis)
    return _requantized(x, have, want), want


# Operators that take integers as they are --------------------------------------------------------


@_rule(
    "reshape", "squeeze", "strided_slice", "transpose", "expand_dims", "nn.max_pool2d",
    "nn.batch_flatten", "nn.depth_to_space", "max", "min", "image.resize2d", "broadcast_to", "take",
)  # fmt: skip
def unchanged(call: AnyValue, types: AffineTypes) -> Made:
    return call, types[call.args[0]]


@_rule("topk")
def topk(call: AnyValue, types: AffineTypes) -> Made:
    if call.attrs.ret_type != "values":
        raise PassError(f"topk gives {call.attrs.ret_type}; only values can be quantized")
    return call, types[call.args[0]]


@_rule("split")
def split(call: AnyValue, types: AffineTypes) -> Made:
    cuts = call.attrs.indices_or_sections
    count = cuts if isinstance(cuts, int) else len(cuts) + 1
    return call, TupleAffineType([types.of_tensor(call.args[0])] * count)


@_rule("clip")
def clip(call: AnyValue, types: AffineTypes) -> Made:
    """The bounds are quantized: to numbers, or by channel."""
    x, bounds = call.args[0], (call.attrs.a_min, call.attrs.a_max)
    t = types.of_tensor(x)
    scale, zero = _numbers(t.scale), _numbers(t.zero_point)
    if scale is not None and zero is not None and scale.size == zero.size == 1:
        low, high = (int(b / scale.item() + zero.item()) for b in bounds)
        return relay.clip(x, low, high), t
    ends: list[Expr] = [relay.const(b) for b in bounds]
    if (length := _length(t.scale)) > 1:
        ends = [_across(e, length, t, types.rank(x)) for e in ends]
    low_end, high_end = (
        _folded(relay.qnn.op.quantize(e, _folded(t.scale), _folded(t.zero_point), t.axis, t.dtype))
        for e in ends
    )
    return relay.minimum(relay.maximum(x, low_end), high_end), t


@_rule("nn.relu")
def relu(call: AnyValue, types: AffineTypes) -> Made:
    x = call.args[0]
    t = types.of_tensor(x)
    zero = t.zero_point
    if (length := _length(t.scale)) > 1:
        zero = _across(zero, length, t, types.rank(x))
    return relay.maximum(x, _folded(relay.cast(zero, t.dtype))), t


@_rule("nn.pad")
def pad(call: AnyValue, types: AffineTypes) -> Made:
    """The pad value is quantized as the data are."""
    x, value = call.args
    t = types.of_tensor(x)
    if value not in types:
        value = _quantized_constant(value, t, out_dtype=t.dtype)
    elif (own := types.of_tensor(value)) != t:
        value = _requantized(value, own, t)
    return Call(call.op, [x, value], call.attrs), t


@_rule("mean")
def mean(call: AnyValue, types: AffineTypes) -> Made:
    x = call.args[0]
    t = types.of_tensor(x)
    return relay.cast(Call(call.op, [relay.cast(x, "int32")], call.attrs), t.dtype), t


# Pools -------------------------------------------------------------------------------------------


@_rule("nn.avg_pool2d")
def avg_pool(call: AnyValue, types: AffineTypes) -> Made:
    """Goes to the scale of the region's end if that follows, else keeps its own."""
    x, a = call.args[0], call.attrs
    t, out = types.of_tensor(x), types.of_tensor(call)
    if not _ends_region(call, types.root):
        out = t
    made = relay.qnn.op.avg_pool2d(
        x, t.scale, t.zero_point, out.scale, out.zero_point, a.pool_size, a.strides, a.padding,
        a.dilation, a.ceil_mode, a.count_include_pad, a.layout,
    )  # fmt: skip
    return made, out


def _ends_region(call: Call, root: Expr | None) -> bool:
    """Whether a pool such as `call` is what the region's quantize takes; it is, in a region
    without such a pool on its first operands.
    """
    above, node = None, root
    while isinstance(node, Call):
        if node.op is call.op and node.attrs == call.attrs:
            return above is root
        above, node = node, node.args[0] if node.args else None
    return True


@_rule("nn.adaptive_avg_pool1d", "nn.global_avg_pool2d")
def wide_pool(call: AnyValue, types: AffineTypes) -> Made:
    """In int32, in the scale of the region's end."""
    x = call.args[0]
    t, out = types.of_tensor(x), types.of_tensor(call)
    wide = TensorAffineType(out.scale, out.zero_point, "int32", out.axis)
    x = relay.cast(x, "int32") if _alike(t, out) else _requantized(x, t, wide)
    return Call(call.op, [x], call.attrs), wide


# Products ----------------------------------------------------------------------------------------


def _quantized_product(name: str, call: AnyValue, types: AffineTypes, **more: AnyValue) -> Expr:
    """qnn's operator of a product, with its attributes and `more`."""
    x, y = call.args
    a, b = types.of_tensor(x), types.of_tensor(y)
    build = getattr(relay.qnn.op, name)
    return build(x, y, a.zero_point, b.zero_point, a.scale, b.scale, **more)


@_rule("nn.conv2d", "nn.conv2d_transpose")
def convolution(call: AnyValue, types: AffineTypes) -> Made:
    a, b = (types.of_tensor(x) for x in call.args)
    attrs = {name: value for name, value in call.attrs.items() if name != "out_dtype"}
    made = _quantized_product(call.op.name.removeprefix("nn."), call, types, **attrs)
    channels = Layout(attrs["out_layout"] or attrs["data_layout"]).index_of("C")
    return made, _product_type(a, b, channels)


@_rule("nn.dense")
def dense(call: AnyValue, types: AffineTypes) -> Made:
    a, b = (types.of_tensor(x) for x in call.args)
    made = _quantized_product("dense", call, types, units=call.attrs.units)
    return made, _product_type(a, b, 1)


@_rule("nn.batch_matmul")
def batch_matmul(call: AnyValue, types: AffineTypes) -> Made:
    if (call.attrs.transpose_a, call.attrs.transpose_b) != (False, True):
        raise PassError("qnn.batch_matmul takes its second operand transposed, and only that")
    a, b = (types.of_tensor(x) for x in call.args)
    scale = _product_type(a, b, a.axis).scale
    made = _quantized_product("batch_matmul", call, types)
    return made, TensorAffineType(scale, relay.const(0), "int32", a.axis)


@_rule("nn.bias_add")
def bias_add(call: AnyValue, types: AffineTypes) -> Made:
    x, bias = call.args
    t = types.of_tensor(x)
    if bias not in types:
        bias = _quantized_constant(bias, t, axis=0, out_dtype=t.dtype)
    elif not _alike(t, own := types.of_tensor(bias)):
        scale, zero = _folded(t.scale), _folded(t.zero_point)
        bias = _requantized(bias, own, TensorAffineType(scale, zero, t.dtype), axis=0)
    return Call(call.op, [x, bias], call.attrs), t


# Several operands --------------------------------------------------------------------------------


@_rule("concatenate")
def concatenate(call: AnyValue, types: AffineTypes) -> Made:
    whole, out = types[call.args[0]], types.of_tensor(call)
    assert isinstance(whole, TupleAffineType)
    scales, zeros = (Tuple([getattr(t, n) for t in whole.types]) for n in ("scale", "zero_point"))
    made = relay.qnn.op.concatenate(
        call.args[0], scales, zeros, out.scale, out.zero_point, axis=call.attrs.axis
    )
    return made, out


def _pair(call: Call, types: AffineTypes) -> tuple[list[Expr], list[TensorAffineType]]:
    """Both operands, quantized, and their types and that of the result."""
    sides = list(call.args)
    known = [types.of_tensor(side) if side in types else None for side in sides]
    for n in (0, 1):
        other = known[1 - n]
        if known[n] is None and other is not None:
            sides[n] = _quantized_constant(sides[n], other, out_dtype=other.dtype)
    left, right = (known[0] or known[1]), (known[1] or known[0])
    if left is None or right is None:
        raise PassError(f"neither operand of {call.op_name} is quantized")
    out = types.of_tensor(call)
    return sides, [left, right, out if left.dtype == out.dtype else left]


@_rule("add", "multiply", "subtract")
def arithmetic(call: AnyValue, types: AffineTypes) -> Made:
    """qnn's operator; of int32 in one scale, such as a bias after a convolution, a plain sum."""
    sides, (left, right, out) = _pair(call, types)
    if call.is_op("add") and left.dtype == "int32" and _alike(left, right):
        zero = _numbers(out.zero_point)
        target = TensorAffineType(out.scale, out.zero_point, left.dtype)
        if _alike(left, target) and zero is not None and not zero.any():
            return relay.add(*sides), left
    for what, number in (("scale", out.scale), ("zero point", out.zero_point)):
        if not isinstance(number, Constant) or number.data.shape:
            raise PassError(f"the {what} that {call.op_name} gives must be a single number")
    build = getattr(relay.qnn.op, {"multiply": "mul"}.get(call.op.name, call.op.name))
    parts = [x for t in (left, right, out) for x in (t.scale, t.zero_point)]
    return build(*sides, *parts, left.axis, right.axis), out


@_rule("minimum", "maximum")
def extreme(call: AnyValue, types: AffineTypes) -> Made:
    """In the scale of the result."""
    sides, (left, right, out) = _pair(call, types)
    pairs: Sequence[tuple[Expr, TensorAffineType]] = list(zip(sides, (left, right), strict=True))
    return Call(call.op, [x if t == out else _requantized(x, t, out) for x, t in pairs]), out


# Functions ---------------------------------------------------------------------------------------


@_rule(*(name for name in TABLES if name != "hardswish"))  # which has no operator of floats
def function(call: AnyValue, types: AffineTypes) -> Made:
    return _by_qnn(call, types)


@_rule("nn.leaky_relu")
def leaky_relu(call: AnyValue, types: AffineTypes) -> Made:
    x, out = call.args[0], types.of_tensor(call)
    t = types.of_tensor(x)
    parts = (t.scale, t.zero_point, out.scale, out.zero_point)
    return relay.qnn.op.leaky_relu(x, call.attrs.alpha, *parts), out


@_rule("nn.softmax", table=OPTIONAL)
def softmax(call: AnyValue, types: AffineTypes) -> Made:
    return _by_qnn(call, types, axis=call.attrs.axis)


def _by_qnn(call: AnyValue, types: AffineTypes, **options: AnyValue) -> Made:
    x, out = call.args[0], types.of_tensor(call)
    t = types.of_tensor(x)
    build = getattr(relay.qnn.op, call.op.name.removeprefix("nn."))
    return build(x, t.scale, t.zero_point, out.scale, out.zero_point, **options), out
