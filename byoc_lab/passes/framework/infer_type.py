"""InferType: every expression gets its `checked_type`; missing annotations are filled in."""

from __future__ import annotations

from byoc_lab.passes.framework.passes import ModulePass, PassContext
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.node import set_field
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.typing.infer import infer_module


class InferType(ModulePass):
    """Every expression gets its `checked_type`; missing annotations are filled in.

    `relay/typing/infer.py` does the work; other passes call it after a change.
    """

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return infer_module(mod)


def InferTypeLocal(expr: Expr) -> Type:
    """The inferred type of an expression, which is also stored in it. Raises TypeInferenceError."""
    main = infer_module(IRModule.from_expr(expr))["main"]
    ty: Type = main.checked_type if isinstance(expr, Function) else main.ret_type
    set_field(expr, "_checked_type", ty)  # nodes are otherwise immutable
    return ty
