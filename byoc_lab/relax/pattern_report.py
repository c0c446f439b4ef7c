"""`explain_patterns` of Relax: which entries of a table match, and why the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import ArgumentError, counted
from byoc_lab.lab.explaining import EntryReport, PatternReport
from byoc_lab.relax.calls import host_functions
from byoc_lab.relax.near_miss import CONSTANT, Miss, matching_calls, nearest_miss, root_kinds
from byoc_lab.run.tvm_runtime import import_tvm

ROOTS = {
    "ConstantPattern": "a constant", "DataflowVarPattern": "a variable",
    "ExprPattern": "an operator, not a call of it", "TupleGetItemPattern": "an item of a tuple",
    "TuplePattern": "a tuple", "UnorderedTuplePattern": "a tuple", "VarPattern": "a variable",
}  # fmt: skip
"""What no call can be, in words, by the class of the pattern."""


@dataclass(frozen=True)
class Entry:
    """An entry of a table for FuseOpsByPattern. key: a name that no other entry has, as tables may
    repeat names. given: TVM's entry under that name."""

    name: str
    pattern: Any
    key: str
    given: Any

    @property
    def unchecked(self) -> tuple[str, Any]:
        return self.key, self.pattern


@dataclass(frozen=True, eq=False)
class RelaxEntryReport(EntryReport):
    """Of an entry that never matches, `miss` is the part that fails where it comes nearest."""

    miss: Miss | None = None

    @property
    def near(self) -> bool:
        """Whether a call of the module fits the root of the pattern, or all of it but the check."""
        return self.status == "refused" or (self.miss is not None and self.miss.fitting > 0)

    @property
    def unbound(self) -> bool:
        """Whether it needs a constant where the module has a parameter."""
        relax = import_tvm().relax
        miss = self.miss
        return miss is not None and miss.kind == CONSTANT and isinstance(miss.value, relax.Var)


def explain_patterns(table: Sequence[Any], mod: Any) -> PatternReport:
    """For each entry of a table for FuseOpsByPattern: how often it matches in a module of Relax, or
    why it does not.

    table: entries (name, pattern, ...) or FusionPatterns. mod: as FuseOpsByPattern would get it.

    An entry that matches nothing is run alone, and then without its check. What remains is asked of
    TVM's matcher part by part (`near_miss`). Raises ArgumentError for a malformed entry.
    """
    entries = entries_of(table)
    made = composites([e.given for e in entries], mod)
    return PatternReport([_report(n, e, entries, made, mod) for n, e in enumerate(entries)])


def entries_of(table: Sequence[Any]) -> list[Entry]:
    """The entries of a table. Raises ArgumentError."""
    made = import_tvm().relax.transform.FusionPattern
    found = []
    for n, given in enumerate(table):
        if isinstance(given, tuple) and len(given) >= 2:
            key = f"{n}: {given[0]}"
            found.append(Entry(str(given[0]), given[1], key, made(key, *given[1:])))
        elif hasattr(given, "pattern") and hasattr(given, "name"):
            key = f"{n}: {given.name}"
            parts = (given.pattern, given.annotation_patterns, given.check, given.attrs_getter)
            found.append(Entry(str(given.name), given.pattern, key, made(key, *parts)))
        else:
            raise ArgumentError(
                f"an entry of a pattern table is (name, pattern, ...) or a FusionPattern, found "
                f"{given!r:.80}"
            )
    return found


def composites(patterns: Sequence[Any], mod: Any) -> Counter[str]:
    """How many composites FuseOpsByPattern makes of each name."""
    fused = import_tvm().relax.transform.FuseOpsByPattern(list(patterns))(mod)
    names = (
        str(f.attrs["Composite"])
        for f in host_functions(fused)
        if f.attrs and "Composite" in f.attrs
    )
    return Counter(names)


def _report(
    position: int, entry: Entry, entries: Sequence[Entry], made: Counter[str], mod: Any
) -> RelaxEntryReport:
    count = made[entry.key]
    if count:
        times = counted(count, "composite")
        return RelaxEntryReport(position, entry.name, "matches", times, count)
    alone = composites([entry.given], mod)[entry.key]
    if alone:
        earlier = [e for e in entries[:position] if made[e.key]]
        taking = [e for e in earlier if composites([e.given, entry.given], mod)[entry.key] < alone]
        others = tuple(e.name for e in taking or earlier)
        reason = f"it matches alone; earlier entries take the calls: {', '.join(others)}"
        return RelaxEntryReport(
            position, entry.name, "shadowed", reason, alone=alone, shadowed_by=others
        )
    if composites([entry.unchecked], mod)[entry.key]:
        reason = "the pattern matches, and the check of the entry refuses each match"
        return RelaxEntryReport(position, entry.name, "refused", reason)
    return _unmatched(position, entry, mod)


def _unmatched(position: int, entry: Entry, mod: Any) -> RelaxEntryReport:
    kinds = root_kinds(entry.pattern)
    if not kinds & {"CallPattern", "WildcardPattern"}:
        reason = (
            f"FuseOpsByPattern asks calls alone, and the root of the pattern is "
            f"{' or '.join(ROOTS.get(kind, kind) for kind in sorted(kinds))}"
        )
        return RelaxEntryReport(position, entry.name, "never", reason)
    best: Miss | None = None
    for function in host_functions(mod):
        found = next(iter(matching_calls(entry.pattern, function)), None)
        if found is not None:
            why = (
                "FuseOpsByPattern makes no composite of it"
                if found.dataflow
                else "that is in no dataflow block, where alone FuseOpsByPattern looks"
            )
            reason = f"the pattern matches at %{found.variable}, and {why}"
            return RelaxEntryReport(position, entry.name, "never", reason)
        miss = nearest_miss(entry.pattern, function)
        if miss is not None and (best is None or miss.fitting > best.fitting):
            best = miss
    reason = f"nothing fits; nearest: {best}" if best is not None else "the module has no operators"
    return RelaxEntryReport(position, entry.name, "never", reason, miss=best)
