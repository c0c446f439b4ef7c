"""`explain_patterns` of Relax: which entries of a table match, and why the others do not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import ArgumentError, counted
from byoc_lab.lab.explaining import EntryReport, PatternReport
from byoc_lab.relax.calls import host_functions
from byoc_lab.relax.near_miss import CONSTANT, Miss, matching_calls, nearest_miss
from byoc_lab.run.tvm_runtime import import_tvm


@dataclass(frozen=True)
class Entry:
    """An entry of a table for FuseOpsByPattern. given: as it was given."""

    name: str
    pattern: Any
    given: Any

    @property
    def unchecked(self) -> tuple[str, Any]:
        return self.name, self.pattern


@dataclass(frozen=True, eq=False)
class RelaxEntryReport(EntryReport):
    """Of an entry that never matches, `miss` is the part that fails where it comes nearest."""

    miss: Miss | None = None

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
    found = []
    for given in table:
        if isinstance(given, tuple) and len(given) >= 2:
            found.append(Entry(str(given[0]), given[1], given))
        elif hasattr(given, "pattern") and hasattr(given, "name"):
            found.append(Entry(str(given.name), given.pattern, given))
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
    count = made[entry.name]
    if count:
        times = counted(count, "composite")
        return RelaxEntryReport(position, entry.name, "matches", times, count)
    alone = composites([entry.given], mod)[entry.name]
    if alone:
        others = tuple(e.name for e in entries[:position] if made[e.name])
        reason = f"it matches alone; earlier entries take the calls: {', '.join(others)}"
        return RelaxEntryReport(
            position, entry.name, "shadowed", reason, alone=alone, shadowed_by=others
        )
    if composites([entry.unchecked], mod)[entry.name]:
        reason = "the pattern matches, and the check of the entry refuses each match"
        return RelaxEntryReport(position, entry.name, "refused", reason)
    return _unmatched(position, entry, mod)


def _unmatched(position: int, entry: Entry, mod: Any) -> RelaxEntryReport:
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
