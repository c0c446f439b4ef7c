"""The state of a large trace in parts: an outline first, then what is shown.

A small trace is sent at once (`states.py`). Of a large one the browser gets the outline, in which
every stage is pending, and for a stage that is shown two parts, as plain data:

    index     the position of the stage
    stage     as in `state.py`; with `pending` "text", it has no differences and findings yet
    modules   [[position in the modules of the state, module], ...]
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Hashable

from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.view.captions import caption, opening
from byoc_lab.lab.view.state import Builder, State, new_stage, text_lines
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.ir.visit import post_order

MAX_NODES = 20_000  # of all modules of a trace that is sent at once


def is_large(trace: Trace) -> bool:
    """Whether a trace is sent in parts. It stops counting at the limit."""
    seen: set[int] = set()
    left = MAX_NODES
    for stage in trace.stages:
        for mod in (stage.before, stage.after):
            if mod is None or isinstance(mod, UnparsedModule) or id(mod) in seen:
                continue
            seen.add(id(mod))
            for _ in post_order(*mod.functions.values()):
                left -= 1
                if left < 0:
                    return True
    return False


class Parts:
    """Builds the parts of a trace's state, each when it is asked for."""

    def __init__(self, trace: Trace):
        self.trace = trace
        self.builder = Builder()
        self._sent = 0  # modules
        self._pictures: dict[Hashable, int] = {}  # modules without findings
        self._whole: dict[Hashable, int] = {}  # modules with all of them
        self.done: set[int] = set()  # stages that were sent whole
        self._followed = 0  # stages whose nodes have their ids

    def outline(self) -> State:
        """The state with all stages pending; they refer to one module without content."""
        self.builder.modules.append(
            {
                "lines": [],
                "names": {},
                "findings": [],
                "stats": {},
                "scene": None,
                "graph_note": "The graph of this stage is being computed.",
            }
        )
        self._sent = 1
        stages = []
        self.builder.opens = opening(self.trace)
        for stage in self.trace.stages:
            after = None if stage.after is None else 0
            made = new_stage(stage.name, bool(stage.changed), stage.seconds, 0, after, [])
            made.update(group=stage.group, skipped=stage.skipped, pending="all")
            made["events_total"] = len(stage.events)
            made["error"] = self.builder.error(stage.error) if stage.error is not None else None
            stages.append(made)
        state = self.builder.state("trace", str(self.trace.title), stages)
        return {**state, "modules": list(self.builder.modules)}

    def picture(self, index: int) -> State:
        """The first part of a stage: its modules with their graphs and texts."""
        self.follow(index)
        stage = self.trace[index]
        self.builder.known = ChainMap(self._pictures, self._whole)
        add = self.builder.module
        b = add(stage.before, text_lines(stage.before), ())
        a = add(stage.after, text_lines(stage.after), ()) if stage.after is not None else None
        made = new_stage(stage.name, bool(stage.changed), stage.seconds, b, a, [])
        made.update(group=stage.group, skipped=stage.skipped, pending="text")
        made["error"] = self.builder.error(stage.error) if stage.error is not None else None
        made["replaced"] = self.builder.replaced.get(index, [])
        made["caption"] = caption(stage, opens=index == self.builder.opens)
        made.update(self.builder.lineage.get(index, {}))
        made["events_total"] = len(stage.events)
        return self._part(index, made)

    def whole(self, index: int) -> State:
        """The second part of a stage: all of it. A stage that was sent before is sent with its
        modules, since a page that was loaded again asks for it."""
        self.follow(index)
        self.builder.known = self._whole
        part = self._part(index, self.builder.stage(self.trace[index]))
        if index in self.done:
            places = {part["stage"]["before"], part["stage"]["after"]} - {None}
            part["modules"] = [(n, self.builder.modules[n]) for n in sorted(places)]
        self.done.add(index)
        return part

    def follow(self, index: int) -> None:
        """Give ids to the nodes of the stages up to this one, in order."""
        for stage in self.trace.stages[self._followed : index + 1]:
            if stage.after is not None:
                self.builder.follow(stage)
            self._followed += 1

    def _part(self, index: int, stage: State) -> State:
        modules = list(enumerate(self.builder.modules))[self._sent :]
        self._sent = len(self.builder.modules)
        return {"index": index, "stage": stage, "modules": modules}
