"""`explain_patterns` for Relax: the matches of each table entry, or the reason why it has no
matches."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from types import SimpleNamespace
from typing import Any

from byoc_lab.errors import ArgumentError, PassError, PredicateError, counted
from byoc_lab.lab.explaining import EntryReport, PatternReport
from byoc_lab.relax import backends
from byoc_lab.relax.ir.calls import COMPOSITE, called_functions, functions_of, host_functions
from byoc_lab.relax.ir.variables import variable_faults
from byoc_lab.relax.passes import applied, said
from byoc_lab.relax.patterns.checks import CallCheck, EntryCheck, ReasonedCheck, why_refused
from byoc_lab.relax.patterns.conditions import refusing_condition
from byoc_lab.relax.patterns.near_miss import NearMiss, NearMisses
from byoc_lab.relax.patterns.reading import RelaxFunction, RelaxPattern
from byoc_lab.relay.patterns.below import (
    alternatives,
    called_operators,
    needed_operators,
    post_order_patterns,
)
from byoc_lab.relay.patterns.expectation import expectation
from byoc_lab.relay.patterns.patterns import (
    ConstantPattern,
    DFPattern,
    ExprPattern,
    TupleGetItemPattern,
    TuplePattern,
    VarPattern,
)
from byoc_lab.run.relax_values import name_of
from byoc_lab.run.tvm_runtime import import_tvm

NO_CALLS = (ConstantPattern, ExprPattern, TupleGetItemPattern, TuplePattern, VarPattern)
"""Patterns that match no calls."""


class Check:
    """The check of an entry, and its last result.

    raised: the error that it raised, as an error of byoc_lab, because TVM changes its class.
    leaked: a sentence about values inside the match that are used outside it, if this is why the
    check refused: it accepts the same match if these uses are hidden.
    """

    def __init__(self, name: str, check: Any):
        self.name, self.check = name, check
        self.raised: PredicateError | None = None
        self.refused: dict[Any, str] = {}  # refused calls and reasons
        self.leaked = ""

    def __call__(self, context: Any) -> bool:
        try:
            reason = why_refused(self.check, context, self.name)
            if reason is not None:
                self.leaked = self._leaked(context)
                self.refused[context.matched_expr] = reason or self._condition(context)
        except PredicateError as error:
            self.raised = error
            raise
        return reason is None

    def _condition(self, context: Any) -> str:
        """The condition for which a check without a reason refuses, if another run of it shows
        one."""
        if self.leaked:
            return f"{self.leaked}; without that use it accepts"
        check = self.check
        while isinstance(check, EntryCheck):
            check = check.check
        if isinstance(check, CallCheck):
            return refusing_condition(check.supports, context.matched_expr)
        return "" if isinstance(check, ReasonedCheck) else refusing_condition(check, context)

    def _leaked(self, context: Any) -> str:
        inside = set(context.matched_bindings)
        result = context.value_to_bound_var[context.matched_expr]
        uses = {v: list(context.var_usages.get(v, ())) for v in inside - {result}}
        outside = {v: [u for u in users if u not in inside] for v, users in uses.items()}
        leaks = {v: users for v, users in outside.items() if users}
        if not leaks:
            return ""
        kept = {v: [u for u in users if u in inside] for v, users in uses.items()}
        parts = ("matched_expr", "annotated_expr", "matched_bindings", "value_to_bound_var")
        alone = SimpleNamespace(**{name: getattr(context, name) for name in parts})
        alone.var_usages = {**kept, result: []}
        try:
            accepted = self.check(alone)
        except Exception:  # it requires TVM's own object, so it cannot be asked again
            return ""
        if not accepted:
            return ""
        return " and ".join(
            f"%{name_of(v)} is inside the match, and %{name_of(users[0])} uses it, too"
            for v, users in leaks.items()
        )


@dataclass(frozen=True)
class Entry:
    """An entry of a table for FuseOpsByPattern. key: a unique name, because tables may repeat
    names. given: TVM's entry with that unique name. check: its check, if any."""

    name: str
    pattern: Any
    key: str
    given: Any
    check: Check | None = None

    @property
    def unchecked(self) -> Entry:
        """The entry without its check."""
        return replace(self, given=(self.key, self.pattern), check=None)

    @cached_property
    def read(self) -> RelaxPattern:
        """The pattern, converted to Relay."""
        return RelaxPattern(self.pattern)

    @cached_property
    def operators(self) -> set[str]:
        """The operators in the pattern, without "relax."."""
        parts = post_order_patterns(self.read.root)
        return {name for part in parts for name in called_operators(part) or ()}


@dataclass(frozen=True, eq=False)
class RelaxEntryReport(EntryReport):
    """The report of one entry. If it never matches, `miss` is the mismatch of its nearest partial
    match.

    idle: whether the entry is irrelevant for the modules: they lack one of its operators, or other
    entries match the calls that its check refuses.
    """

    miss: NearMiss | None = None
    idle: bool = False

    @property
    def near(self) -> bool:
        """Whether the entry is relevant for the modules, and a call matches the root of its
        pattern, or the whole pattern but not its check."""
        fits = self.status == "refused" or (self.miss is not None and self.miss.fit.matched > 0)
        return fits and not self.idle


def explain_patterns(table: str | Sequence[Any], mods: Sequence[Any]) -> PatternReport:
    """For each entry of a table for FuseOpsByPattern, report the number of its matches in Relax
    modules, or the reason why it has no matches.

    table: entries (name, pattern, ...) or FusionPatterns, or the name of a back end: DNNL, or a
    name with patterns registered in TVM (`relax.backend.get_patterns_with_prefix`). mods: the input
    modules of FuseOpsByPattern.

    An entry without a match is run alone, then without its check. If it still has no match, TVM's
    matcher is asked about each part of the pattern (`near_miss`). If FuseOpsByPattern fails at the
    match of an entry, or leaves a variable unbound, the other entries are reported without it.
    Raises ArgumentError for a malformed entry, UnknownNameError for a back end without patterns,
    PredicateError if a check raises.
    """
    entries = entries_of(backends.get(table).table() if isinstance(table, str) else table)
    failed: dict[str, str] = {}
    rest = entries
    try:
        made = composites(entries, mods)
    except PredicateError:
        raise
    except PassError:
        failed = _failed(entries, mods)
        rest = [entry for entry in entries if entry.key not in failed]
        made = composites(rest, mods)
    functions = [RelaxFunction(f) for mod in mods for f in host_functions(mod)]
    return PatternReport(
        [
            RelaxEntryReport(n, entry.name, "never", failed[entry.key])
            if entry.key in failed
            else _matched(n, entry, rest, made, mods) or _unmatched(n, entry, functions)
            for n, entry in enumerate(entries)
        ]
    )


def _failed(entries: Sequence[Entry], mods: Sequence[Any]) -> dict[str, str]:
    """The keys of entries at whose matches FuseOpsByPattern fails, with TVM's message, or makes
    functions with unbound variables."""
    failed = {}
    for entry in entries:
        try:
            composites([entry], mods)
        except PredicateError:
            raise
        except PassError as error:
            cause = error.__cause__
            failed[entry.key] = (
                f"FuseOpsByPattern fails at its match: {said(cause)}"
                if isinstance(cause, Exception)
                else str(error)
            )
    return failed


def entries_of(table: Sequence[Any]) -> list[Entry]:
    """The entries of a table. Raises ArgumentError."""
    made = import_tvm().relax.transform.FusionPattern
    found = []
    for n, given in enumerate(table):
        if isinstance(given, tuple) and len(given) >= 2:
            name, pattern, *parts = given
        elif hasattr(given, "pattern") and hasattr(given, "name"):
            name, pattern = given.name, given.pattern
            parts = [given.annotation_patterns, given.check, given.attrs_getter]
        else:
            raise ArgumentError(
                f"an entry of a pattern table is (name, pattern, ...) or a FusionPattern, found "
                f"{given!r:.80}"
            )
        check = Check(str(name), parts[1]) if len(parts) > 1 and parts[1] is not None else None
        parts[1:2] = [check] * len(parts[1:2])
        key = f"{n}: {name}"
        found.append(Entry(str(name), pattern, key, made(key, pattern, *parts), check))
    return found


def fused(entries: Sequence[Entry], mods: Sequence[Any]) -> list[Any]:
    """The modules after FuseOpsByPattern with these entries.

    Raises PredicateError if a check raises, and the errors of `passes.applied`.
    """
    fuse = import_tvm().relax.transform.FuseOpsByPattern([e.given for e in entries])
    try:
        return [applied([fuse], mod, "explain_patterns") for mod in mods]
    except PassError as error:
        for entry in entries:
            if entry.check is not None and entry.check.raised is not None:
                raise entry.check.raised from error
        raise


def composites(entries: Sequence[Entry], mods: Sequence[Any]) -> dict[str, Counter[str]]:
    """The calls of composites that FuseOpsByPattern creates in the modules, by the key of the
    entry: for each composite, the number of its calls, because equal matches share a composite.
    Arguments and errors: as for `fused`, and PassError if the result has unbound variables."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for n, mod in enumerate(fused(entries, mods)):
        for fault in variable_faults(mod):
            if fault.free:
                raise PassError(
                    f"FuseOpsByPattern moves a binding after a use: {fault.message} any more. A "
                    f"match has a value on which another operand of the match depends; leave that "
                    f"value out of the pattern, or let its check refuse the match"
                )
        called = Counter(called_functions(mod))
        for symbol, function in functions_of(mod):
            if function.attrs and COMPOSITE in function.attrs:
                found[str(function.attrs[COMPOSITE])][f"{n} {symbol}"] += called[symbol]
    return found


def _matched(
    position: int,
    entry: Entry,
    entries: Sequence[Entry],
    made: Mapping[str, Counter[str]],
    mods: Sequence[Any],
) -> RelaxEntryReport | None:
    """The report of an entry that matches, at least alone and without its check."""
    calls = made.get(entry.key)
    if calls:
        times = counted(len(calls), "composite")
        more = f", called {calls.total()} times" * (calls.total() > len(calls))
        return RelaxEntryReport(position, entry.name, "matches", times + more, calls.total())
    alone = _matches([entry], entry, mods)
    if alone:
        earlier = [e for e in takewhile(lambda e: e is not entry, entries) if e.key in made]
        taking = [e for e in earlier if _matches([e, entry], entry, mods) < alone]
        others = tuple(e.name for e in taking or earlier)
        reason = f"it matches alone; earlier entries take the calls: {', '.join(others)}"
        return RelaxEntryReport(
            position, entry.name, "shadowed", reason, alone=alone, shadowed_by=others
        )
    if _fits([entry.unchecked], entry, mods):
        reason = "the pattern matches, and the check of the entry refuses each match"
        refusals = [] if entry.check is None else list(dict.fromkeys(entry.check.refused.values()))
        if any(refusals):
            reason += f": {' and '.join(filter(None, refusals))}"
        rest = [e for e in entries if e is not entry]
        idle = not _fits([*rest, entry.unchecked], entry, mods)
        if idle:
            reason += "; other entries take these calls"
        return RelaxEntryReport(position, entry.name, "refused", reason, idle=idle)
    return None


def _matches(entries: Sequence[Entry], entry: Entry, mods: Sequence[Any]) -> int:
    """The number of matches of an entry if these entries are the table."""
    return composites(entries, mods)[entry.key].total()


def _fits(entries: Sequence[Entry], entry: Entry, mods: Sequence[Any]) -> bool:
    """Whether an entry matches if these entries are the table, even if FuseOpsByPattern fails at a
    match that is refused otherwise."""
    try:
        return _matches(entries, entry, mods) > 0
    except PredicateError:
        raise
    except PassError:
        return True


def _in_words(root: DFPattern) -> str:
    operator = isinstance(root, ExprPattern)
    return "an operator, not a call of it" if operator else expectation(root)


def _unmatched(position: int, entry: Entry, functions: Sequence[RelaxFunction]) -> RelaxEntryReport:
    roots = list(alternatives(entry.read.root))
    if all(isinstance(root, NO_CALLS) for root in roots):
        reason = (
            f"FuseOpsByPattern tries a pattern only at calls, and the root of the pattern is "
            f"{' or '.join(map(_in_words, roots))}"
        )
        return RelaxEntryReport(position, entry.name, "never", reason)
    best: NearMiss | None = None
    present: set[str] = set()
    for function in functions:
        misses = NearMisses(entry.read, function)
        found = misses.match
        if found is not None:
            why = (
                "FuseOpsByPattern creates no composite for it"
                if found.dataflow
                else "which is not in a dataflow block, and FuseOpsByPattern searches only there"
            )
            reason = f"the pattern matches at %{found.variable}, and {why}"
            return RelaxEntryReport(position, entry.name, "never", reason)
        present.update(call.name for call in function.calls)
        miss = misses.nearest()
        if miss is not None and (best is None or miss.fit.rank > best.fit.rank):
            best = miss
    reason = f"nothing fits; nearest: {best}" if best is not None else "the module has no operators"
    idle = not needed_operators(entry.read.root) <= present
    return RelaxEntryReport(position, entry.name, "never", reason, miss=best, idle=idle)
