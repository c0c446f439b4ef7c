"""EliminateCommonSubexpr: merges equal computations on equal values."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem
from byoc_lab.relay.ir.module import IRModule


class EliminateCommonSubexpr(FunctionPass):
    """Computes equal calls of equal operands once.

    `add(abs(%x), abs(%x))` with two calls of abs -> one call, used twice. Two calls are equal if
    their operators, attributes and arguments are; arguments are equal if they are the same node,
    equal scalars, or tuples of equal arguments. Equal projections of one tuple are also merged.
    Unchanged: calls without arguments, calls of functions, of stateful operators, and with nested
    tuples.

    Source: src/relay/transforms/eliminate_common_subexpr.cc of TVM 0.16.
    """

    opt_level = 3
    required = ("InferType",)

    def __init__(self, fskip: Callable[[Expr], bool] | None = None):
        self.fskip = fskip

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        first: dict[Any, Expr] = {}  # {(operator, operands): call}

        def share(pre: Any, post: Any) -> Expr | None:
            key = _key(post)
            if key is None or (self.fskip is not None and self.fskip(post)):
                return None
            return first.setdefault(key, post)

        return rewrite(
            func, [RewriteRule("share", "an equal call computed this value before", share)]
        )


def _key(expr: Expr) -> Any:
    """A key that equal computations share; None if `expr` must not be shared."""
    if isinstance(expr, TupleGetItem):
        return expr.tuple_value, expr.index
    if not isinstance(expr, Call) or not isinstance(expr.op, Op) or not expr.args:
        return None
    if expr.op.get_attr("TOpIsStateful"):
        return None
    return expr.op, expr.attrs, tuple(map(_argument, expr.args))


def _argument(arg: Expr) -> Any:
    return tuple(map(_value, arg.fields)) if isinstance(arg, Tuple) else _value(arg)


def _value(arg: Expr) -> Any:
    if isinstance(arg, Constant) and not arg.data.shape:
        return arg.data.dtype, arg.numpy().tobytes()
    return arg
