"""`tvm.relay.qnn.op.legalizations`: the form of quantized products for a given target.

Inside `with tvm.target.Target(...)`, `relay.qnn.transform.Legalize` converts qnn.conv2d and
qnn.dense to the dtypes that the target multiplies fastest: uint8 by int8 (VNNI), two tensors of one
dtype (ARM's dot products), int8 by int8 (CUDA's dp4a), or int16 if the target has no 8-bit
instruction. Without a target, nothing is changed.

Converting between the 8-bit dtypes shifts by 128: scale * (q - zero) = scale * ((q + 128) - (zero +
128)).

Source: python/tvm/relay/qnn/op/legalizations.py of TVM 0.16. Vector zero points of the weight are
subtracted here; TVM adds them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab import relay
from byoc_lab.passes.quantize.qnn_tables import LEGALIZE
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op
from byoc_lab.relay.ir.layout import Layout
from byoc_lab.relay.ir.types import Type
from byoc_lab.run.tvm_runtime import import_tvm

FAST_INT8_ON_INTEL = ("skylake-avx512", "cascadelake")
SHIFTS = {"uint8": 128, "int8": -128}

# Takes an operator's (attributes, arguments, types, name); returns the new form, or None.
Helper = Callable[[Any, list[Expr], list[Type], Any], "Expr | None"]


def is_fast_int8_on_intel() -> bool:
    """Whether the current target multiplies uint8 by int8."""
    return _option("mcpu") in FAST_INT8_ON_INTEL


def is_fast_int8_on_arm() -> bool:
    """Whether the current target has ARM's dot products."""
    features = _option("mattr", ())
    return "+v8.2a" in features and "+dotprod" in features


def is_aarch64_arm() -> bool:
    """Whether the current target is a 64-bit ARM."""
    return "aarch64" in _option("mtriple")


def _option(name: str, otherwise: Any = "") -> Any:
    return _target(allow_none=False).attrs.get(name, otherwise)


def _target(allow_none: bool) -> Any:
    """The target of the innermost `with` block."""
    return import_tvm().target.Target.current(allow_none)


# Helpers: each converts a quantized product to a form that some hardware computes fast ------------


def helper_no_fast_int8_hw_legalization(
    attrs: Any, inputs: list[Expr], types: list[Type], relay_op: Any
) -> Expr:
    """An int16 product after subtraction of the zero points; `relay_op` builds the plain
    operator."""
    data, kernel, data_zero, kernel_zero, *_ = inputs
    return relay_op(
        relay.subtract(relay.cast(data, "int16"), relay.cast(data_zero, "int16")),
        _less_zero(kernel, kernel_zero, types[3], attrs),
        **dict(attrs.items()),
    )


def _less_zero(kernel: Expr, zero: Expr, ty: Any, attrs: Any) -> Expr:
    wide, offset = relay.cast(kernel, "int16"), relay.cast(zero, "int16")
    if not ty.shape:
        return relay.subtract(wide, offset)
    axis = Layout(attrs["kernel_layout"]).index_of("O") if "kernel_layout" in attrs else 0
    return relay.nn.bias_add(wide, relay.negative(offset), axis)


def helper_change_dtypes_to_uint8_int8(
    attrs: Any, inputs: list[Expr], types: list[Type], relay_op: Any
) -> Expr | None:
    """uint8 data and an int8 weight, for Intel's VNNI."""
    return _with_dtypes(attrs, inputs, types, relay_op, "uint8", "int8")


def helper_change_dtypes_to_int8(
    attrs: Any, inputs: list[Expr], types: list[Type], relay_op: Any
) -> Expr | None:
    """int8 data and an int8 weight, for CUDA's dp4a."""
    return _with_dtypes(attrs, inputs, types, relay_op, "int8", "int8")


def helper_change_dtypes_to_be_same(
    attrs: Any, inputs: list[Expr], types: list[Any], relay_op: Any
) -> Expr | None:
    """Data converted to the dtype of the weight, for ARM's dot products."""
    same = types[1].dtype
    return _with_dtypes(attrs, inputs, types, relay_op, same, same)


def _with_dtypes(
    attrs: Any, inputs: list[Expr], types: list[Any], relay_op: Any, data: str, kernel: str
) -> Expr | None:
    """The operator with arguments converted to these dtypes; None if they already have them."""
    if (types[0].dtype, types[1].dtype) == (data, kernel):
        return None
    moved = list(inputs)
    for n, dtype in enumerate((data, kernel)):
        if types[n].dtype != dtype:
            moved[n], moved[n + 2] = _shift(inputs[n], inputs[n + 2], dtype)
    return relay_op(*moved, **dict(attrs.items()))


def _shift(data: Expr, zero_point: Expr, out_dtype: str) -> tuple[Expr, Expr]:
    """A tensor and its zero point converted to the other 8-bit dtype."""
    shift = SHIFTS[out_dtype]
    wide = relay.add(relay.cast(data, "int32"), relay.const(shift, "int32"))
    if isinstance(zero_point, Constant):
        zero: Expr = relay.const(zero_point.data.numpy() + shift, "int32")
    else:
        zero = relay.add(zero_point, relay.const(shift, "int32"))
    return relay.cast(wide, out_dtype), zero


# The helper for each kind of target ---------------------------------------------------------------


def _cpu(name: str, attrs: Any, types: list[Any]) -> Helper:
    fast = is_fast_int8_on_intel()
    return helper_change_dtypes_to_uint8_int8 if fast else helper_no_fast_int8_hw_legalization


def _arm_cpu(name: str, attrs: Any, types: list[Any]) -> Helper:
    products = name == "conv2d" and attrs["groups"] == 1 and attrs["data_layout"] == "NHWC"
    if is_fast_int8_on_arm() or (products and is_aarch64_arm()):
        return helper_change_dtypes_to_be_same
    return helper_no_fast_int8_hw_legalization


def _cuda(name: str, attrs: Any, types: list[Any]) -> Helper:
    return helper_change_dtypes_to_int8


# {key of a target: function that selects the helper for an operator}; the first matching key
# counts.
BY_TARGET: dict[str, Callable[[str, Any, list[Any]], Helper]] = {
    "arm_cpu": _arm_cpu,
    "cpu": _cpu,
    "cuda": _cuda,
}


def _legalizes(name: str) -> Callable[..., Expr | None]:
    quantized, plain = Op.get(f"qnn.{name}"), Op.get(f"nn.{name}")

    def legalize(attrs: Any, inputs: list[Expr], types: list[Type]) -> Expr | None:
        target = _target(allow_none=True)
        keys = [] if target is None else [key for key in target.keys if key in BY_TARGET]
        if not keys:
            return None
        helper = BY_TARGET[keys[0]](name, attrs, types)
        op = plain if helper is helper_no_fast_int8_hw_legalization else quantized
        return helper(attrs, inputs, types, lambda *args, **_: Call(op, list(args), attrs))

    return legalize


for _name in ("conv2d", "dense"):
    Op.get(f"qnn.{_name}").set_attr(LEGALIZE, _legalizes(_name))
