"""`tvm.relay.qnn.op.canonicalizations`: functions of one quantized tensor as lookup tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import InputError
from byoc_lab.relay.ir.expr import Constant, Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.reference import evaluate

RealFunction = Callable[[np.ndarray], np.ndarray]


def run_const_expr(expr: Expr) -> np.ndarray:
    """The value of an expression without free variables."""
    value: np.ndarray = evaluate(IRModule.from_expr(Function([], expr)), []).value
    return value


def create_integer_lookup_table(
    floating_point_func: RealFunction,
    input_scale: Expr,
    input_zero_point: Expr,
    output_scale: Expr,
    output_zero_point: Expr,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> np.ndarray:
    """The quantized results (out_dtype) for all bit patterns of in_dtype, ordered by the unsigned
    value of the bits.

    Raises InputError for dtypes that are not integers.
    """
    if any(np.dtype(dtype).kind not in "iu" for dtype in (in_dtype, out_dtype)):
        raise InputError(f"a table maps integers to integers, found {in_dtype} to {out_dtype}")
    bits = np.iinfo(in_dtype).bits
    patterns = np.arange(2**bits, dtype=f"uint{bits}").view(in_dtype)
    quantized = relay.const(patterns, in_dtype)
    real = relay.qnn.op.dequantize(quantized, input_scale, input_zero_point, in_axis)
    result = relay.const(floating_point_func(run_const_expr(real)), "float32")
    back = relay.qnn.op.quantize(result, output_scale, output_zero_point, out_axis, out_dtype)
    return run_const_expr(back)


def create_integer_lookup_op(
    input_arg: Expr,
    floating_point_func: RealFunction,
    in_scale: Constant,
    in_zero_point: Constant,
    out_scale: Constant,
    out_zero_point: Constant,
    in_axis: int = -1,
    out_axis: int = -1,
    in_dtype: str = "uint8",
    out_dtype: str = "uint8",
) -> Expr:
    """`floating_point_func` applied to a quantized tensor: `take(table, reinterpret(input_arg))`.

    Scales and zero points must be scalar constants.
    """

    def one(value: Constant, dtype: str) -> Any:
        return relay.const(value.data.numpy().item(), dtype)

    parameters = (
        one(in_scale, "float32"),
        one(in_zero_point, "int32"),
        one(out_scale, "float32"),
        one(out_zero_point, "int32"),
    )
    table = create_integer_lookup_table(
        floating_point_func, *parameters, in_axis, out_axis, in_dtype, out_dtype
    )
    index = relay.reinterpret(input_arg, f"uint{np.iinfo(in_dtype).bits}")
    return relay.take(relay.const(table, out_dtype), index, axis=0, mode="fast")


__all__ = ["create_integer_lookup_op", "create_integer_lookup_table", "run_const_expr"]
