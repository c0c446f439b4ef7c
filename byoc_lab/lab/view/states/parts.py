"""The state of a trace, and the answers to requests of a page (`messages.Asked`).

A small trace is sent at once (`state.py`), and a page requests only its steps. For a large trace
the browser gets an outline, in which every stage is pending. The page then requests the parts of a
stage (`messages.Part`) like steps: the graph of its result, the graph of its input unless it was
drawn before, then the text.
"""

from __future__ import annotations

import time

from byoc_lab.lab.tracing import Stage, Trace
from byoc_lab.lab.tracing.collection import without_collection
from byoc_lab.lab.view.messages import Answer, Asked, Module, Part, Scene, State
from byoc_lab.lab.view.messages import Stage as StageSent
from byoc_lab.lab.view.states.about import about
from byoc_lab.lab.view.states.captions import caption, opening
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.objects import state_and_ids
from byoc_lab.lab.view.states.rewrites import Steps
from byoc_lab.lab.view.states.stage import stage_of
from byoc_lab.lab.view.states.state import Builder
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.unparsed import UnparsedModule
from byoc_lab.relay.ir.visit import post_order

MAX_NODES = 7_000  # maximum number of lines in all modules of a trace that is sent at once
EMPTY = 0  # position of the empty module, to which all stages of an outline refer


def is_large(trace: Trace) -> bool:
    """Whether a trace is sent in parts. Stops counting at the limit."""
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
    """The initial state of a trace, and the answers to later requests, built on demand. `whole`:
    whether the initial state is complete; the default is true unless the trace is large."""

    def __init__(self, trace: Trace, whole: bool | None = None):
        self.trace = trace
        self.whole = not is_large(trace) if whole is None else whole
        self.builder = Builder(state_and_ids(trace)[1] if self.whole else None)
        self._pictures: dict[int, int] = {}  # drawing (by identity) -> the position of its picture
        self._stages: dict[tuple[int, str], StageSent] = {}  # stages that were built
        self._page = ""
        self._held = {EMPTY}  # positions of the modules that the page has received
        self._followed = len(trace.stages) if self.whole else 0  # stages whose nodes have ids
        self._steps = Steps(trace, self.ids, self.follow)
        self.state = state_and_ids(trace)[0] if self.whole else self._outline()

    @property
    def ids(self) -> Ids:
        return self.builder.ids

    def answer(self, asked: Asked) -> Answer | None:
        """The answer to a request; None if the trace lacks the requested part or the state already
        contains it."""
        stages, stage, rewrite = self.state["stages"], asked["stage"], asked["rewrite"]
        if not (0 <= stage < len(stages) and 0 <= rewrite <= stages[stage]["events_total"]):
            return None
        if self.whole and not rewrite:
            return None
        made: Answer = {"asked": asked, "part": None, "step": None}
        if asked["what"] == "ahead":
            self.prepare(stage, rewrite)
        elif rewrite:
            made["step"] = self._steps.step(stage, rewrite, asked["what"])
        else:
            made["part"] = self.part(stage, asked["what"], asked["page"])
        return made

    def _outline(self) -> State:
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
        self.builder.opens = opening(self.trace)
        stages: list[StageSent] = []
        for stage in self.trace.stages:
            made = self._stage(stage, EMPTY, None if stage.after is None else EMPTY)
            stages.append({**made, "pending": "all"})
        state = self.builder.state("trace", str(self.trace.title), stages)
        return {**state, "modules": list(self.builder.modules)}

    @without_collection()
    def part(self, index: int, what: str = "picture", page: str = "") -> Part:
        """A part of a stage; `page` is the page that requests it."""
        if page != self._page and self._page:
            self._held = {EMPTY}
        self._page = page or self._page
        self.follow(index)
        built = self._built(index, what)
        sides = [n for n in (built["before"], built["after"]) if n is not None]
        modules = [(n, self._module(n, what)) for n in dict.fromkeys(sides) if n not in self._held]
        self._held.update(sides)
        codes = [f["code"] for _, module in modules for f in module["findings"]]
        return {"stage": built, "modules": modules, "about": about(codes)}

    @without_collection()
    def prepare(self, index: int, rewrite: int = 0) -> None:
        """Compute the graphs of a stage, or of the step to one of its rewrites."""
        if rewrite:
            self._steps.prepare(index, rewrite)
        else:
            self.follow(index)
            self._built(index, "picture", complete=True)

    def prepare_near(self, index: int, seconds: float) -> None:
        """Compute the graphs of a stage, then of the nearest stages, while the remaining time is
        enough for another stage as slow as the last one."""
        now = time.monotonic()
        end, took = now + seconds, 0.0
        for n in sorted(range(len(self.trace.stages)), key=lambda n: abs(n - index)):
            if now + took > end:
                return
            self.prepare(n)
            now, took = time.monotonic(), time.monotonic() - now

    def _module(self, n: int, what: str) -> Module:
        """A module in the form in which it is sent."""
        module = self.builder.modules[n]
        if what == "picture":
            return module
        same = (p for p in self._pictures.values() if p in self._held)
        drawn = next((p for p in same if self._scene(p) is module["scene"]), None)
        return module if drawn is None else {**module, "scene": None, "drawn": drawn}

    def _scene(self, n: int) -> Scene | None:
        return self.builder.modules[n]["scene"]

    def _built(self, index: int, what: str, complete: bool = False) -> StageSent:
        """A stage as it is sent; the second request for a picture completes it."""
        stage, known = self.trace[index], self._stages.get((index, what))
        if known is None or known["pending"] == "before":
            complete = complete or known is not None
            drawn = what == "picture"
            made = self._picture(stage, complete) if drawn else self.builder.stage(stage)
            self._stages[index, what] = made
        return self._stages[index, what]

    def _picture(self, stage: Stage, complete: bool) -> StageSent:
        """A stage with the graph of its result. It also has the graph of its input if `complete`,
        if this graph is drawn already, or if there is no result."""
        a = self._drawn(stage.after) if stage.after is not None else None
        complete = complete or a is None or self.builder.has_drawn(stage.before)
        b = self._drawn(stage.before) if complete else EMPTY
        made = self._stage(stage, b, a)
        made["pending"] = "text" if complete else "before"
        made["caption"] = caption(stage, opens=stage.index == self.builder.opens)
        made["replaced"] = self.builder.replaced.get(stage.index, [])
        return made

    def _stage(self, stage: Stage, b: int, a: int | None) -> StageSent:
        """A stage without differences and findings."""
        made = stage_of(stage, b, a, [])
        made["error"] = self.builder.error(stage.error) if stage.error is not None else None
        return made

    def _drawn(self, mod: IRModule) -> int:
        """The position of a module that has no text."""
        drawing = id(self.builder.drawing(mod))  # the builder keeps it
        if drawing not in self._pictures:
            self.builder.modules.append(self.builder.picture(mod))
            self._pictures[drawing] = len(self.builder.modules) - 1
        return self._pictures[drawing]

    def follow(self, index: int) -> None:
        """Give ids to the nodes of all stages up to this one, in order."""
        for stage in self.trace.stages[self._followed : index + 1]:
            self.builder.number(stage)
            if not self._followed:
                self.builder.drawing(stage.before)
            if stage.after is not None:
                self.builder.follow(stage)
            self._followed += 1
