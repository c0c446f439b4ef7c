"""The fields of one stage of a state (see `state.py`), and the words that depend on its kind."""

from __future__ import annotations

from typing import Any

from byoc_lab.lab.tracing.provenance import Provenance
from byoc_lab.lab.view.states.captions import outcome, seconds_text
from byoc_lab.lab.view.states.ids import Ids

WORDS = {
    "before": "Before",
    "after": "After",
    "isNew": "new in this stage",
    "gone": "No longer found after this stage",
    "fresh": "new or changed here",
    "changedOnly": "Changed only",
}


def lineage_of(provenance: Provenance, ids: Ids) -> dict[str, Any]:
    """The origins of the nodes of a pass's result, where they are not the node with the same id,
    and the rules that created nodes."""
    origins: dict[str, list[str]] = {}
    rules: dict[str, str] = {}
    for node, sources in provenance.results.items():
        ident = ids.of(node)
        found = list(dict.fromkeys(i for s in sources if (i := ids.get(s)) is not None))
        if found != [ident]:
            origins[ident] = found
        if rule := provenance.rule(node):
            rules[ident] = rule
    return {"origins": origins, "rules": rules}


def new_stage(
    name: str, changed: bool, seconds: float | None, b: int | None, a: int | None, hunks: list[Any]
) -> dict[str, Any]:
    return {
        "name": name,
        "group": "",
        "skipped": "",
        "changed": changed,
        "outcome": outcome("changed" if changed else "unchanged"),
        "time": seconds_text(seconds),
        "summary": "",
        "caption": "",
        "before": b,
        "after": a,
        "hunks": hunks,
        "changes": [],
        "changes_total": 0,
        "events": [],
        "events_total": 0,
        "replaced": [],
        "origins": {},
        "rules": {},
        "computed": {},
        "error": None,
        "pending": "",
    }
