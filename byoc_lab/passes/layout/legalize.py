"""Legalize: replaces operators by the results of functions registered for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab.errors import PassError
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule


class Legalize(FunctionPass):
    """Replace operators by the results of functions registered for them.

    The function that `relay.op.register_legalize("nn.dense")` sets (an operator's attribute
    "FTVMLegalize") is called as `function(attrs, args, types)`, with the types of the arguments
    and, last, of the result, and returns the replacement, or None to keep the call.

    Source: src/relay/transforms/legalize.cc of TVM 0.16. TVM registers such functions for its
    targets; byoc_lab does not, because each back end defines which operators are legal. The only
    exception applies to all targets: `legalize_clip`."""

    opt_level = 1
    required = ("InferType",)

    def __init__(self, legalize_map_attr_name: str = "FTVMLegalize"):
        self.attribute = legalize_map_attr_name

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        reason = f"the operator's {self.attribute} returned this replacement"
        return rewrite(func, [RewriteRule("legalize", reason, self._legalized)])

    def _legalized(self, pre: Any, post: Any) -> Expr | None:
        if not (isinstance(pre, Call) and isinstance(pre.op, Op)):
            return None
        function = pre.op.get_attr(self.attribute)
        if function is None:
            return None
        types = [*(arg.checked_type for arg in pre.args), pre.checked_type]
        new = function(pre.attrs, list(post.args), types)
        return None if new is None else replacement(new, self.attribute, pre)


def replacement(new: object, attribute: str, call: Call) -> Call:
    """The call that a function registered for an operator returned. Raises PassError for another
    value."""
    if not isinstance(new, Call):
        raise PassError(
            f"the {attribute} of {call.op_name} must give a call or None, found "
            f"{type(new).__name__}"
        )
    return new


def legalize_clip(attrs: Any, args: list[Any], types: list[Any]) -> Expr | None:
    """Remove the clip in `clip(qnn.requantize(...))` if it keeps all numbers of the dtype.

    Source: python/tvm/relay/qnn/op/_qnn.py of TVM 0.16.
    """
    (data,) = args
    if not (isinstance(data, Call) and data.is_op("qnn.requantize")):
        return None
    limits = np.iinfo(types[0].dtype)
    return data if (attrs.a_min, attrs.a_max) == (limits.min, limits.max) else None


Op.get("clip").set_attr("FTVMLegalize", legalize_clip)
