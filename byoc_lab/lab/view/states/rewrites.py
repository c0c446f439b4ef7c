"""Steps inside passes (`messages.Step`): the module before and after each rewrite.

They are computed on demand (`Steps`): a running notebook requests one at a time; for a large
module, the graph before the text. A saved page cannot request anything, so `with_steps` adds as
many steps as the limit on their lines allows.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice

from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.tracing.collection import without_collection
from byoc_lab.lab.tracing.nodes import nodes_of
from byoc_lab.lab.view.messages import SavedStep, Stage, State, Step
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.part_steps import PartSteps
from byoc_lab.lab.view.states.state import forget
from byoc_lab.lab.view.states.whole_steps import WholeSteps

# maximum number of lines in all steps of one saved page: a few seconds of work, some 200 kB
MAX_STEP_LINES = 20_000
MAX_KEPT = 4  # number of cached steps
MAX_WITH_TEXT = 500  # maximum number of nodes in a module whose step is sent at once


class Steps:
    """The steps of a trace, each built on its first request; the last few are cached. `ids`: the
    ids of the nodes in the state of the trace. `follow`: gives ids to all nodes up to a stage."""

    def __init__(self, trace: Trace, ids: Ids, follow: Callable[[int], None] = lambda _: None):
        self._trace = trace
        self._ids = ids
        self._follow = follow
        self._made: dict[tuple[int, int, str], Step] = {}
        self._parts: dict[int, PartSteps] = {}
        self._wholes: dict[int, WholeSteps] = {}

    def prepare(self, stage: int, rewrite: int) -> None:
        """Compute a step, and the data that other steps of the stage need, too."""
        if not self._is_small(stage):
            self._follow(stage - 1)
            self._parts_of(stage).prepare()
        self.step(stage, rewrite, "picture")

    @without_collection()
    def step(self, stage: int, rewrite: int, what: str) -> Step:
        """One step; `what`: "text", or "picture" if the text may be sent later.

        Raises StageIndexError.
        """
        if self._is_small(stage):
            what = "text"
        key = stage, rewrite, what
        if key not in self._made:
            self._made[key] = self._step(stage, rewrite, what)
            forget(self._made, MAX_KEPT)
        return self._made[key]

    def _step(self, stage: int, rewrite: int, what: str) -> Step:
        self._follow(stage - 1)
        part = self._parts_of(stage).step(rewrite)
        if part is None:
            self._follow(stage)
            if stage not in self._wholes:
                self._wholes[stage] = WholeSteps(self._trace[stage], self._ids)
            part = self._wholes[stage].step(rewrite, what)
        return part

    def _parts_of(self, stage: int) -> PartSteps:
        if stage not in self._parts:
            self._parts[stage] = PartSteps(self._trace[stage], self._ids)
        return self._parts[stage]

    def _is_small(self, stage: int) -> bool:
        return next(islice(nodes_of(self._trace[stage].before), MAX_WITH_TEXT, None), None) is None


def with_steps(trace: Trace, ids: Ids, state: State, limit: int = MAX_STEP_LINES) -> State:
    """A copy of a trace's state with steps: the first step of each stage, then the second of each,
    and so on, up to `limit` lines.
    """
    stages: list[Stage] = [{**stage, "steps": []} for stage in state["stages"]]
    left, steps = limit, Steps(trace, ids)
    for k in range(1, 1 + max((stage["events_total"] for stage in stages), default=0)):
        for n, stage in enumerate(stages):
            if k <= stage["events_total"] and left > 0:
                step = steps.step(n, k, "text")
                stage["steps"].append(_after(stage["steps"], step))
                left -= sum(len(module["lines"]) for module in step["modules"])
    return {**state, "stages": stages}


def _after(earlier: list[SavedStep], step: Step) -> SavedStep:
    """A step in the form that a page stores after the previous steps."""
    first, second = step["modules"]
    known = bool(earlier) and earlier[-1]["modules"][1] is first
    return {**step, "modules": [None if known else first, second]}
