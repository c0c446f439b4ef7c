"""`trace`: run a pipeline and keep every stage."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext

from byoc_lab.errors import PassError
from byoc_lab.passes import Event, Pass, PassContext, Sequential, listening, named_pipeline
from byoc_lab.passes.base import make_pass
from byoc_lab.relay.module import IRModule
from byoc_lab.trace.stages import Stage, Trace


def trace(
    mod: IRModule,
    pipeline: str | Pass | Sequence[Pass | str] = "dnnl",
    *,
    opt_level: int | None = None,
    title: str = "",
) -> Trace:
    """Run `pipeline` on `mod` and record each stage.

    pipeline: the name of one ("dnnl"), a pass or Sequential, or a list of passes and names of
        passes. Sequences inside are opened, so that each of their passes is a stage.
    opt_level: passes above it are recorded as skipped. By default that of the active PassContext,
        or 3 when there is none: a lesson wants to see every pass.

    A pass that raises ends the trace, and the exception is kept in it; stages before it are intact.
    """
    if not isinstance(mod, IRModule):
        raise PassError(
            f"trace takes an IRModule, found {type(mod).__name__}; IRModule.from_expr(...) makes "
            f"one of an expression"
        )
    ctx = _context(opt_level)
    stages: list[Stage] = []
    error: Exception | None = None
    with ctx if ctx is not PassContext.current() else nullcontext():
        for p, group in _flat(_passes(pipeline), ""):
            stage = _run(len(stages), p, group, mod, ctx)
            stages.append(stage)
            if stage.error is not None:
                error = stage.error
                break
            assert stage.after is not None
            mod = stage.after
    if not stages:
        raise PassError("the pipeline has no passes; give at least one")
    name = title or (pipeline if isinstance(pipeline, str) else "pipeline")
    return Trace(stages, name, error)


def _context(opt_level: int | None) -> PassContext:
    current = PassContext.current()
    if opt_level is None and PassContext.is_active():
        return current
    return PassContext(
        3 if opt_level is None else opt_level,
        current.required_pass,
        current.disabled_pass,
        config=current.config,
    )


def _passes(pipeline: str | Pass | Sequence[Pass | str]) -> list[Pass]:
    if isinstance(pipeline, str):
        return named_pipeline(pipeline)
    if isinstance(pipeline, Pass):
        return [pipeline]
    found = []
    for p in pipeline:
        if isinstance(p, str):
            p = make_pass(p)
        if not callable(p):
            raise PassError(f"a pipeline is made of passes and their names, found {p!r}")
        found.append(p)
    return found


def _flat(passes: Sequence[Pass], group: str) -> Iterator[tuple[Pass, str]]:
    for p in passes:
        if isinstance(p, Sequential):
            yield from _flat(p.passes, p.name if p.name != "sequential" else group)
        else:
            yield p, group


def _run(index: int, p: Pass, group: str, mod: IRModule, ctx: PassContext) -> Stage:
    name = str(getattr(p, "name", None) or getattr(p, "__name__", type(p).__name__))
    if isinstance(p, Pass) and not ctx.enables(p.info):
        why = f"level {p.opt_level} is above {ctx.opt_level}"
        if name in ctx.disabled_pass:
            why = "it is disabled"
        return Stage(index, name, mod, mod, skipped=why, group=group)
    events: list[Event] = []
    started = time.perf_counter()
    try:
        with listening(events.append):
            after = p(mod)
        if not isinstance(after, IRModule):
            raise PassError(f"{name} must return an IRModule, found {type(after).__name__}")
    except Exception as error:  # kept in the stage: the trace shows what happened and where
        seconds = time.perf_counter() - started
        return Stage(index, name, mod, None, seconds, events, error, group=group)
    return Stage(index, name, mod, after, time.perf_counter() - started, events, group=group)
