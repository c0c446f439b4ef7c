"""Quantization in floating point to a dtype given at run time: qnn.simulated_quantize and
qnn.simulated_dequantize.

Source: src/relay/qnn/op/simulated_quantize.cc and simulated_dequantize.cc of TVM 0.16,
topi/nn/qnn.py.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import AttrsType, attrs_type
from byoc_lab.relay.ir.expr import Expr, const
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.op.framework import relax_types
from byoc_lab.relay.op.framework.arrays import round_half_away
from byoc_lab.relay.op.framework.costs import per_element
from byoc_lab.relay.op.framework.namespace import function
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import NO_DTYPE, Types, axis_of, differ, fail, tensors
from byoc_lab.relay.op.framework.relax_types import constant_value, dtype_of, rank_of, typed
from byoc_lab.relay.op.qnn.convert import AXIS
from byoc_lab.relay.op.qnn.math import broadcast_scales

CODES = {"disable": 0, "int8": 1, "uint8": 2, "int32": 3}
KINDS = {code: kind for kind, code in CODES.items() if code}


ATTRS = {
    "quantize": AttrsType("relay.attrs.SimulatedQuantizeAttrs", (AXIS,)),
    "dequantize": attrs_type("relay.attrs.DequantizeAttrs"),
}


def _broadcast_vector(R: AnyValue, vector: AnyValue, axis: int, rank: int) -> AnyValue:
    """A Relax vector reshaped to broadcast along one axis; a vector of size 1 broadcasts
    unchanged."""
    return R.reshape(vector, [-1 if n == axis % rank else 1 for n in range(rank)])


def _code(kind: AnyValue) -> Expr:
    """The code of a dtype as a constant. Raises ValueError for a dtype without a code."""
    if isinstance(kind, Expr):
        return kind
    if kind not in CODES:
        raise ValueError(f"a simulated dtype must be one of {', '.join(CODES)}, found {kind!r}")
    return const(CODES[kind], "int32")


def _simulated(name: str, direction: str, doc: str) -> None:
    op = f"qnn.simulated_{name}"
    side = "output" if direction == "out" else "input"
    names = f"data {direction}_dtype {side}_scale {side}_zero_point"

    def relation(attrs: AnyValue, *types: Type | None) -> Types:
        """float32 data, the code of a dtype, and vectors with one element in total or one per
        channel."""
        operands = tensors(op, names, *types)
        x, code, *vectors = operands
        if code is not None and (code.shape or code.dtype != "int32"):
            fail(op, f"{direction}_dtype must be a scalar of int32, found {code}")
        if x is not None and x.dtype != "float32":
            fail(op, f"data must be of float32, found {x}")
        if x is not None and x.shape:
            channels = x.shape[axis_of(op, attrs.axis, len(x.shape))]
            for word, ty in zip(names.split()[2:], vectors, strict=True):
                if ty is not None and (
                    len(ty.shape) > 1
                    or (ty.shape and ty.shape[0] != 1 and differ(ty.shape[0], channels))
                ):
                    fail(op, f"{word} must be a vector of {channels}, or of 1, found {ty}")
        return *operands, x

    def reference(
        attrs: AnyValue, x: np.ndarray, code: np.ndarray, scale: np.ndarray, zero: np.ndarray
    ) -> np.ndarray:
        """Code 0 returns the data unchanged."""
        kind = KINDS.get(int(code))
        if kind is None:
            return x
        scale, zero = (broadcast_scales(v, attrs.axis, x.ndim) for v in (scale, zero))
        if name == "quantize":
            limits = np.iinfo(kind)
            moved = round_half_away(x / scale) + zero
            return np.clip(moved, limits.min, limits.max).astype(x.dtype).reshape(x.shape)
        return ((x - zero) * scale).astype(x.dtype).reshape(x.shape)

    def relax(
        R: AnyValue, attrs: AnyValue, x: AnyValue, code: AnyValue, scale: AnyValue, zero: AnyValue
    ) -> AnyValue:
        kind = KINDS.get(int(constant_value(code, op, f"{direction}_dtype")))
        if kind is None:
            return x
        rank = rank_of(x)
        scale = _broadcast_vector(R, scale, attrs.axis, rank)
        zero = R.astype(_broadcast_vector(R, zero, attrs.axis, rank), dtype_of(x))
        if name == "dequantize":
            return R.multiply(R.subtract(x, zero), scale)
        limits = np.iinfo(kind)
        moved = R.add(relax_types.round_half_away(R, typed(R.divide(x, scale))), zero)
        return R.clip(moved, float(limits.min), float(limits.max))

    def normalize(values: dict[str, AnyValue]) -> dict[str, AnyValue]:
        """Replaces the dtype by its code, and scale and zero point by vectors."""
        code, *vectors = names.split()[1:]
        flat = {vector: function("reshape")(values[vector], [-1]) for vector in vectors}
        return {**values, **flat, code: _code(values[code])}

    define_op(
        op,
        names,
        relation,
        reference=reference,
        attrs=ATTRS[name],
        flops=per_element(3),
        relax=relax,
        pattern=OpPattern.ELEMWISE,
        non_computational=False,
        arithmetic=Arithmetic.STEPS if name == "quantize" else None,
        parameters=f"data {side}_scale {side}_zero_point axis {direction}_dtype",
        defaults={f"{direction}_dtype": "int8"},
        fixed={} if direction == "out" else {"out_dtype": NO_DTYPE},
        normalize=normalize,
        doc=f"{doc} {direction}_dtype: a name, or an expression for the code of a dtype.",
    )


_simulated(
    "quantize", "out", "Data rounded to the values of a quantized dtype, still in floating point."
)
_simulated("dequantize", "in", "The real numbers for a result of qnn.simulated_quantize.")
