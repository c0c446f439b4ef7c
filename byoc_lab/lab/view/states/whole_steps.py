"""`WholeSteps`: the steps of a stage whose modules are shown whole."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cached_property
from typing import Any

from byoc_lab.lab.tracing import Stage
from byoc_lab.lab.view.drawing.pass_fold import PassFold
from byoc_lab.lab.view.drawing.picture import picture_of
from byoc_lab.lab.view.messages import Module, Step
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.state import Builder, Drawn, forget
from byoc_lab.relay.ir.module import IRModule

MAX_KEPT = 4  # number of cached graphs between rewrites


class WholeSteps:
    """The steps of one stage. `ids`: the ids of the nodes of its input and its result."""

    def __init__(self, stage: Stage, ids: Ids):
        self._stage = stage
        self._ids = ids
        self._drawn: Drawn = {}
        # The last shown module (its lines are identified by its nodes), its key, and its sent form.
        self._last: tuple[IRModule, Hashable, Module] | None = None

    def step(self, rewrite: int, what: str = "text") -> Step:
        """The step to a rewrite; `what`: "picture" for a step without text.

        Raises StageIndexError for a rewrite that the stage does not have.
        """
        step = self._stage.step(rewrite)
        builder = Builder(self._ids, self._drawn, self._fold)
        if self._last is not None:
            _, key, shown = self._last
            builder.add(key, shown)
        builder.numbers.update(zip((step.before, step.after), step.numbers, strict=True))
        replaced: set[str] = set()
        if step.is_reported:
            if step.event.round is not None:
                self._ids.follow_root(self._stage.provenance, step.event.round)
            earlier, later = map(self._ids.follow, step.provenances)
            replaced = self._ids.marked(step.event, later - earlier, step.before, step.after)
        else:
            builder.pair(step.diff)
        hunks: list[Any] = []
        if what == "picture":
            modules = [builder.picture(mod) for mod in (step.before, step.after)]
        else:
            before, after, hunks = builder.compare(step.diff)
            modules = [builder.modules[before], builder.modules[after]]
            self._last = step.after, list(builder.known)[after], modules[1]
        forget(self._drawn, MAX_KEPT)
        return {
            "rewrite": rewrite,
            "modules": modules,
            "hunks": hunks,
            "replaced": sorted(replaced),
            "event": builder.event(step.event),
            "part": "",
            "pending": "text" if what == "picture" else "",
        }

    @cached_property
    def _fold(self) -> PassFold:
        """The groups of all states of the pass."""
        stage = self._stage
        last, numbers = stage.after, stage.numbering.after
        if last is None:  # the pass failed: the module at the failure
            side, provenance, numbers = stage.followed(len(stage.events))
            self._ids.follow(provenance)
            last = side.module
        first = picture_of(stage.before, stage.numbering.before)
        return PassFold(first, picture_of(last, numbers), self._ids.drawn)
