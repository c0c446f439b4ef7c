"""Replacements of operators in `relay.qnn.transform.Legalize`: tables, and int16 arithmetic.

A function of one 8-bit tensor becomes a lookup in a table of 256 entries, `take(table,
reinterpret(x))`. qnn.conv2d_transpose, which has no other lowering in TVM, subtracts the zero
points and multiplies in int16. These are TVM's rules without a target; `compat.qnn_legalizations`
has its rules for specific targets.

Source: python/tvm/relay/qnn/op/legalizations.py and canonicalizations.py of TVM 0.16.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.passes.quantize.qnn_values import tensor_type, values
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.op.qnn.unary import TABLES

LEGALIZE = "FTVMQnnLegalize"
PARAMETERS = ("scale", "zero_point", "output_scale", "output_zero_point")


def _by_table(name: str) -> None:
    op = Op.get(f"qnn.{name}")

    def legalize(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
        data, *rest = args
        numbers = [values(e, f"{op.name}: {n}") for e, n in zip(rest, PARAMETERS, strict=True)]
        dtype = tensor_type(types[0]).dtype
        bits = np.arange(256, dtype="uint8")  # all bytes, in index order
        table = op.definition.reference(attrs, bits.view(dtype), *numbers)
        index = relay.reinterpret(data, "uint8")
        return relay.take(relay.const(table), index, axis=0, mode="fast")

    op.set_attr(LEGALIZE, legalize)


for _name in TABLES:
    _by_table(_name)


def legalize_conv2d_transpose(attrs: Any, args: list[Expr], types: list[Type]) -> Expr:
    moved = []
    for x, zero, ty in ((args[0], args[2], types[2]), (args[1], args[3], types[3])):
        wide, offset = relay.cast(x, "int16"), relay.cast(zero, "int16")
        if tensor_type(ty).shape:
            moved.append(relay.nn.bias_add(wide, relay.negative(offset)))
        else:
            moved.append(relay.subtract(wide, offset))
    return Call(Op.get("nn.conv2d_transpose"), moved, attrs)


Op.get("qnn.conv2d_transpose").set_attr(LEGALIZE, legalize_conv2d_transpose)
