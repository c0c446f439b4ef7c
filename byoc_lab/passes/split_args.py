"""SplitArgs: tensors are joined a few at a time, for who cannot take many at once.

concatenate((%a, %b, %c, %d)) for functions of 4 arguments, one of which is the result:
concatenate((concatenate((%a, %b, %c)), %d)), each tuple behind annotation.stop_fusion, for FuseOps
not to make one function of them again. Left alone: tuples that are not written out, and shorter
ones than the limit (TVM marks one that just fits, too).

Source: src/relay/transforms/split_args.cc of TVM 0.16.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.base import FunctionPass, PassContext
from byoc_lab.passes.rewrite import RewriteRule, rewrite
from byoc_lab.relay.expr import Call, Expr, Function, Op, Tuple
from byoc_lab.relay.module import IRModule

CONCATENATE = Op.get("concatenate")
STOP = Op.get("annotation.stop_fusion")


class SplitArgs(FunctionPass):
    """Split concatenations for functions of at most `max_function_args`, the result among them.

    0 or less: there is no limit, and nothing is done. Raises PassError for a limit of 1, where a
    concatenation is met.
    """

    opt_level = 1

    def __init__(self, max_function_args: int):
        self.max_function_args = max_function_args

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        if self.max_function_args < 1:
            return func
        reason = f"a function takes {self.max_function_args} arguments at most"
        return rewrite(func, [RewriteRule("split", reason, self._split)])

    def _split(self, pre: Any, post: Any) -> Expr | None:
        if not isinstance(post, Call) or not post.is_op(CONCATENATE.name):
            return None
        (fields,) = post.args
        if not isinstance(fields, Tuple):
            return None
        most = self.max_function_args - 1  # the result is an argument, too
        if most < 1:
            raise PassError(
                "SplitArgs: max_function_args must be at least 2, an input and the result; found 1"
            )
        left = list(fields.fields)
        if len(left) < most:
            return None
        joined = self._joined(left[:most], post)
        more = max(most - 1, 1)
        for start in range(most, len(left), more):
            joined = self._joined([joined, *left[start : start + more]], post)
        return joined

    @staticmethod
    def _joined(fields: list[Expr], call: Call) -> Call:
        return Call(CONCATENATE, [Call(STOP, [Tuple(fields)])], call.attrs)
