"""Rules of FakeQuantizationToInteger: operators on fake-quantized tensors, in integers.

A rule `(call, types)` gets a call whose operands are already integers; `types[operand]` is their
affine type. It returns the call in integers and its affine type. `types[call]` is the type at the
end of the region, for operators that can produce any type. An operator's definition selects its
rule (`fake_quantized`).

Source: python/tvm/relay/transform/fake_quantization_to_integer.py of TVM 0.16. Four bugs of TVM are
fixed here: nn.leaky_relu is applied twice, the pad value of uint8 is clipped to the range of int8,
the scales of a convolution in NHWC lie along its width, and a tensor that is dequantized with two
scales gets one of them. If the quantize at the end of a region rounds halves to even (which TVM
does not support), all changes of scale in the region do.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any as AnyValue
from typing import TypeVar

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.passes.fold.fold_constant import folded
from byoc_lab.passes.quantize.affine_types import (
    AffineTypes,
    across_channels,
    length_of,
    numbers_of,
    product_type,
    quantized,
    quantized_constant,
    requantized,
    same_quantization,
)
from byoc_lab.relay.analysis.affine_type import AffineType, TensorAffineType, TupleAffineType
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Tuple, TupleGetItem
from byoc_lab.relay.ir.layout import Layout
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.qnn.requantize_config import TOEVEN

Result = tuple[Expr, AffineType]
QuantizationRule = Callable[[AnyValue, AffineTypes], Result]
R = TypeVar("R", bound=QuantizationRule)
RULES: dict[FakeQuantized, QuantizationRule] = {}
"""The rule for each value of `fake_quantized` in operator definitions."""


def _rule(kind: FakeQuantized) -> Callable[[R], R]:
    def register(function: R) -> R:
        RULES[kind] = function
        return function

    return register


# Ends of a region --------------------------------------------------------------------------------


@_rule(FakeQuantized.DEQUANTIZE)
def dequantize(call: AnyValue, types: AffineTypes) -> Result:
    """The integers; a copy if they are also dequantized with a different type."""
    x = call.args[0]
    known = types.get(x)
    if isinstance(known, TensorAffineType) and not same_quantization(known, types.of_tensor(call)):
        x = relay.copy(x)
    return x, types[call]


@_rule(FakeQuantized.QUANTIZE)
def quantize(call: AnyValue, types: AffineTypes) -> Result:
    """The operand, requantized if the end of the region has a different scale or zero point."""
    x, scale, zero = call.args
    have = types.of_tensor(x)
    want = TensorAffineType(scale, zero, call.attrs.out_dtype, call.attrs.axis)
    if same_quantization(have, want):
        return x, want
    have = TensorAffineType(folded(have.scale), folded(have.zero_point), have.dtype, have.axis)
    return requantized(x, have, want, types.rounding), want


# Operators that compute the same on integers -----------------------------------------------------


@_rule(FakeQuantized.SAME)
def unchanged(call: AnyValue, types: AffineTypes) -> Result:
    return call, types[call.args[0]]


@_rule(FakeQuantized.TOPK)
def topk(call: AnyValue, types: AffineTypes) -> Result:
    if call.attrs.ret_type != "values":
        raise PassError(f"topk returns {call.attrs.ret_type}; only values can be quantized")
    return call, types[call.args[0]]


@_rule(FakeQuantized.SPLIT)
def split(call: AnyValue, types: AffineTypes) -> Result:
    cuts = call.attrs.indices_or_sections
    count = cuts if isinstance(cuts, int) else len(cuts) + 1
    return call, TupleAffineType([types.of_tensor(call.args[0])] * count)


@_rule(FakeQuantized.CLIP)
def clip(call: AnyValue, types: AffineTypes) -> Result:
    """The bounds are quantized like the data: to one number, or one number per channel."""
    x, bounds = call.args[0], (call.attrs.a_min, call.attrs.a_max)
    t = types.of_tensor(x)
    scale, zero = numbers_of(t.scale), numbers_of(t.zero_point)
    if scale is not None and zero is not None and scale.size == zero.size == 1:
        low, high = (b / scale.item() + zero.item() for b in bounds)
        whole = round if types.rounding == TOEVEN else int
        return relay.clip(x, whole(low), whole(high)), t
    ends: list[Expr] = [relay.const(b) for b in bounds]
    if (length := length_of(t.scale)) > 1:
        ends = [across_channels(e, length, t, types.rank(x)) for e in ends]
    known = TensorAffineType(folded(t.scale), folded(t.zero_point), t.dtype, t.axis)
    low_end, high_end = (
        folded(quantized(e, known, types.rounding, axis=t.axis, out_dtype=t.dtype)) for e in ends
    )
    return relay.minimum(relay.maximum(x, low_end), high_end), t


@_rule(FakeQuantized.RELU)
def relu(call: AnyValue, types: AffineTypes) -> Result:
    x = call.args[0]
    t = types.of_tensor(x)
    zero = t.zero_point
    if (length := length_of(t.scale)) > 1:
        zero = across_channels(zero, length, t, types.rank(x))
    return relay.maximum(x, folded(relay.cast(zero, t.dtype))), t


@_rule(FakeQuantized.PAD)
def pad(call: AnyValue, types: AffineTypes) -> Result:
    """The pad value is quantized like the data."""
    x, value = call.args
    t = types.of_tensor(x)
    if value not in types:
        value = quantized_constant(value, t, types.rounding, out_dtype=t.dtype)
    elif (own := types.of_tensor(value)) != t:
        value = requantized(value, own, t, types.rounding)
    return Call(call.op, [x, value], call.attrs), t


@_rule(FakeQuantized.MEAN)
def mean(call: AnyValue, types: AffineTypes) -> Result:
    x = call.args[0]
    t = types.of_tensor(x)
    return relay.cast(Call(call.op, [relay.cast(x, "int32")], call.attrs), t.dtype), t


# Pools -------------------------------------------------------------------------------------------


@_rule(FakeQuantized.POOL)
def avg_pool(call: AnyValue, types: AffineTypes) -> Result:
    """The result has the scale of the region's end if the next node is that end, else the scale of
    x."""
    x, a = call.args[0], call.attrs
    t, out = types.of_tensor(x), types.of_tensor(call)
    if not _ends_region(call, types.root):
        out = t
    if types.rounding == TOEVEN:
        return _by_reals(call, types, out)
    made = relay.qnn.op.avg_pool2d(
        x, t.scale, t.zero_point, out.scale, out.zero_point, a.pool_size, a.strides, a.padding,
        a.dilation, a.ceil_mode, a.count_include_pad, a.layout,
    )  # fmt: skip
    return made, out


def _ends_region(call: Call, root: Expr | None) -> bool:
    """Whether a pool with the attributes of `call` is the operand of the region's quantize. Also
    True if there is no such pool on the path along first operands."""
    above, node = None, root
    while isinstance(node, Call):
        if node.op is call.op and node.attrs == call.attrs:
            return above is root
        above, node = node, node.args[0] if node.args else None
    return True


@_rule(FakeQuantized.WIDE_POOL)
def wide_pool(call: AnyValue, types: AffineTypes) -> Result:
    """The pool is computed in int32, with the scale of the region's end."""
    x = call.args[0]
    t, out = types.of_tensor(x), types.of_tensor(call)
    wide = TensorAffineType(out.scale, out.zero_point, "int32", out.axis)
    same = same_quantization(t, out)
    x = relay.cast(x, "int32") if same else requantized(x, t, wide, types.rounding)
    return Call(call.op, [x], call.attrs), wide


# Products ----------------------------------------------------------------------------------------


def _product(
    call: AnyValue, types: AffineTypes, axis: int | None = None, **more: AnyValue
) -> tuple[Expr, TensorAffineType]:
    """The qnn operator of a product. axis: the axis of its result's scales; by default the axis of
    the data's scales."""
    x, y = call.args
    a, b = types.of_tensor(x), types.of_tensor(y)
    build = getattr(relay.qnn.op, call.op.name.removeprefix("nn."))
    made = build(x, y, a.zero_point, b.zero_point, a.scale, b.scale, **more)
    return made, product_type(a, b, a.axis if axis is None else axis)


@_rule(FakeQuantized.CONVOLUTION)
def convolution(call: AnyValue, types: AffineTypes) -> Result:
    attrs = {name: value for name, value in call.attrs.items() if name != "out_dtype"}
    channels = Layout(attrs["out_layout"] or attrs["data_layout"]).index_of("C")
    return _product(call, types, channels, **attrs)


@_rule(FakeQuantized.DENSE)
def dense(call: AnyValue, types: AffineTypes) -> Result:
    return _product(call, types, 1, units=call.attrs.units)


@_rule(FakeQuantized.BATCH_MATMUL)
def batch_matmul(call: AnyValue, types: AffineTypes) -> Result:
    if (call.attrs.transpose_a, call.attrs.transpose_b) != (False, True):
        raise PassError("qnn.batch_matmul needs transpose_a=False, transpose_b=True")
    made, product = _product(call, types)
    return made, TensorAffineType(product.scale, relay.const(0), "int32", product.axis)


@_rule(FakeQuantized.BIAS)
def bias_add(call: AnyValue, types: AffineTypes) -> Result:
    x, bias = call.args
    t = types.of_tensor(x)
    if bias not in types:
        bias = quantized_constant(bias, t, types.rounding, axis=0, out_dtype=t.dtype)
    elif not same_quantization(t, own := types.of_tensor(bias)):
        scale, zero = folded(t.scale), folded(t.zero_point)
        want = TensorAffineType(scale, zero, t.dtype)
        bias = requantized(bias, own, want, types.rounding, axis=0)
    return Call(call.op, [x, bias], call.attrs), t


# Several operands --------------------------------------------------------------------------------


@_rule(FakeQuantized.JOIN)
def concatenate(call: AnyValue, types: AffineTypes) -> Result:
    whole, out = types[call.args[0]], types.of_tensor(call)
    assert isinstance(whole, TupleAffineType)
    if types.rounding == TOEVEN:
        return _joined(call, whole, out), out
    scales, zeros = (Tuple([getattr(t, n) for t in whole.types]) for n in ("scale", "zero_point"))
    made = relay.qnn.op.concatenate(
        call.args[0], scales, zeros, out.scale, out.zero_point, axis=call.attrs.axis
    )
    return made, out


def _joined(call: Call, whole: TupleAffineType, out: TensorAffineType) -> Expr:
    """Requantize each field, rounding halves to even, which qnn.concatenate does not support."""
    parts = []
    for n, own in enumerate(whole.types):
        data = call.args[0]
        field: Expr = data.fields[n] if isinstance(data, Tuple) else TupleGetItem(data, n)
        assert isinstance(own, TensorAffineType)
        parts.append(field if same_quantization(own, out) else requantized(field, own, out, TOEVEN))
    return Call(call.op, [Tuple(parts)], call.attrs)


def _pair(call: Call, types: AffineTypes) -> tuple[list[Expr], list[TensorAffineType]]:
    """Both operands, quantized; and the types of the left, the right and the result."""
    sides = list(call.args)
    known = [types.of_tensor(side) if side in types else None for side in sides]
    for n in (0, 1):
        other = known[1 - n]
        if known[n] is None and other is not None:
            sides[n] = quantized_constant(sides[n], other, types.rounding, out_dtype=other.dtype)
    left, right = (known[0] or known[1]), (known[1] or known[0])
    if left is None or right is None:
        raise PassError(f"neither operand of {call.op_name} is quantized")
    out = types.of_tensor(call)
    return sides, [left, right, out if left.dtype == out.dtype else left]


@_rule(FakeQuantized.ARITHMETIC)
def arithmetic(call: AnyValue, types: AffineTypes) -> Result:
    """The qnn operator; for an int32 sum with equal scales, such as a bias after a convolution, a
    plain add."""
    sides, (left, right, out) = _pair(call, types)
    if call.is_op("add") and left.dtype == "int32" and same_quantization(left, right):
        zero = numbers_of(out.zero_point)
        target = TensorAffineType(out.scale, out.zero_point, left.dtype)
        if same_quantization(left, target) and zero is not None and not zero.any():
            return relay.add(*sides), left
    for what, number in (("scale", out.scale), ("zero point", out.zero_point)):
        if not isinstance(number, Constant) or number.data.shape:
            raise PassError(f"the {what} of the result of {call.op_name} must be a single number")
    build = getattr(relay.qnn.op, {"multiply": "mul"}.get(call.op.name, call.op.name))
    parts = [x for t in (left, right, out) for x in (t.scale, t.zero_point)]
    return build(*sides, *parts, left.axis, right.axis, rounding=types.rounding), out


@_rule(FakeQuantized.EXTREME)
def extreme(call: AnyValue, types: AffineTypes) -> Result:
    """Both operands are requantized to the scale of the result."""
    sides, (left, right, out) = _pair(call, types)
    pairs: Sequence[tuple[Expr, TensorAffineType]] = list(zip(sides, (left, right), strict=True))
    return Call(call.op, [_scaled(x, t, out, types) for x, t in pairs]), out


def _scaled(x: Expr, t: TensorAffineType, out: TensorAffineType, types: AffineTypes) -> Expr:
    return x if t == out else requantized(x, t, out, types.rounding)


# Functions ---------------------------------------------------------------------------------------


@_rule(FakeQuantized.FUNCTION)
def function(call: AnyValue, types: AffineTypes, *own: AnyValue, **options: AnyValue) -> Result:
    """The qnn operator; own, options: its arguments before and after the scales."""
    x, out = call.args[0], types.of_tensor(call)
    if types.rounding == TOEVEN:
        return _by_reals(call, types, out)
    t = types.of_tensor(x)
    build = getattr(relay.qnn.op, call.op.name.removeprefix("nn."))
    parts = (t.scale, t.zero_point, out.scale, out.zero_point)
    return build(x, *own, *parts, **options), out


@_rule(FakeQuantized.LEAKY_RELU)
def leaky_relu(call: AnyValue, types: AffineTypes) -> Result:
    return function(call, types, call.attrs.alpha)


@_rule(FakeQuantized.SOFTMAX)
def softmax(call: AnyValue, types: AffineTypes) -> Result:
    return function(call, types, axis=call.attrs.axis)


def _by_reals(call: AnyValue, types: AffineTypes, out: TensorAffineType) -> Result:
    """The operator between a separate dequantize and quantize, because its integer form rounds
    halves away from zero, or up."""
    x, *rest = call.args
    t = types.of_tensor(x)
    real = relay.qnn.op.dequantize(x, t.scale, t.zero_point, t.axis)
    made = Call(call.op, [real, *rest], call.attrs)
    return quantized(made, out, TOEVEN, axis=out.axis, out_dtype=out.dtype), out
