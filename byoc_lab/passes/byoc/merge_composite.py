"""MergeComposite: move each match of a pattern into a composite function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.framework.hook import copies_in, is_heard, keeps_in, note, report, rewriting
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.pattern_rewrite import typed_function
from byoc_lab.passes.framework.predicates import ask_check, checked_entry, refusal
from byoc_lab.relay.ir.expr import Expr, Function, describe
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import partition
from byoc_lab.relay.patterns.grouping import Group
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.text import bound_names
from byoc_lab.relay.typing.infer import infer_module

Check = Callable[[Expr], Any]


class MergeComposite(FunctionPass):
    """Move each match of a pattern into a composite function, named after the pattern.

    `nn.relu(add(nn.conv2d(%x, %w), %b))` -> `fn (..., Composite="dnnl.conv2d_bias_relu") {...}(%x,
    %w, %b)`. The entries of the table are applied in order, each to the result of the previous one;
    nodes inside a composite function are not matched again.

    pattern_table: entries (name, pattern) or (name, pattern, check). `check(expr)` gets the typed
    root of a match, and refuses it with False or `Refused("why")`.

    Raises PassError for a malformed table, PredicateError for a check that raises.

    Source: src/relay/transforms/merge_composite.cc of TVM 0.16.
    """

    def __init__(self, pattern_table: Sequence[tuple[Any, ...]]):
        if not isinstance(pattern_table, (list, tuple)):
            raise PassError(
                f"a pattern table is a list of (name, pattern) or (name, pattern, check), found "
                f"{type(pattern_table).__name__} {pattern_table!r:.80}"
            )
        self.table = [checked_entry(n, entry) for n, entry in enumerate(pattern_table)]

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return super().run(infer_module(mod), ctx)  # scripts run this pass on untyped modules

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        graph = IndexedGraph(func)
        for name, pattern, check in self.table:
            made: dict[Expr, Expr] = {}
            with rewriting(func):
                keeps_in(made)
                merged = partition(
                    pattern, func, {"Composite": name}, partial(_accepts, name, check),
                    graph=graph, on_match=partial(_report_match, name), memo=made,
                )  # fmt: skip
            if merged is not func:
                func = typed_function(merged, mod)
                graph = IndexedGraph(func)
        return func


def _accepts(name: str, check: Check | None, match: Expr) -> bool:
    """Whether the check of a pattern accepts a match."""
    answer = check is None or ask_check(check, match, name)
    if not answer and is_heard():
        note(f"refuse {name}", refusal(f"the check of {name}", match, answer), match)
    return bool(answer)


def _report_match(composite: str, pre: Expr, post: Expr, match: Group) -> None:
    if not is_heard():
        return
    copies_in(match.copied)
    bound = bound_names(match.taken)
    shown = {key: describe(node) for key, node in bound.items()}
    named = ", ".join(v if v.startswith(key) else f"{key} = {v}" for key, v in shown.items())
    nodes = [pre, *(n for n in match.nodes if n is not pre)]
    report(composite, f"the pattern matches: {named}", pre, post, sources=nodes, bound=bound)
