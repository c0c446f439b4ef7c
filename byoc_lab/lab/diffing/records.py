"""`Change`: one difference, and the summary of many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import counted, enumerated
from byoc_lab.printing import printable, with_short_names
from byoc_lab.relay.ir.expr import Expr

KINDS = {  # kind -> the wording for a count such as "3 calls", in the order of the summary
    "outlined": "{} moved into {}",
    "composed": "{} composed into {}",
    "moved": "{} moved into {}",
    "annotated": "{} added",
    "added": "{} added",
    "removed": "{} removed",
    "renamed": "{} renamed",
    "attribute": "attributes of {} changed",
    "constant": "constants of {} changed",
    "operands": "operands of {} changed",
    "type": "types of {} changed",
}
BESIDE = {  # the wording for two modules if neither was made from the other
    **KINDS,
    "outlined": "{} placed in {} instead",
    "composed": "{} placed in {} instead",
    "moved": "{} placed in {} instead",
}
MAX_PLACES = 3  # maximum number of destinations listed in the summary


@dataclass(frozen=True, eq=False)
class Change:
    """One difference.

    kind: one of `KINDS`: "outlined" (moved into an external function), "composed" (into a composite
        or fused function literal), "moved", "annotated" (an annotation was added), "added",
        "removed", "renamed" (a global function), "attribute", "constant" (another value),
        "operands" or "type" (checked type, or annotation).
    text: the difference in words. before, after: the node in both modules, None for the module that
    lacks it.
    noun: the kind of node, such as "call". place: the destination ("@f") of a moved node.
    """

    kind: str
    text: str
    before: Expr | None
    after: Expr | None
    noun: str = "call"
    place: str = ""

    @printable
    def __str__(self) -> str:
        return f"{self.kind}: {self.text}"

    def to_data(self) -> dict[str, str]:
        """The change as JSON data, without its nodes."""
        return {"kind": self.kind, "text": self.text, "noun": self.noun, "place": self.place}


def summary_of(changes: Sequence[Change], words: Mapping[str, str] = KINDS) -> str:
    """The changes with their counts, such as "59 calls moved into @f, 2 calls added". words: the
    words for each kind of change."""
    found: dict[str, list[Change]] = {}
    for change in changes:
        found.setdefault(change.kind, []).append(change)
    parts: list[str] = []
    for kind in KINDS:
        group = found.get(kind, [])
        if kind == "renamed" and len(group) <= MAX_PLACES:
            parts += [change.text for change in group]
        elif words[kind].count("{}") == 2:
            parts += _by_place(words[kind], group)
        else:
            nouns = Counter(change.noun for change in group)
            parts += [words[kind].format(counted(n, noun)) for noun, n in nouns.items()]
    return with_short_names(", ".join(parts)) or "no change"


def _by_place(template: str, group: Sequence[Change]) -> list[str]:
    """The count for each destination; one count if there are many destinations."""
    places = list(dict.fromkeys(change.place for change in group))
    if len(places) <= MAX_PLACES:
        members = {place: [c for c in group if c.place == place] for place in places}
    else:
        noun = "function" if places[0].startswith("@") else "group"
        named = ", ".join(places[:MAX_PLACES])
        more = len(places) - MAX_PLACES
        members = {f"{counted(len(places), noun)} ({named} and {more:,} more)": list(group)}
    return [template.format(_counts(changes), place) for place, changes in members.items()]


def _counts(changes: Sequence[Change]) -> str:
    nouns = Counter(change.noun for change in changes)
    return enumerated(counted(n, noun) for noun, n in nouns.items())


def attributes_text(old: Any, new: Any) -> str:
    """The attributes that differ, as words: "axis 1 to 0"."""
    before, after = dict(old or {}), dict(new or {})
    keys = [k for k in {**before, **after} if before.get(k) != after.get(k)]
    if not keys:
        return f"{getattr(old, 'type_key', None)} to {getattr(new, 'type_key', None)}"
    return ", ".join(f"{k} {before.get(k)} to {after.get(k)}" for k in keys)
