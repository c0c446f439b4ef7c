"""AlterOpLayout: changes operators to the layouts chosen by registered functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.layout.legalize import replacement
from byoc_lab.passes.layout.transform_layout import LayoutRewriter
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TupleType, Type


class AlterOpLayout(FunctionPass):
    """Change operators to the layouts chosen by registered functions.

    The function that `relay.op.register_alter_op_layout("nn.conv2d")` sets (an operator's attribute
    "FTVMAlterOpLayout") is called as `function(attrs, args, arg_types, out_type)` and returns a
    call in a new layout (of any operator), or None. Operators around it follow, or get
    `layout_transform`s.

    Source: src/relay/transforms/alter_op_layout.cc of TVM 0.16. TVM registers such functions for
    its targets; byoc_lab registers none.
    """

    opt_level = 3
    required = ("InferType",)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return LayoutRewriter(func, self._altered).run()

    def alter_of(self, op: Op) -> Any:
        """The function registered for an operator, or None."""
        return op.get_attr("FTVMAlterOpLayout")

    def _altered(self, call: Call, args: Sequence[Expr]) -> Call | None:
        assert isinstance(call.op, Op)
        function = self.alter_of(call.op)
        if function is None:
            return None
        new = function(call.attrs, list(args), flat_types(call), call.checked_type)
        return None if new is None else replacement(new, "FTVMAlterOpLayout", call)


def flat_types(call: Call) -> list[Type]:
    """The types of the arguments of a call, with tuples flattened."""
    flat: list[Type] = []
    for arg in call.args:
        ty = arg.checked_type
        flat += ty.fields if isinstance(ty, TupleType) else [ty]
    return flat
