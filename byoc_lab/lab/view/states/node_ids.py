"""Ids of the trace nodes that correspond to the regions and operators of a result."""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

from byoc_lab.lab.checking.call_sites import CallSite, called, calls_of, function_named
from byoc_lab.lab.checking.comparison import Comparison
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.relay.analysis.costs import operator_calls
from byoc_lab.relay.ir.expr import Call, Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.metering.cards import RegionCard


class NodeIds:
    """Looks up ids of the nodes of a trace."""

    def __init__(self, trace: Trace, ids: Ids):
        self.trace = trace
        self.ids = ids
        result = trace.result if trace.error is None else None
        self.result = result if isinstance(result, IRModule) else None
        stages = trace.stages
        self.last = len(stages) - 1 if self.result is not None and stages else None
        self._calls: dict[tuple[IRModule, str], list[Call]] = {}  # calls of global functions

    def function(self, symbol: str) -> Function | None:
        """The external function of the trace's result with this symbol."""
        return self._external.get(symbol)

    @cached_property
    def _external(self) -> dict[str, Function]:
        functions = self.result.functions if self.result is not None else {}
        external = {gv.name_hint: f for gv, f in functions.items() if "Compiler" in f.attrs}
        symbols = {str(f.attrs.get("global_symbol", name)): f for name, f in external.items()}
        return {**symbols, **external}

    def region(self, symbol: str) -> str | None:
        """The id of an external function of the result."""
        return self.ids.get(self.function(symbol))

    def at(self, site: CallSite | None, mod: IRModule | None = None) -> str | None:
        """The id of the call at a call site of a module, by default the result of the trace; for a
        composite, the id of its function, which is drawn as the box."""
        mod = self.result if mod is None else mod
        call = self._call(mod, site) if mod is not None and site is not None else None
        if call is not None and isinstance(call.op, Function):
            return self.ids.get(call.op) or self.ids.get(call)
        return self.ids.get(call)

    def _call(self, mod: IRModule, site: CallSite) -> Call | None:
        """The call of a module at a call site; None if there is none, or if it has a different
        callee."""
        key = mod, site.function
        if key not in self._calls:
            function = function_named(mod, site.function)
            self._calls[key] = [] if function is None else list(calls_of(function))
        calls = self._calls[key]
        found = calls[site.number] if site.number < len(calls) else None
        return found if found is not None and called(found) == site.name else None

    def compared(self, comparison: Comparison) -> str | None:
        """The id of the subject of a comparison: a region, or an operator of a region."""
        if comparison.call_site is not None:
            return self.at(comparison.call_site)
        return self.region(comparison.name.split()[0].removeprefix("@"))


class KernelCalls(NamedTuple):
    """The kernels of a region. inside: the kernel number, from 1, of each operator and composite.
    first: for each kernel, its first operator."""

    inside: dict[Expr, int]
    first: list[Call]


def kernel_calls(func: Function, card: RegionCard) -> KernelCalls:
    """The operators of a region's kernels.

    Kernels are named after their first operators, in the order of the region. A step without a
    separate kernel is fused into the kernel before it. If kernels and operators do not match, the
    result is empty.
    """
    steps = [
        node
        for node in post_order(func.body, enter=lambda n: not isinstance(n, Function))
        if isinstance(node, Call)
    ]
    found: dict[Expr, int] = {}
    first: list[Call] = []
    for step in steps:
        calls = list(operator_calls(step.op.body)) if isinstance(step.op, Function) else [step]
        left = list(calls)
        while len(first) < len(card.ops):
            name = card.ops[len(first)].name.rpartition("_")[0]
            head = next((call for call in left if call.op_name == name), None)
            if head is None:
                break
            left.remove(head)
            first.append(head)
        if first:
            found.update(dict.fromkeys([step, *calls], len(first)))
    return KernelCalls(found, first) if len(first) == len(card.ops) else KernelCalls({}, [])
