"""CanonicalizeCast: duplicates a widening cast for each of its users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op.framework.registry import OpPattern


class CanonicalizeCast(FunctionPass):
    """Duplicates a widening cast that several operators read, one copy per operator.

    %1 = cast(%x, "float32"); exp(%1), log(%1)  ->  exp(cast(%x, "float32")), log(cast(%x,
    "float32"))

    After fusion, each operator then reads the narrow tensor. Only elementwise and broadcasting
    operators get separate casts.

    Source: src/relay/transforms/canonicalize_cast.cc of TVM 0.16.
    """

    opt_level = 3
    replaces = ("cast",)
    required = ("InferType",)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        read: set[Expr] = set()

        def apart(pre: Any, post: Any) -> Expr | None:
            if not (isinstance(pre, Call) and isinstance(pre.op, Op)):
                return None
            pattern = pre.op.get_attr("TOpPattern")
            if pattern is None or pattern > OpPattern.BROADCAST:
                return None
            args = list(post.args)
            for n, arg in enumerate(pre.args):
                if _widens(arg):
                    if arg in read:
                        args[n] = _made_of(args[n], args[n].args)
                    read.add(arg)
            same = all(a is b for a, b in zip(args, post.args, strict=True))
            return None if same else _made_of(post, args)

        reason = "after fusion, each user reads the narrow tensor"
        return rewrite(func, [RewriteRule("cast again", reason, apart)])


def _made_of(call: Call, args: Sequence[Expr]) -> Call:
    return Call(call.op, args, call.attrs, span=call.span)


def _widens(expr: Expr) -> bool:
    if not (isinstance(expr, Call) and expr.is_op("cast")):
        return False
    before, after = expr.args[0].checked_type, expr.checked_type
    assert isinstance(before, TensorType) and isinstance(after, TensorType)
    return np.dtype(before.dtype).itemsize < np.dtype(after.dtype).itemsize
