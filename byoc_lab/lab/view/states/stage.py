"""The fields of one stage of a state (`messages.State`), and the texts that depend on the kind of
state."""

from __future__ import annotations

from byoc_lab.lab.tracing import Stage as PassStage
from byoc_lab.lab.tracing.provenance import Provenance
from byoc_lab.lab.view.messages import Hunk, Lineage, Stage
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


def lineage_of(provenance: Provenance, ids: Ids, computed: dict[str, str]) -> Lineage:
    """The origins of the result's nodes, and the rules that created nodes. If the only origin of a
    node is the node with the same id, it is left out."""
    origins: dict[str, list[str]] = {}
    rules: dict[str, str] = {}
    for node, sources in provenance.results.items():
        ident = ids.of(node)
        found = list(dict.fromkeys(i for s in sources if (i := ids.get(s)) is not None))
        if found != [ident]:
            origins[ident] = found
        if rule := provenance.rule(node):
            rules[ident] = rule
    return {"origins": origins, "rules": rules, "computed": computed}


def stage_of(stage: PassStage, b: int, a: int | None, hunks: list[Hunk]) -> Stage:
    """A pass of a trace, with the positions of its modules, without its changes and events."""
    made = new_stage(stage.name, bool(stage.changed), stage.seconds, b, a, hunks)
    made["group"] = stage.group
    made["outcome"] = outcome(stage.outcome)
    made["events_total"] = len(stage.events)
    return made


def new_stage(
    name: str, changed: bool, seconds: float | None, b: int | None, a: int | None, hunks: list[Hunk]
) -> Stage:
    return {
        "name": name,
        "group": "",
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
