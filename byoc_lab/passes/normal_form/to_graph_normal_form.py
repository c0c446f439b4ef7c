"""ToGraphNormalForm: removes each let, replacing its variable by its value."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import Any

from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.expr import Call, Expr, Function, Let, Op, RefRead, RefWrite, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class ToGraphNormalForm(FunctionPass):
    """Remove each let, replacing its variable by its value.

    `let %a = abs(%x); add(%a, %a)` -> `%0 = abs(%x); add(%0, %0)`: the value is shared, not copied.
    A recursive let of a function is kept. In a module that writes references, the lets of reads,
    writes and function calls are kept too, because a graph does not define their order. era="0.16":
    these lets are removed, as in TVM 0.16, which drops a write whose variable is not used.

    Raises PassError for an unknown era.

    Source: src/relay/transforms/to_graph_normal_form.cc of TVM 0.16.
    """

    opt_level = 1
    eras = ("0.16",)

    def __init__(self, era: str | None = None):
        self.era = self.checked_era(era)
        self._keeps_order = False

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        nodes = post_order(*mod.functions.values())
        self._keeps_order = self.era is None and any(isinstance(n, RefWrite) for n in nodes)
        return super().run(mod, ctx)

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        ordered = _with_effects(func) if self._keeps_order else set()
        return without_lets(func, [n for n in _lets(func) if n.value not in ordered], {})


def without_lets(func: Function, lets: Collection[Let], memo: dict[Expr, Expr]) -> Function:
    """`func` without these lets; `memo` receives the new expression for each old expression."""
    value_of = {let.var: let.value for let in lets}

    def use_value(pre: Any, post: Any) -> Expr:
        # A let's value comes before its variable in evaluation order, so it is in the memo.
        return memo[value_of[pre]] if isinstance(pre, Var) and pre in value_of else post

    def drop_let(pre: Any, post: Any) -> Expr | None:
        return post.body if isinstance(pre, Let) and pre.var in value_of else None

    rules = [RewriteRule("drop let", "its variable is replaced by its value", drop_let)]
    return rewrite(func, rules, memo=memo, prepare=use_value)


def graph_form(func: Function, memo: dict[Expr, Expr]) -> Function:
    """`func` without its non-recursive lets, for use outside a pass; `memo` as in
    `without_lets`."""
    return without_lets(func, list(_lets(func)), memo)


def _lets(func: Function) -> Iterator[Let]:
    return (n for n in post_order(func) if isinstance(n, Let) and not is_recursive(n))


def _with_effects(func: Function) -> set[Expr]:
    """The expressions whose evaluation may read or write references. Calls of functions may;
    creating a function does not."""
    found: set[Expr] = set()
    for node in post_order(func):
        calls = isinstance(node, Call) and not isinstance(node.op, (Op, Constructor))
        if (
            calls
            or isinstance(node, (RefRead, RefWrite))
            or (not isinstance(node, Function) and any(part in found for part in node.parts()))
        ):
            found.add(node)
    return found


def is_recursive(let: Let) -> bool:
    """Whether a let binds a function that calls itself."""
    return isinstance(let.value, Function) and any(n is let.var for n in post_order(let.value))
