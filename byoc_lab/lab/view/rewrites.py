"""Steps inside a pass: the module before and after each rewrite.

A step is, as plain data:

    stage, rewrite  the position of the stage (from 0) and of the rewrite in it (from 1)
    modules         the module before this rewrite and after it, as in `state.py`, without pictures
    hunks           between the two, as in `state.py`
    event           the rewrite itself, as in `state.py`

Steps are computed on demand: a running notebook requests one at a time. A saved page cannot request
anything, so `with_steps` adds as many steps as the limit on their lines allows.
"""

from __future__ import annotations

from collections.abc import Iterable

from byoc_lab.errors import StageIndexError
from byoc_lab.lab.diffing import diff
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.node_matching import NodeMatcher
from byoc_lab.lab.view.state import Builder, Ids, State
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

MAX_LINES = 20_000  # of all steps in one saved page: a few seconds of work, some 200 kB


def step_of(trace: Trace, ids: Ids, stage: int, rewrite: int) -> State:
    """One step of a trace. `ids` holds the ids of nodes in the state of the trace.

    Raises StageIndexError for a stage or a rewrite that the trace does not have.
    """
    recorded = trace[stage]
    if not 1 <= rewrite <= len(recorded.events):
        raise StageIndexError(
            f"rewrite must be in [1, {len(recorded.events)}], the rewrites of {recorded.name}; "
            f"found {rewrite}"
        )
    states = recorded.state_after(rewrite - 1), recorded.state_after(rewrite)
    if recorded.after is not None:
        _inherit_ids(recorded.after, states, ids)
    builder = Builder(False, ids)
    made = diff(*states)
    before, after, hunks = builder.compare(made)
    return {
        "stage": stage,
        "rewrite": rewrite,
        "modules": [builder.modules[before], builder.modules[after]],
        "hunks": hunks,
        "event": builder.event(recorded.events[rewrite - 1], NodeMatcher(made.after)),
    }


def _inherit_ids(result: IRModule, states: Iterable[IRModule], ids: Ids) -> None:
    """Give new nodes the ids of the matching nodes in the result of the pass, so that a selection
    in the text of a step also shows in the graph of the stage."""
    matcher = NodeMatcher(result)
    for mod in states:
        for node in post_order(*mod.functions.values()):
            match = matcher.find(node) if ids.get(node) is None else None
            if match is not None and ids.get(match) is not None:
                ids.inherit(node, match)


def with_steps(trace: Trace, ids: Ids, state: State) -> State:
    """A copy of a trace's state with the steps of its stages.

    It has the first step of each stage, then the second of each, and so on, up to MAX_LINES lines.
    """
    stages = [{**stage, "steps": []} for stage in state["stages"]]
    left = MAX_LINES
    for k in range(1, 1 + max((stage["events_total"] for stage in stages), default=0)):
        for n, stage in enumerate(stages):
            if k <= stage["events_total"] and left > 0:
                step = step_of(trace, ids, n, k)
                stage["steps"].append(step)
                left -= sum(len(module["lines"]) for module in step["modules"])
    return {**state, "stages": stages}
