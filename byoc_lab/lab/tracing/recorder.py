"""`trace` of Relay: runs a pipeline and records every stage.

The pass framework runs the pipeline; the recorder only observes it (`StageObserver` in
`byoc_lab/passes/framework/passes.py`), so tracing does not change the result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.lab.tracing.events import Events, Notes
from byoc_lab.lab.tracing.runs import Run
from byoc_lab.lab.tracing.stages import Stage, Trace
from byoc_lab.passes import Event, Pass, PassContext, Sequential, named_pipeline
from byoc_lab.passes.framework.decorators import UserModulePass, have_same_parts
from byoc_lab.passes.framework.hook import Note, listening
from byoc_lab.passes.framework.instrument import PassInfo
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
    """Traces the passes of a Relay module."""
    if patterns:
        raise PassError("patterns are only for Relax modules; Relay passes contain their patterns")
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

    name: the pass with this name does not form a group; its stages belong directly to the trace.
    progress: as for `trace`.
    """
    recorder = Recorder(name, progress)
    with listening(recorder.record), observing(recorder):
        try:
            whole(mod)
        except Exception as raised:  # the trace keeps the error and shows it at its stage
            return recorder.stages, raised
    return recorder.stages, None


def as_pass(pipeline: Pipeline, era: str | None) -> Pass:
    """The pipeline as a single pass."""
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


def is_function(member: Any) -> bool:
    """Whether a member of a pipeline is a user's function."""
    return callable(member) and not isinstance(member, (Pass, type))


def is_of_user(member: Any) -> bool:
    """Whether a member of a pipeline is a function of the user, or a `module_pass` of one."""
    return is_function(member) or isinstance(member, UserModulePass)


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
    name = getattr(function, "name", None) or getattr(function, "__name__", None)
    info = PassInfo(0, str(name or type(function).__name__))
    return _FunctionPass(lambda mod, ctx: function(mod), info)


class _FunctionPass(UserModulePass):
    """A function from module to module, as a pass."""


class Recorder:
    """Records each pass that a sequence or a function of the user runs as a stage.

    The passes that any other pass runs belong to the stage of that pass. A sequence or function is
    a stage only if it changes the module itself, outside the passes that it runs.

    name: the pass with this name does not form a group. functions: the class of passes that wrap
    user functions. whole: the run of the whole pipeline, once it has ended.
    """

    def __init__(
        self,
        name: str = "",
        progress: Callable[[str], object] | None = None,
        functions: type[UserModulePass] = _FunctionPass,
    ) -> None:
        self.whole: Run | None = None
        self._unnamed = ("sequential", name)
        self._progress = progress
        self._functions = functions
        self._open: list[Run] = []
        self._inside = 0  # number of passes running inside the last open one, as part of its stage

    @property
    def stages(self) -> list[Stage]:
        made = [] if self.whole is None else self.whole.stages
        return [stage.at(n) for n, stage in enumerate(made)]

    def record(self, reported: Event | Note) -> None:
        self._open[-1].reported.append(reported)

    def begin(self, p: Pass, mod: IRModule) -> None:
        outer = self._open[-1] if self._open else None
        if outer is not None and not outer.is_group:
            self._inside += 1
            return
        if self._progress is not None and not isinstance(p, Sequential):
            self._progress(p.name)
        self._open.append(Run(p, mod, outer, isinstance(p, self._functions)))

    def end(
        self, p: Pass, after: IRModule | None, error: Exception | None = None, skipped: str = ""
    ) -> None:
        if self._inside:
            self._inside -= 1
            return
        run = self._open.pop()
        run.end(after, error)
        if run.is_group and not skipped:
            run.stages = list(self._of_group(run))
        elif run.after is not run.before or skipped or _is_member(run):
            seconds = 0.0 if skipped else run.ended - run.started
            run.stages = [
                Stage(
                    0, p.name, run.before, run.after, seconds, _events(run.reported), error,
                    skipped, self._group(run.outer), _notes(run.reported),
                    _needs_level(run, skipped),
                )
            ]  # fmt: skip
        if run.outer is None:
            self.whole = run
        else:
            run.outer.inner.append(run)

    def _of_group(self, run: Run) -> Iterator[Stage]:
        """The stages of the passes that a pass runs, and of its own changes."""
        contributing = run.contributing()
        name, group = run.the_pass.name, self._group(run if contributing else run.outer)
        last: Stage | None = None
        now, since, offset = run.before, run.started, 0
        for inner in contributing:
            if run.is_function and not have_same_parts(now, inner.before):
                said = run.reported[offset : inner.offset]
                yield Stage(
                    0, name, now, inner.before, inner.started - since, _events(said),
                    group=group, notes=_notes(said),
                )  # fmt: skip
            for last in inner.stages:
                yield last
            now = inner.before if inner.after is None else inner.after
            since, offset = inner.ended, inner.offset
        if run.error is not None and last is not None and last.error is run.error:
            return  # an inner pass raised the error
        if run.after is now and (contributing or not run.is_function):
            return  # the inner passes made all changes
        said = run.reported[offset:]
        yield Stage(
            0, name, now, run.after, run.ended - since, _events(said), run.error,
            group=group, notes=_notes(said),
        )  # fmt: skip

    def _group(self, run: Run | None) -> str:
        """The name of the innermost named sequence or function around a run."""
        while run is not None:
            if run.the_pass.name not in self._unnamed:
                return run.the_pass.name
            run = run.outer
        return ""


def _events(reported: Sequence[Event | Note]) -> Events:
    return Events(r for r in reported if isinstance(r, Event))


def _notes(reported: Sequence[Event | Note]) -> Notes:
    return Notes(r for r in reported if isinstance(r, Note))


def _is_member(run: Run) -> bool:
    """Whether a pass is a member of its sequence or the whole pipeline, not only a required
    pass."""
    sequence = None if run.outer is None else run.outer.the_pass
    return not isinstance(sequence, Sequential) or any(run.the_pass is q for q in sequence.passes)


def _needs_level(run: Run, skipped: str) -> int | None:
    """The opt_level that a pass needs, if it was skipped because the context has a lower one."""
    ctx, info = run.context, run.the_pass.info
    return ctx.needed_level(info) if skipped == ctx.why_skipped(info) else None
