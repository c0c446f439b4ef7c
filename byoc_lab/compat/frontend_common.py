"""`tvm.relay.frontend.common`: what scripts take from the importers for passes of their own."""

from __future__ import annotations

from typing import Any

from byoc_lab.passes import InferType
from byoc_lab.relay.expr import Expr, Function
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.types import TensorType


def infer_type(node: Expr, mod: IRModule | None = None) -> Any:
    """`node` with types; free variables may be in it. `mod` has the functions that it calls.

    Raises TypeInferenceError.
    """
    functions = {gv: f for gv, f in mod.functions.items() if gv.name_hint != "main"} if mod else {}
    definitions = mod.type_definitions if mod else None
    typed = InferType()(IRModule.from_expr(node, functions, definitions))["main"]
    return typed if isinstance(node, Function) else typed.body


def infer_shape(inputs: Expr, mod: IRModule | None = None) -> Any:
    """The shape of a tensor as ints (`relay.Any` where it is not known); of others, the type."""
    ty = infer_type(inputs, mod).checked_type
    if not isinstance(ty, TensorType):
        return ty
    return tuple(int(d) if isinstance(d, int) else d for d in ty.shape)


__all__ = ["infer_shape", "infer_type"]
