"""MergeComposite: each match of a pattern becomes a call of a function named after the pattern."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.framework.hook import keeps_in, report, rewriting
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.predicates import ask_check, checked_entry
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import DFPattern, partition
from byoc_lab.relay.patterns.grouping import Group
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.typing.infer import infer_module


class MergeComposite(FunctionPass):
    """Each match of a pattern becomes a call of a function named after the pattern.

    `nn.relu(add(nn.conv2d(%x, %w), %b))` -> `fn (..., Composite="dnnl.conv2d_bias_relu") {...}(%x,
    %w, %b)`. The entries of the table are tried in order, each over what the earlier ones left;
    nodes inside a composite function are not matched again.

    pattern_table: entries (name, pattern) or (name, pattern, check); `check(expr)` gets the typed
    root of a match and may refuse it.

    Source: src/relay/transforms/merge_composite.cc of TVM 0.16.
    """

    def __init__(self, pattern_table: Sequence[tuple[Any, ...]]):
        if not isinstance(pattern_table, (list, tuple)):
            raise PassError(
                f"a pattern table is a list of (name, pattern) or (name, pattern, check), found "
                f"{type(pattern_table).__name__} {pattern_table!r:.80}"
            )
        self.table: list[tuple[str, DFPattern, Callable[[Expr], bool]]] = []
        for n, entry in enumerate(pattern_table):
            name, pattern, check = checked_entry(n, entry)
            asked = partial(ask_check, check, pattern=name) if check else lambda expr: True
            self.table.append((name, pattern, asked))

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return super().run(infer_module(mod), ctx)  # scripts call it on modules without types

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        graph = IndexedGraph(func)
        for name, pattern, check in self.table:

            def on_match(pre: Expr, post: Expr, group: Group, name: str = name) -> None:
                report(name, f"these {len(group.body)} nodes match the pattern {name}", pre, post)

            attrs, made = {"Composite": name}, dict[Expr, Expr]()
            with rewriting(func):
                keeps_in(made)
                merged = partition(
                    pattern, func, attrs, check, graph=graph, on_match=on_match, memo=made
                )
            if merged is not func:
                func = _typed(merged, mod)
                graph = IndexedGraph(func)
        return func


def _typed(func: Expr, mod: IRModule) -> Function:
    # Later entries look at types; the other functions of the module are not touched.
    scratch = mod.copy()
    scratch["main"] = func
    return infer_module(scratch)["main"]
