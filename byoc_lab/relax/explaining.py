"""`relax.explain`: which operators of a Relax module DNNL computes, and why not the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.lab.explaining.answers import Answers
from byoc_lab.printing import printable
from byoc_lab.relax import backends
from byoc_lab.relax.backends import RelaxBackend
from byoc_lab.relax.batch import NOMINAL, unknown_sizes, with_sizes
from byoc_lab.relax.calls import (
    CODEGEN,
    OperatorCall,
    checked_relax,
    host_functions,
    operator_calls,
    region_calls,
    region_functions,
)
from byoc_lab.relax.costs import call_flops
from byoc_lab.relax.near_miss import Miss, nearest_miss, operators_of
from byoc_lab.relax.operators import OPERATORS
from byoc_lab.relax.partition import TARGET, unreached, why_not_relax
from byoc_lab.relax.pattern_report import Entry, composites, entries_of
from byoc_lab.run.tvm_runtime import import_tvm

CAUSES = {
    "no-pattern": "the back end has no pattern with the operator",
    "no-match": "the back end has patterns with the operator, and none matches here",
    "check": "the back end has the operator, and refuses this call",
    "needs-pass": "the call is in no dataflow block, where alone patterns are matched",
    "other-function": "the partitioning takes the operators of main alone",
    "unknown": "a pattern of the back end matches the call, and its passes left it",
}
"""Why a call is not offloaded, in a word and in a sentence."""
LOWERED = ("call_tir", "call_tir_inplace", "call_dps_packed", "call_pure_packed")
"""Operators that call code below operators."""


@dataclass(frozen=True)
class RelaxExplanation:
    """The outcome of one operator call after the passes before the partitioning.

    name: of the operator; variable: what its result is bound to; type: of it. region: the symbol of
    the region that computes it; back_end: whose region that is. cause, reason: if none does: one of
    CAUSES, and in words. change: what would turn that, which was tried; "" where nothing that was
    tried did. pattern, nearest: not known, "".
    """

    name: str
    variable: str
    type: str
    region: str | None = None
    cause: str | None = None
    reason: str = ""
    change: str = ""
    call: Any = field(default=None, repr=False, compare=False)
    back_end: str | None = None

    where = "not offloaded"
    pattern = nearest = without_change = ""

    @property
    def offloaded(self) -> bool:
        return self.region is not None

    @property
    def status(self) -> str:
        """ "offloaded" or "host"."""
        return "offloaded" if self.offloaded else "host"

    @property
    def number(self) -> str:
        """The name of its result in the printed module, such as "%lv1"."""
        return f"%{self.variable}"

    @property
    def flops(self) -> int | None:
        """Floating-point operations; None where they are not known."""
        return call_flops(self.call)

    def shared_change(self, group: Sequence[RelaxExplanation]) -> str | None:
        """The first change of calls of a group."""
        return next(filter(None, (e.change for e in group)), None)

    def offloaded_by(self, change: str) -> bool:
        """Whether a change was tried that offloads the call."""
        return change == self.change

    @property
    def about(self) -> list[str]:
        return [f"  reason    {self.reason}"]

    @property
    def row(self) -> dict[str, Any]:
        """The fields of an explanation but for the call, which is TVM's."""
        names = ("name", "variable", "type", "region", "cause", "reason", "change")
        return {name: getattr(self, name) for name in names}

    @printable
    def __str__(self) -> str:
        head = f"{self.name} ({self.number}: {self.type})"
        if self.offloaded:
            return f"{head}: offloaded in @{self.region}"
        change = [f"  change    {self.change}"] if self.change else []
        return "\n".join([f"{head}: {self.where}: {self.cause}", *self.about, *change])


class RelaxExplanations(Answers[RelaxExplanation]):
    """The explanations of a module of Relax; see `Answers`."""


def explain(mod: Any, target: str = TARGET) -> RelaxExplanations:
    """Of each operator of a Relax module, whether a back end computes it, and if not, why not.

    mod: before partitioning for the target, or partitioned. Operators are those that the passes in
    front of the partitioning leave (batch norms are folded there). A change is one that was tried:
    it is named if the module, changed so, has that call in a region. target: a back end of
    `relax.register`, or one whose patterns TVM has.

    Raises ArgumentError for something else than a module of Relax, UnknownNameError for another
    target, PassError for a pass of TVM that fails.
    """
    mod = checked_relax(mod, "relax.explain")
    backend = backends.get(target)
    partitioned = any(str(f.attrs[CODEGEN]) == target for f in region_functions(mod).values())
    cut = mod if partitioned else backend.partition(mod)
    regions = region_functions(cut)
    inside = {symbol: list(operator_calls(f)) for symbol, f in regions.items()}
    found = [  # regions that are equal are one function, which is called several times
        RelaxExplanation(
            c.name,
            c.variable,
            _type(c),
            symbol,
            call=c.call,
            back_end=str(regions[symbol].attrs[CODEGEN]),
        )
        for symbol in region_calls(cut)
        for c in inside[symbol]
    ]
    asked = _Asked(backend, None if partitioned else mod)
    apart = {cut[gv] for gv in unreached(cut)}
    for function in host_functions(cut):
        for call in operator_calls(function):
            found.append(_on_host(call, asked, function, function in apart))
    return RelaxExplanations(target, found)


def _on_host(call: OperatorCall, asked: _Asked, function: Any, apart: bool) -> RelaxExplanation:
    """apart: whether it is in a function that main does not call."""
    cause, reason = asked.why(call, function)
    if apart and cause in ("unknown", "needs-pass"):
        cause, reason = "other-function", CAUSES["other-function"]
    change = "" if cause in ("no-pattern", "other-function") else asked.change(call, function)
    return RelaxExplanation(
        call.name, call.variable, _type(call), None, cause, reason, change, call.call
    )


class _Function:
    """The answers of pattern-table entries for a function of Relax, each asked once."""

    def __init__(self, function: Any):
        self.function = function
        self.miss = cache(self._miss)
        self._refused = cache(self._said_no_to)

    @cached_property
    def values(self) -> Any:
        """Map each variable to the value that is bound to it."""
        return import_tvm().relax.analysis.get_var2val(self.function)

    def refusal(self, entry: Entry, call: Any) -> str | None:
        """The reason that the check of an entry refuses a call when FuseOpsByPattern asks it, ""
        without a reason; None if it accepts."""
        return self._refused(entry).get(call)

    def refusal_around(self, entry: Entry, call: Any) -> str | None:
        """As `refusal`, of a match of the entry that has the call below its root."""
        for root, reason in self._refused(entry).items():
            parts = (entry.pattern.extract_matched_expr(root, self.values) or {}).values()
            if any(self.values.get(part, part).same_as(call) for part in parts):
                return reason
        return None

    def _said_no_to(self, entry: Entry) -> dict[Any, str]:
        if entry.check is None:
            return {}
        entry.check.refused.clear()
        composites([entry], [import_tvm().IRModule({"main": self.function})])
        return dict(entry.check.refused)

    def _miss(self, entry: Entry) -> Miss | None:
        """The failing part of a pattern at its nearest match."""
        return nearest_miss(entry.pattern, self.function)


class _Asked:
    """Queries to a back end about calls on the host, and changes of a module, each tried once: the
    calls they leave on the host. mod: None if no change is to be tried."""

    def __init__(self, backend: RelaxBackend, mod: Any):
        self.backend, self.mod = backend, mod
        self._gone: dict[str, Counter[Any]] | None = None
        self._asked: dict[Any, _Function] = {}

    @cached_property
    def entries(self) -> list[Entry]:
        return entries_of(self.backend.table())

    def why(self, call: OperatorCall, function: Any) -> tuple[str, str]:
        """The cause and the reason of a call on the host, in a function of Relax."""
        if call.name in LOWERED:
            return "no-pattern", (
                f"{call.name} calls code that an earlier pass made of operators, and patterns "
                f"match operators: run that pass after the partitioning"
            )
        if self.backend.name == TARGET:
            reason = why_not_relax(call.call)
            if reason is not None:
                return "check" if call.name in OPERATORS else "no-pattern", reason
            return self._left_over(call)
        with_it = [e for e in self.entries if f"relax.{call.name}" in operators_of(e.pattern)]
        if not with_it:
            return "no-pattern", f"no pattern of {self.backend.name} has {call.name}"
        asked = self._asked.setdefault(function, _Function(function))
        matching = [e for e in with_it if e.pattern.match(call.call, asked.values)]
        if matching:
            for e in matching:
                refusal = asked.refusal(e, call.call)
                if refusal is not None:
                    why = f"the pattern matches, and the check of {e.name} refuses"
                    return "check", f"{why}: {refusal}" if refusal else why
            return self._left_over(call)
        for e in with_it:
            refusal = asked.refusal_around(e, call.call)
            if refusal is not None:
                why = f"it is part of a match of {e.name}, whose check refuses"
                return "check", f"{why}: {refusal}" if refusal else why
        entry = with_it[0]
        miss = asked.miss(entry)
        near = f"; nearest: {miss}" if miss is not None else ""
        return "no-match", f"pattern {entry.name} has {call.name}, and does not match here{near}"

    def _left_over(self, call: OperatorCall) -> tuple[str, str]:
        cause = "unknown" if call.dataflow else "needs-pass"
        return cause, CAUSES[cause]

    def change(self, call: OperatorCall, function: Any) -> str:
        """The first change that leaves fewer calls of this operator on the host, and fewer of this
        reason; "" if none."""
        if self.mod is None:
            return ""
        if self._gone is None:
            before = self._left(self.mod)
            self._gone = {}
            for what, made in _attempts(self.mod):
                # Passes of TVM stop at some modules; a change that leads there changes nothing.
                with suppress(PassError):
                    self._gone[what] = before - self._left(made)
        keys = self._keys(call, function)
        return next((what for what, gone in self._gone.items() if all(gone[k] for k in keys)), "")

    def _left(self, mod: Any) -> Counter[Any]:
        """The number of calls that stay on the host, by operator, and by operator and reason."""
        cut = self.backend.partition(mod)
        return Counter(
            key for f in host_functions(cut) for c in operator_calls(f) for key in self._keys(c, f)
        )

    def _keys(self, call: OperatorCall, function: Any) -> list[Any]:
        return [call.name, (call.name, *self.why(call, function))]


def _attempts(mod: Any) -> Iterator[tuple[str, Any]]:
    """Changed modules, each with its change in words."""
    transform = import_tvm().relax.transform
    yield (
        "run relax.transform.ConvertToDataflow(min_size=1) before",
        transform.ConvertToDataflow(1)(mod),
    )
    sizes = list(unknown_sizes(mod["main"]))
    if sizes:
        shown = ", ".join(f'"{name}": size' for name in sizes)
        known = with_sizes(mod, dict.fromkeys(sizes, NOMINAL))
        yield f"give sizes with relax.transform.BindSymbolicVars({{{shown}}}) before", known


def _type(call: OperatorCall) -> str:
    node = call.call
    found = str(node.ty if hasattr(node, "ty") else node.struct_info).strip()
    return found.splitlines()[-1].replace("R.", "")
