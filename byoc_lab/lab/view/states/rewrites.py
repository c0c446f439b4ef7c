"""Steps inside a pass: the module before and after each rewrite.

A step is, as plain data:

    stage, rewrite  the position of the stage (from 0) and of the rewrite in it (from 1)
    modules         the module before this rewrite and after it, as in `state.py`
    hunks, replaced between the two, as in `state.py`
    event           the rewrite itself, as in `state.py`
    pending         "text": the modules and hunks have no text yet, of a large trace; or ""

Steps are computed on demand: a running notebook requests one at a time. A saved page cannot request
anything, so `with_steps` adds as many steps as the limit on their lines allows.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.states.collection import without_collection
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.state import Builder, Drawn, State

MAX_STEP_LINES = 20_000  # of all steps in one saved page: a few seconds of work, some 200 kB


@without_collection()
def step_of(
    trace: Trace,
    ids: Ids,
    stage: int,
    rewrite: int,
    drawn: Drawn | None = None,
    what: str = "text",
) -> State:
    """One step of a trace. `ids` and `drawn`: of the nodes and modules in the state of the trace;
    `what`: "picture" for a step without text.

    Raises StageIndexError for a stage or a rewrite that the trace does not have.
    """
    recorded = trace[stage]
    step = recorded.step(rewrite)
    builder = Builder(ids, drawn)
    replaced: set[str] = set()
    if step.is_reported:
        earlier, later = map(ids.follow, step.provenances)
        replaced = later - earlier
    else:
        builder.pair(step.diff)
    hunks: list[Any] = []
    if what == "picture":
        modules = [builder.picture(mod) for mod in (step.before, step.after)]
    else:
        before, after, hunks = builder.compare(step.diff)
        modules = [builder.modules[before], builder.modules[after]]
    return {
        "stage": stage,
        "rewrite": rewrite,
        "modules": modules,
        "hunks": hunks,
        "replaced": sorted(replaced),
        "event": builder.event(step.event),
        "pending": "text" if what == "picture" else "",
    }


def with_steps(trace: Trace, ids: Ids, state: State, limit: int = MAX_STEP_LINES) -> State:
    """A copy of a trace's state with the steps of its stages.

    It has the first step of each stage, then the second of each, and so on, up to `limit` lines.
    """
    stages = [{**stage, "steps": []} for stage in state["stages"]]
    left = limit
    for k in range(1, 1 + max((stage["events_total"] for stage in stages), default=0)):
        for n, stage in enumerate(stages):
            if k <= stage["events_total"] and left > 0:
                step = step_of(trace, ids, n, k)
                stage["steps"].append(step)
                left -= sum(len(module["lines"]) for module in step["modules"])
    return {**state, "stages": stages}
