"""Code generation for quantized networks: maps qnn operators to the native runtime.

`quantized.py` states the supported operators, and which results are exact.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab.backends.dnnl.quantized import (
    BIAS_OPS,
    INTEGERS,
    PARAMETERS,
    adds,
    arithmetic,
    array_of,
    bias_axis,
    clipped,
    is_integer,
    is_step,
)
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op
from byoc_lab.relay.ir.types import TensorType


def parameters(nodes: list[Expr]) -> set[Expr]:
    """Constants that are used only as scales, zero points and biases of quantized numbers."""
    inside: set[Expr] = set()
    outside: set[Expr] = set()
    for node in nodes:
        if not isinstance(node, Call):
            outside.update(node.parts())
            continue
        name = node.op.name if isinstance(node.op, Op) else ""
        held = PARAMETERS.get(name, ())
        if name in BIAS_OPS and is_integer(node):
            held = range(1, 2)
        for n, arg in enumerate(node.args):
            (inside if n in held else outside).add(arg)
    return {n for n in inside - outside if isinstance(n, Constant)}


def visit(builder: Any, call: Call) -> bool:
    """Write a call on quantized numbers into the graph; False if it is not such a call."""
    name = call.op.name if isinstance(call.op, Op) else ""
    emit = INTEGER_STEPS[name] if is_step(call) else EMIT.get(name)
    if emit is None:
        return False
    emit(builder, call)
    return True


def _append(builder: Any, call: Call, kind: str, operands: list[int], **attrs: Any) -> None:
    """Append an operation whose result has the axis order of its first operand."""
    ty, first = call.checked_type, builder.value_of[_data(call)]
    assert isinstance(ty, TensorType)
    if ty.dtype in INTEGERS:
        limits = np.iinfo(ty.dtype)
        attrs |= {"low": int(limits.min), "high": int(limits.max)}
    shape = builder.out.shape(first.tensor)
    assert isinstance(call.op, Op)
    name = call.op.name
    made = builder.out.op(kind, name, operands, shape, attrs, ty.dtype)
    builder.value_of[call] = type(first)(made, first.axes)


def _data(call: Call) -> Expr:
    """The data operand of a call: its first operand, without an addition of a bias."""
    data = call.args[0]
    if call.is_op("qnn.requantize") and isinstance(data, Call) and adds(data):
        return data.args[0]
    return data


def _constants(builder: Any, call: Call, first: int) -> list[int]:
    return [builder.out.constant(_flat(array_of(arg))) for arg in call.args[first:]]


def _flat(array: np.ndarray) -> np.ndarray:
    return array.reshape(()) if array.size == 1 else array.reshape(-1)


def _axis(builder: Any, call: Call, axis: int) -> int:
    """An axis of Relay's tensor as one of the graph's."""
    value = builder.value_of[_data(call)]
    axis %= max(len(builder.out.shape(value.tensor)), 1)
    return axis if value.axes is None else value.axes[axis]


def _rescale(kind: str) -> Callable[[Any, Call], None]:
    def emit(builder: Any, call: Call) -> None:
        operands = [builder.value_of[call.args[0]].tensor, *_constants(builder, call, 1)]
        axis = call.attrs.axis if call.attrs is not None else -1
        rounding = {"rounding": call.attrs.rounding} if kind == "quantize" else {}
        _append(builder, call, kind, operands, axis=_axis(builder, call, axis), **rounding)

    return emit


def _requantize(builder: Any, call: Call) -> None:
    attrs, data = call.attrs, _data(call)
    assert attrs is not None
    operands = [builder.value_of[data].tensor, *_constants(builder, call, 1)]
    axis = attrs.axis
    if data is not call.args[0]:
        added = call.args[0]
        assert isinstance(added, Call)
        along, bias = bias_axis(added), _flat(array_of(added.args[1]))
        axis = along if bias.size != 1 else axis
        operands.append(builder.out.constant(bias.astype(np.int32)))
    where, (rounding, _) = _axis(builder, call, axis), arithmetic(call)
    _append(builder, call, "requantize", operands, axis=where, rounding=rounding)


def _sum(builder: Any, call: Call) -> None:
    lhs = builder.value_of[call.args[0]]
    rhs = builder.aligned(call.args[1], lhs.axes)
    operands = [lhs.tensor, rhs, *_constants(builder, call, 2)]
    _append(builder, call, "qadd", operands, rounding=arithmetic(call)[0])


def _bias(builder: Any, call: Call) -> None:
    """Writes nothing: the bias becomes part of the qnn.requantize after it."""
    if builder.uses[call] != 1 or call not in builder.requantized:
        raise builder.refuse(call, "a bias of integers must be followed by qnn.requantize alone")


def _clip(builder: Any, call: Call) -> None:
    """Clips by narrowing the limits of the operand's producer."""
    made = _maker(builder, call)["attrs"]
    made["low"], made["high"] = clipped(call, (made["low"], made["high"]))
    builder.value_of[call] = builder.value_of[call.args[0]]


def _cast(builder: Any, call: Call) -> None:
    operand, result = call.args[0].checked_type, call.checked_type
    assert isinstance(operand, TensorType) and isinstance(result, TensorType)
    value = builder.value_of[call.args[0]]
    if operand.dtype == result.dtype:
        builder.value_of[call] = value
    elif result.dtype == "float32" or operand.dtype == "float32":
        # As in TVM's form of quantized chains. A cast truncates the fraction.
        one = builder.out.constant(np.ones((), np.float32))
        zero = builder.out.constant(np.zeros((), np.int32))
        to_real = result.dtype == "float32"
        kind, attrs = ("dequantize", {}) if to_real else ("quantize", {"rounding": "TOZERO"})
        _append(builder, call, kind, [value.tensor, one, zero], axis=-1, **attrs)
    else:
        _maker(builder, call)
        builder.out.tensors[value.tensor]["dtype"] = result.dtype
        builder.value_of[call] = value


def _maker(builder: Any, call: Call) -> dict[str, Any]:
    """The producer of a call's integer operand, which must have no other user."""
    if builder.uses[call.args[0]] != 1:
        assert isinstance(call.op, Op)
        raise builder.refuse(
            call, f"the integer operand of {call.op.name} must have no other users"
        )
    producer: dict[str, Any] = builder.out.producer(builder.value_of[call.args[0]].tensor)
    return producer


EMIT: dict[str, Callable[[Any, Call], None]] = {
    "qnn.quantize": _rescale("quantize"),
    "qnn.dequantize": _rescale("dequantize"),
    "qnn.requantize": _requantize,
    "qnn.add": _sum,
}
# Non-qnn operators on integers.
INTEGER_STEPS: dict[str, Callable[[Any, Call], None]] = {
    "add": _bias,
    "nn.bias_add": _bias,
    "clip": _clip,
    "cast": _cast,
}


def zero_point(call: Call) -> int:
    """The zero point of the data of qnn.conv2d and qnn.dense."""
    return int(array_of(call.args[2]).reshape(()))
