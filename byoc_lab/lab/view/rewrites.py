"""The module after each rewrite inside a pass, for stepping through a pass one rewrite at a time.

A step is, as plain data:

    stage, rewrite  which: of which stage (from 0), after how many of its rewrites (from 1)
    modules         the module before this rewrite and after it, as in `state.py`, without pictures
    hunks           between the two, as in `state.py`
    event           the rewrite itself, as in `state.py`

Steps are made when somebody looks: a running notebook asks for one at a time. A page that is saved
has no one to ask, so `with_steps` puts in as many as a limit on their lines allows.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from byoc_lab.lab.diffing import diff
from byoc_lab.lab.view.state import Builder, Ids, State
from byoc_lab.lab.view.twins import Twins
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

MOST_LINES = 20_000  # of all steps in one saved page: a few seconds of work, some 200 kB


def step_of(trace: Any, ids: Ids, stage: int, rewrite: int) -> State:
    """The step of a trace. `ids` names nodes as the trace's state does.

    Raises IndexError for a stage or a rewrite that the trace does not have.
    """
    recorded = trace.stages[stage]
    if not 1 <= rewrite <= len(recorded.events):
        raise IndexError(f"rewrite must be in [1, {len(recorded.events)}], found {rewrite}")
    states = recorded.state_after(rewrite - 1), recorded.state_after(rewrite)
    if recorded.after is not None:
        _name_as_in(recorded.after, states, ids)
    builder = Builder(False, ids)
    made = diff(*states)
    before, after, hunks = builder.compare(made)
    return {
        "stage": stage,
        "rewrite": rewrite,
        "modules": [builder.modules[before], builder.modules[after]],
        "hunks": hunks,
        "event": builder.event(recorded.events[rewrite - 1], Twins(made.after)),
    }


def _name_as_in(result: IRModule, states: Iterable[IRModule], ids: Ids) -> None:
    """Let new nodes have the names of what they become in the pass's result: a choice made in the
    text of a step then shows in the graph of the stage."""
    twins = Twins(result)
    for mod in states:
        for node in post_order(*mod.functions.values()):
            twin = twins.find(node) if ids.get(node) is None else None
            if twin is not None and ids.get(twin) is not None:
                ids.inherit(node, twin)


def with_steps(trace: Any, ids: Ids, state: State) -> State:
    """A copy of a trace's state that has the steps of its stages: the first of each, the second of
    each, and so on, until MOST_LINES lines are in it."""
    stages = [{**stage, "steps": []} for stage in state["stages"]]
    left = MOST_LINES
    for k in range(1, 1 + max((stage["events_total"] for stage in stages), default=0)):
        for n, stage in enumerate(stages):
            if k <= stage["events_total"] and left > 0:
                step = step_of(trace, ids, n, k)
                stage["steps"].append(step)
                left -= sum(len(module["lines"]) for module in step["modules"])
    return {**state, "stages": stages}
