"""`trace` of Relay: runs a pipeline and records every stage.

The pass framework runs the pipeline; the recorder only observes it (`StageObserver` in
`byoc_lab/passes/framework/passes.py`), so a traced pipeline does the same as one without a trace.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.lab.tracing.events import Events, Notes
from byoc_lab.lab.tracing.stages import Stage, Trace
from byoc_lab.passes import Event, Pass, PassContext, Sequential, module_pass, named_pipeline
from byoc_lab.passes.framework.hook import Note, listening
from byoc_lab.passes.framework.passes import make_pass, observing
from byoc_lab.passes.framework.pipelines import running_level
from byoc_lab.relay.ir.module import IRModule, module_expected

Member = Pass | str | Callable[[IRModule], IRModule]
Pipeline = Member | Sequence[Member]


def trace_relay(
    mod: Any,
    pipeline: Pipeline,
    era: str | None = None,
    *,
    opt_level: int | None = None,
    title: str = "",
    progress: Callable[[str], object] | None = None,
    patterns: Sequence[Any] = (),
) -> Trace:
    """`trace` of a module of Relay."""
    if patterns:
        raise PassError("patterns are for a module of Relax; passes of Relay tell theirs")
    if not isinstance(mod, IRModule):
        raise PassError(module_expected("trace", mod))
    if era is not None and not isinstance(era, str):
        raise PassError(f'era must be None, "2020-01" or "0.16", found {era!r:.80}')
    whole = as_pass(pipeline, era)
    level = running_level(pipeline) if opt_level is None else opt_level
    with PassContext.current().at_opt_level(level):
        stages, error = recorded(
            whole, mod, pipeline if isinstance(pipeline, str) else "", progress
        )
    if not stages:
        if error is not None:
            raise error
        raise PassError("the pipeline has no passes; give at least one")
    name = title or (pipeline if isinstance(pipeline, str) else "pipeline")
    return Trace(stages, name, error, whole)


def recorded(
    whole: Pass, mod: IRModule, name: str = "", progress: Callable[[str], object] | None = None
) -> tuple[list[Stage], Exception | None]:
    """Run a pass in the active context: its stages, and the exception that it raised.

    name: the pass of this name is no group, so that its stages are those of the trace itself.
    progress: as `trace` takes it.
    """
    recorder = _Recorder(name, progress)
    with listening(recorder.record), observing(recorder):
        try:
            whole(mod)
        except Exception as raised:  # kept in the trace, which shows it at its stage
            return recorder.stages, raised
    return recorder.stages, None


def as_pass(pipeline: Pipeline, era: str | None) -> Pass:
    """The pipeline as one pass."""
    if isinstance(pipeline, Pass):
        return pipeline
    if isinstance(pipeline, str):
        members = [as_member(p, era) for p in named_pipeline(pipeline, era)]
        return Sequential(members, name=pipeline)
    if callable(pipeline):
        return as_member(pipeline, era)
    if not isinstance(pipeline, Sequence):
        raise not_a_pipeline(pipeline)
    return Sequential([as_member(p, era) for p in pipeline])


def not_a_pipeline(found: Any) -> PassError:
    return PassError(
        f"a pipeline is a name, a pass, a function from module to module, or a list of these, "
        f"found {type(found).__name__} {found!r:.80}"
    )


def as_member(p: Member, era: str | None = None) -> Pass:
    """A member of a pipeline as a pass."""
    if isinstance(p, Pass):
        return p
    if isinstance(p, str):
        return make_pass(p, era)
    if isinstance(p, type):
        raise PassError(
            f"a pipeline consists of passes, found the class {p.__name__}; write "
            f"{p.__name__}(...) or its name in quotes"
        )
    if not callable(p):
        raise PassError(
            f"a pipeline consists of passes, names of passes and functions, found {p!r:.80}"
        )
    return _pass_of(p)


def _pass_of(function: Callable[[IRModule], IRModule]) -> Pass:
    """A pass that calls a function from module to module."""
    name = getattr(function, "name", None) or getattr(function, "__name__", None)
    called: Pass = module_pass(
        lambda mod, ctx: function(mod), opt_level=0, name=str(name or type(function).__name__)
    )
    return called


class _Recorder:
    """Records each pass that a sequence runs as a stage.

    The passes that a pass runs inside are part of its stage. A sequence is not a stage, unless it
    changes the module itself.
    """

    def __init__(self, title: str, progress: Callable[[str], object] | None = None) -> None:
        self._progress = progress
        self.stages: list[Stage] = []
        self._unnamed = ("sequential", title)  # sequences that name no group
        self._open: list[tuple[Pass, IRModule, float]] = []
        self._current: IRModule | None = None  # the result of the last stage
        self._events: list[Event] = []
        self._notes: list[Note] = []

    def record(self, reported: Event | Note) -> None:
        if isinstance(reported, Note):
            self._notes.append(reported)
        else:
            self._events.append(reported)

    def begin(self, p: Pass, mod: IRModule) -> None:
        if not self._inside_a_pass():
            self._events, self._notes = [], []
            self._current = mod
            if self._progress is not None and not isinstance(p, Sequential):
                self._progress(p.name)
        self._open.append((p, mod, time.perf_counter()))

    def end(
        self, p: Pass, after: IRModule | None, error: Exception | None = None, skipped: str = ""
    ) -> None:
        _, before, started = self._open.pop()
        if self._inside_a_pass():
            return
        if isinstance(p, Sequential) and not skipped:
            if error is not None and self.stages and self.stages[-1].error is error:
                return  # a member raised it
            if after is self._current:
                return  # its members made all changes
            before = self._current if self._current is not None else before
        elif after is before and not skipped and not self._is_member(p):
            return  # required by another pass, and changed nothing
        seconds = 0.0 if skipped else time.perf_counter() - started
        name = p.name
        self.stages.append(
            Stage(
                len(self.stages), name, before, after, seconds, Events(self._events), error,
                skipped, self._group(), Notes(self._notes), _needs_level(p, skipped),
            )
        )  # fmt: skip
        self._events, self._notes = [], []
        self._current = after

    def _inside_a_pass(self) -> bool:
        return any(not isinstance(p, Sequential) for p, _, _ in self._open)

    def _is_member(self, p: Pass) -> bool:
        """Whether `p` is a member of its sequence or the whole pipeline, not only required."""
        sequence = self._open[-1][0] if self._open else None
        return not isinstance(sequence, Sequential) or any(p is q for q in sequence.passes)

    def _group(self) -> str:
        """The innermost named sequence."""
        names = [p.name for p, _, _ in self._open]
        return next((n for n in reversed(names) if n not in self._unnamed), "")


def _needs_level(p: Pass, skipped: str) -> int | None:
    """The level that a pass needs, if it was skipped because the context has a lower one."""
    ctx, info = PassContext.current(), p.info
    return ctx.needed_level(info) if skipped == ctx.why_skipped(info) else None
