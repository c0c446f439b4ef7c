"""The driver of passes that replace what a dataflow pattern finds; each replacement is an event."""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.errors import PassError
from byoc_lab.passes.framework.hook import is_heard, keeps_in, report, rewriting
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import rebuild
from byoc_lab.relay.patterns import DFPatternCallback
from byoc_lab.relay.patterns.grouping import find_groups
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.text import bound_names
from byoc_lab.relay.typing.infer import infer_module

TVM_ROUNDS = 100
"""TVM 0.16 stops after so many rounds."""


class PatternRewrite(FunctionPass):
    """Apply callbacks until none changes anything. A subclass lists them.

    A callback sees typed expressions, and returns `post` to leave a match as it is. It may set a
    `reason` of its own, for each match if it likes; otherwise the reason is that of the pass. As in
    TVM's `rewrite`, the callbacks take turns, each over the whole function.

    Raises PassError after as many rounds as the function has nodes plus TVM's 100: callbacks whose
    results match their own patterns do not end.
    """

    required = ("InferType",)
    reason: str = ""

    def callbacks(self) -> Sequence[DFPatternCallback]:
        raise NotImplementedError(f"{self.name} must define callbacks()")

    def late_callbacks(self) -> Sequence[DFPatternCallback]:
        """Further callbacks, which come first in the rounds that TVM does not reach: for work that
        the others do one step a round."""
        return ()

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        callbacks = self.callbacks()
        graph = IndexedGraph(func)
        limit = TVM_ROUNDS + len(graph.nodes)
        for number in range(limit):
            if number == TVM_ROUNDS:
                callbacks = (*self.late_callbacks(), *callbacks)
            before = func
            for callback in callbacks:
                after = self._round(callback, func, graph)
                if after is not func:
                    func = typed_function(after, mod)
                    graph = IndexedGraph(func)
            if func is before:
                return func
        raise PassError(
            f"{self.name} did not settle within {limit} rounds; check whether what a callback "
            f"makes matches its own pattern again"
        )

    def _round(self, callback: DFPatternCallback, func: Function, graph: IndexedGraph) -> Function:
        groups = {g.root: g for g in find_groups(callback.pattern, graph)}
        if not groups:
            return func
        made: dict[Expr, Expr] = {}

        def replace(pre: Expr, post: Expr) -> Expr:
            if pre not in groups:
                return post
            taken = groups[pre].taken
            new = callback.callback(
                pre, post, {p: [made.get(e, post) for e in es] for p, es in taken.items()}
            )
            if new is not post:
                reason = getattr(callback, "reason", self.reason)
                bound = bound_names(taken) if is_heard() else None
                report(type(callback).__name__, reason, pre, new, bound=bound)
            return new

        with rewriting(func):
            keeps_in(made)
            return rebuild(func, replace, memo=made)


def typed_function(func: Function, mod: IRModule) -> Function:
    """A function that calls what is in `mod`, typed."""
    scratch = mod.copy()
    scratch["main"] = func
    return infer_module(scratch)["main"]
