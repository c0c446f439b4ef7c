"""Quantized operators: quantize and dequantize, which QNN passes fuse with the operators
between."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.importers.pytorch.converters import converts
from byoc_lab.importers.pytorch.node import Node, dtype_name
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.op.qnn.requantize_config import TOEVEN

qnn = relay.qnn.op
LIBRARY = "quantized_decomposed"
RANGES = {"int8": (-128, 127), "uint8": (0, 255), "int32": (-(2**31), 2**31 - 1)}


def _parameter(node: Node, name: str, dtype: str) -> Expr:
    """A scale or zero point: a scalar, or one value per channel."""
    given = node[name]
    if isinstance(given, Expr):
        return relay.cast(given, dtype)
    return Constant(np.asarray(given, dtype))


def _checked_range(node: Node, dtype: str) -> None:
    found = (node["quant_min"], node["quant_max"])
    if dtype not in RANGES:
        node.fail(f"quantizing to {dtype} is not supported; {', '.join(RANGES)} are")
    narrow = dtype == "int8" and found == (-127, 127)  # weights, whose values stay in the range
    if found not in (RANGES[dtype], (None, None)) and not narrow:
        node.fail(f"the range of {dtype} must be {RANGES[dtype]}, found {found}")


@converts(f"{LIBRARY}::quantize_per_tensor.default", f"{LIBRARY}::quantize_per_channel.default")
def quantize(node: Node) -> Any:
    channels = "channel" in node.overload
    dtype = dtype_name(node["dtype"])
    _checked_range(node, dtype)
    scale = _parameter(node, "scales" if channels else "scale", "float32")
    zero = _parameter(node, "zero_points" if channels else "zero_point", "int32")
    axis = node.axis("axis", "input") if channels else -1
    return qnn.quantize(node["input"], scale, zero, axis, dtype, TOEVEN)


@converts(f"{LIBRARY}::dequantize_per_tensor.default", f"{LIBRARY}::dequantize_per_channel.default")
def dequantize(node: Node) -> Any:
    channels = "channel" in node.overload
    scale = _parameter(node, "scales" if channels else "scale", "float32")
    given = node["zero_points" if channels else "zero_point"]
    zero = (
        Constant(np.zeros(node.static("scales"), "int32"))
        if given is None
        else _parameter(node, "zero_points" if channels else "zero_point", "int32")
    )
    axis = node.axis("axis", "input") if channels else -1
    return qnn.dequantize(node["input"], scale, zero, axis)


@converts("fake_quantize_per_tensor_affine.default")
def fake_quantize(node: Node) -> Any:
    """Quantizes, then dequantizes."""
    wanted = (node["quant_min"], node["quant_max"])
    dtype = next((name for name, limits in RANGES.items() if limits == wanted), None)
    if dtype is None:
        node.fail(f"no data type has the range {wanted}; supported are {RANGES}")
    scale, zero = _parameter(node, "scale", "float32"), _parameter(node, "zero_point", "int32")
    return qnn.dequantize(
        qnn.quantize(node["self"], scale, zero, -1, dtype, TOEVEN), scale, zero, -1
    )
