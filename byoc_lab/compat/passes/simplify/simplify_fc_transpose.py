"""SimplifyFCTranspose: `nn.dense(%x, transpose(%w))` -> `nn.dense(%x, %w.T)`."""

from __future__ import annotations

from collections.abc import MutableMapping, Sequence
from typing import Any

import numpy as np

from byoc_lab.compat.runtime import nd
from byoc_lab.errors import PassError
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Call, Expr, Function, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order


class SimplifyFCTranspose(FunctionPass):
    """`nn.dense(%x, transpose(%w))` -> `nn.dense(%x, %w.T)`.

    The caller passes the transposed weight as the parameter "w.T"; unused parameters are removed.
    `search_fc_transpose` names the weights.

    target_weight_name: the names of the weights; PassError if another weight is transposed.

    Source: src/relay/transforms/simplify_fc_transpose.cc of TVM 0.16.
    """

    opt_level = 4
    required = ("DeadCodeElimination",)

    def __init__(self, target_weight_name: Sequence[str]):
        self.names = [str(name) for name in target_weight_name]

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        def with_params(pre: Any, post: Any) -> Expr | None:
            return _with_params(post) if pre is func and post is not pre else None

        rules = (
            RewriteRule(
                "take transposed", "the weight can be transposed ahead of time", self._transposed
            ),
            RewriteRule("parameters", "the used parameters, then the new ones", with_params),
        )
        return rewrite(func, rules)

    def _transposed(self, pre: Any, post: Any) -> Expr | None:
        weight = _weight(pre)
        if weight is None:
            return None
        if weight.name_hint not in self.names:
            raise PassError(
                f"%{weight.name_hint} is transposed for nn.dense, but is not one of the weights "
                f"named, {self.names}; search_fc_transpose(expr) names all"
            )
        ty = weight.checked_type
        assert isinstance(ty, TensorType)
        new = Var(f"{weight.name_hint}.T", TensorType(ty.shape[::-1], ty.dtype))
        return Call(pre.op, [post.args[0], new], pre.attrs, span=pre.span)


def search_fc_transpose(expr: Expr) -> list[str]:
    """The names of variables whose transpose is the weight of an nn.dense."""
    found = (_weight(node) for node in post_order(expr))
    return [weight.name_hint for weight in found if weight is not None]


def convert(func: Expr, params: MutableMapping[str, Any]) -> tuple[Expr, MutableMapping[str, Any]]:
    """Transpose the weights of nn.dense ahead of time: returns the new function, and `params`,
    changed in place.

    Source: `tvm.relay.data_dep_optimization.simplify_fc_transpose.convert` of TVM 0.16.
    """
    names = search_fc_transpose(func)
    for name in names:
        weight = params.pop(name)
        params[f"{name}.T"] = nd.array(np.transpose(nd.array(weight).numpy()))
    return SimplifyFCTranspose(names)(IRModule.from_expr(func))["main"], params


def _weight(call: Expr) -> Var | None:
    """The variable whose transpose is the weight of a call of nn.dense."""
    if not (isinstance(call, Call) and call.is_op("nn.dense")):
        return None
    transposed = call.args[1]
    if not (isinstance(transposed, Call) and transposed.is_op("transpose")):
        return None
    weight, attrs = transposed.args[0], transposed.attrs
    axes = attrs.axes if attrs is not None else None
    swaps = not axes or [axis % 2 for axis in axes] == [1, 0]
    return weight if isinstance(weight, Var) and swaps else None


def _with_params(func: Function) -> Function:
    """A function with only the parameters that its body uses, the previous parameters first."""
    new = free_vars(func)
    return func.replace(params=[*free_vars(func.replace(params=new)), *new])
