"""`relax.explain`: which operators of a Relax module DNNL computes, and why not the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.lab.explaining.answers import Answers
from byoc_lab.printing import printable
from byoc_lab.relax import backends
from byoc_lab.relax.backends import RelaxBackend, Table
from byoc_lab.relax.ir.batch import NOMINAL, unknown_sizes, with_sizes
from byoc_lab.relax.ir.calls import (
    CODEGEN,
    OperatorCall,
    checked_relax,
    host_functions,
    operator_calls,
    region_calls,
    region_functions,
)
from byoc_lab.relax.lab.costs import call_flops
from byoc_lab.relax.operators import OPERATORS
from byoc_lab.relax.partition import TARGET, unreached, why_not_relax
from byoc_lab.relax.patterns.near_miss import NearMisses
from byoc_lab.relax.patterns.reading import RelaxFunction
from byoc_lab.relax.patterns.report import Entry, entries_of, fused
from byoc_lab.run.tvm_runtime import import_tvm

CAUSES = {
    "no-pattern": "the back end has no pattern with the operator",
    "no-match": "the back end has patterns with the operator, and none matches here",
    "check": "the back end has the operator, and refuses this call",
    "order": "an earlier entry of the table took a part of the match",
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
    given, cut = (mod, mod) if partitioned else backend.matched(mod)
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
    asked, there = _Asked(backend, None if partitioned else mod), _Given(given)
    apart = {cut[gv] for gv in unreached(cut)}
    for function in host_functions(cut):
        for call in operator_calls(function):
            where = there.of(call, function)
            found.append(_on_host(call, asked, where, function in apart))
    return RelaxExplanations(target, found)


def _on_host(call: OperatorCall, asked: _Asked, where: _Function, apart: bool) -> RelaxExplanation:
    """apart: whether it is in a function that main does not call."""
    cause, reason = asked.why(call, where)
    if apart and cause in ("unknown", "needs-pass", "order"):
        cause, reason = "other-function", CAUSES["other-function"]
    change = "" if cause in ("no-pattern", "other-function") else asked.change(call, where)
    return RelaxExplanation(
        call.name, call.variable, _type(call), None, cause, reason, change, call.call
    )


class _Given:
    """The module that FuseOpsByPattern gets: there patterns are matched, not in the result, where
    the operators of other matches are gone."""

    def __init__(self, mod: Any):
        self._places: dict[Any, _Function] = {}
        self._new: dict[Any, _Function] = {}
        for function in host_functions(mod):
            asked = _Function(function)
            self._places.update(dict.fromkeys(asked.calls, asked))

    def of(self, call: OperatorCall, function: Any) -> _Function:
        """The function that a call of the partitioned module was matched in; the given one for a
        call that passes have bound to a new variable."""
        if call.bound in self._places:
            return self._places[call.bound]
        return self._new.setdefault(function, _Function(function))


class _Function:
    """The answers of pattern-table entries for a function of Relax, each asked once."""

    def __init__(self, function: Any):
        self.function = function
        self.misses = cache(self._misses)
        self._alone = cache(self._run_alone)
        self._matches = cache(self._found_by)
        self.read = RelaxFunction(function)
        self.values = self.read.values
        self.calls = {c.bound: c for c in self.read.calls if c.bound is not None}

    def refusal(self, entry: Entry, call: OperatorCall) -> str | None:
        """The reason that the check of an entry refuses a match that has a call when
        FuseOpsByPattern asks it, "" without a reason; None if it refuses no such match."""
        _, refused = self._alone(entry)
        return next((refused[r] for r in self._roots(entry, call) if r in refused), None)

    def is_root(self, entry: Entry, call: OperatorCall) -> bool:
        """Whether a pattern matches with the call as its root."""
        found = self.calls.get(call.bound, call)
        return bool(entry.pattern.match(found.call, self.values))

    def takes(self, entry: Entry, call: OperatorCall) -> bool:
        """Whether FuseOpsByPattern takes the call into a composite if the table has no other
        entry."""
        left, _ = self._alone(entry)
        return bool(self._roots(entry, call)) and call.bound not in left

    def _roots(self, entry: Entry, call: OperatorCall) -> list[Any]:
        """The roots of the matches that a call is in."""
        return self._matches(entry).get(call.bound, [])

    def _found_by(self, entry: Entry) -> dict[Any, list[Any]]:
        """The roots of the matches that each variable is in; operands of a match are outside."""
        bound = {c.call: variable for variable, c in self.calls.items()}
        found: dict[Any, list[Any]] = {}
        for root in bound:
            parts = entry.pattern.extract_matched_expr(root, self.values) or {}
            for part in filter(bound.__contains__, parts.values()):
                found.setdefault(bound[part], []).append(root)
        return found

    def _run_alone(self, entry: Entry) -> tuple[set[Any], dict[Any, str]]:
        """What FuseOpsByPattern with this entry alone leaves, and the roots that its check refuses,
        with the reasons."""
        if entry.check is not None:
            entry.check.refused.clear()
        (made,) = fused([entry], [import_tvm().IRModule({"main": self.function})])
        left = {c.bound for c in operator_calls(made["main"])}
        return left, {} if entry.check is None else dict(entry.check.refused)

    def _misses(self, entry: Entry) -> NearMisses:
        return NearMisses(entry.read, self.read)


class _Asked:
    """Queries to a back end about calls on the host, and changes, each tried once: the calls they
    leave on the host. mod: None if no change is to be tried."""

    def __init__(self, backend: RelaxBackend, mod: Any):
        self.backend, self.mod = backend, mod
        self._gone: dict[str, Counter[Any]] = {}
        self._late: dict[str, None] = {}  # entries of which earlier ones took a part

    @cached_property
    def entries(self) -> list[Entry]:
        return entries_of(self.backend.table())

    def why(self, call: OperatorCall, where: _Function) -> tuple[str, str]:
        """The cause and the reason of a call on the host. where: the function as FuseOpsByPattern
        gets it."""
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
        with_it = [e for e in self.entries if call.name in e.operators]
        if not with_it:
            return "no-pattern", f"no pattern of {self.backend.name} has {call.name}"
        roots = [e for e in with_it if where.is_root(e, call)]
        for e in [*roots, *with_it]:
            refusal = where.refusal(e, call)
            if refusal is not None:
                why = (
                    f"the pattern matches, and the check of {e.name} refuses"
                    if e in roots
                    else f"it is part of a match of {e.name}, whose check refuses"
                )
                return "check", f"{why}: {refusal}" if refusal else why
        for e in with_it:
            if where.takes(e, call):
                self._late[e.name] = None
                return (
                    "order",
                    f"{e.name} alone takes it; an earlier entry took a part of its match",
                )
        if roots:
            return self._left_over(call)
        there = where.calls.get(call.bound, call)
        misses = {entry: where.misses(entry).nearest_to(there) for entry in with_it}
        entry = max(with_it, key=lambda e: m.fit.matched if (m := misses[e]) is not None else 0)
        near = f"; nearest: {misses[entry]}" if misses[entry] is not None else ""
        return "no-match", f"pattern {entry.name} has {call.name}, and does not match here{near}"

    def _left_over(self, call: OperatorCall) -> tuple[str, str]:
        cause = "unknown" if call.dataflow else "needs-pass"
        return cause, CAUSES[cause]

    def change(self, call: OperatorCall, where: _Function) -> str:
        """The first change that leaves fewer calls of this operator on the host, and fewer of this
        reason; "" if none."""
        if self.mod is None:
            return ""
        keys = self._keys(call, where)
        for what, backend, mod in self._attempts():
            if what not in self._gone:
                # Passes of TVM stop at some modules; a change that leads there changes nothing.
                with suppress(PassError):
                    self._gone[what] = self._before - self._left(backend, mod)
            if all(self._gone.get(what, {}).get(key) for key in keys):
                return what
        return ""

    def _attempts(self) -> Iterator[tuple[str, RelaxBackend, Any]]:
        for what, made in self._modules:
            yield what, self.backend, made
        if self.backend.passes is None:
            for name in list(self._late):
                table = partial(_with_first, self.backend.table, name)
                what = f"move {name} to the front of the pattern table"
                yield what, replace(self.backend, table=table), self.mod

    @cached_property
    def _modules(self) -> list[tuple[str, Any]]:
        return list(_changed(self.mod))

    @cached_property
    def _before(self) -> Counter[Any]:
        return self._left(self.backend, self.mod)

    def _left(self, backend: RelaxBackend, mod: Any) -> Counter[Any]:
        """The number of calls that stay on the host, by operator, and by operator and reason."""
        given, cut = backend.matched(mod)
        there = _Given(given)
        return Counter(
            key
            for f in host_functions(cut)
            for c in operator_calls(f)
            for key in self._keys(c, there.of(c, f))
        )

    def _keys(self, call: OperatorCall, where: _Function) -> list[Any]:
        return [call.name, (call.name, *self.why(call, where))]


def _changed(mod: Any) -> Iterator[tuple[str, Any]]:
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


def _with_first(table: Table, name: str) -> list[Any]:
    """The entries of a table, those of one name first."""
    return sorted(table(), key=lambda e: str(e[0] if isinstance(e, tuple) else e.name) != name)


def _type(call: OperatorCall) -> str:
    return str(call.call.ty).strip().splitlines()[-1].replace("R.", "")
