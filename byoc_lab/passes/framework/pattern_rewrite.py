"""The driver of passes that replace matches of a dataflow pattern; each replacement is an event."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress

from byoc_lab.errors import PassError, TypeInferenceError
from byoc_lab.passes.framework.hook import is_heard, keeps_in, report, rewriting
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import rebuild
from byoc_lab.relay.patterns import DFPatternCallback
from byoc_lab.relay.patterns.grouping import find_groups
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.text import bound_names
from byoc_lab.relay.typing.infer import infer_in_place, infer_module

MIN_ROUNDS = 100
"""The minimum of the limit of rounds; TVM 0.16 raises an error after this number of rounds."""


class PatternRewrite(FunctionPass):
    """Apply callbacks until none changes anything. A subclass lists the callbacks.

    A callback gets typed expressions, except for a `post` whose new parts have incompatible types.
    It returns `post` to leave a match unchanged. It may set its own `reason`, also for each match;
    otherwise the reason is the pass's. As in TVM's `rewrite`, the callbacks take turns, each over
    the whole function.

    Raises PassError after 100 rounds plus one per node of the function, because a callback whose
    result matches its own pattern again never ends.
    """

    required = ("InferType",)
    reason: str = ""

    @abstractmethod
    def callbacks(self) -> Sequence[DFPatternCallback]:
        """The callbacks (pattern and replacement), in the order in which they are applied."""

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        callbacks = self.callbacks()
        graph = IndexedGraph(func)
        limit = MIN_ROUNDS + len(graph.nodes)
        for _ in range(limit):
            before = func
            for callback in callbacks:
                after = self._round(callback, func, graph, mod)
                if after is not func:
                    func = typed_function(after, mod)
                    graph = IndexedGraph(func)
            if func is before:
                return func
        raise PassError(
            f"{self.name} did not settle within {limit} rounds; check whether what a callback "
            f"makes matches its own pattern again"
        )

    def _round(
        self, callback: DFPatternCallback, func: Function, graph: IndexedGraph, mod: IRModule
    ) -> Function:
        groups = {g.root: g for g in find_groups(callback.pattern, graph)}
        if not groups:
            return func
        made: dict[Expr, Expr] = {}

        def replace(pre: Expr, post: Expr) -> Expr:
            if pre not in groups:
                return post
            if not post.is_typed:
                with suppress(TypeInferenceError):  # the callback may make the parts compatible
                    infer_in_place(post, mod)
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
            after: Function = rebuild(func, replace, memo=made)
            return after


def typed_function(func: Expr, mod: IRModule) -> Function:
    """`func`, which may call other functions of `mod`, with types. `mod` is not changed."""
    scratch = mod.copy()
    scratch["main"] = func
    typed: Function = infer_module(scratch)["main"]
    return typed
