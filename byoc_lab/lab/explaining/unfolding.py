"""Replaces user functions that partition, in a pipeline, by the passes that they run."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy
from dataclasses import replace
from typing import Any

from byoc_lab.lab.explaining.setups import PARTITIONING, Setup, copied, flat
from byoc_lab.lab.linting.context import Context, Skip
from byoc_lab.lab.tracing.recorder import Recorder
from byoc_lab.lab.tracing.runs import Run
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.decorators import UserModulePass, have_same_parts
from byoc_lab.passes.framework.passes import (
    ModulePass,
    Pass,
    Sequential,
    leaves,
    make_pass,
    observing,
)
from byoc_lab.relay.ir.module import IRModule

_MAY_PARTITION = (*PARTITIONING, UserModulePass)


def unfolded(setup: Setup) -> Setup:
    """The setup with each partitioning user function replaced by the passes that it runs.

    Each pass keeps the PassContext from its function. Changes by the function itself, before,
    between or after its passes, become separate passes. The functions run once to find this out; a
    function that raises is not replaced.
    """
    try:
        return _unfolded(setup)
    except Exception:  # the explained run raises the error again
        return setup


def _unfolded(setup: Setup) -> Setup:
    made = _with_parts(setup)
    return setup if made is setup else _unfolded(made)  # a part may be a user function, too


def lint_context(mod: Any, pipeline: Any) -> Any:
    """The lint context of a pipeline with user functions: partitioning functions are replaced by
    the passes that they run, each with its own PassContext, up to a function that raises."""
    if not isinstance(mod, IRModule):
        return pipeline
    setup, raised = Setup.of(mod, pipeline), None
    try:
        setup = _unfolded(setup)
    except Exception:
        failing = _failing(setup)
        if failing is not None:
            position, error = failing
            raised = setup.passes[position].name, error
            setup = unfolded(replace(setup, passes=setup.passes[:position]))
    skipped = {p: Skip.of(p, context) for p, context in setup.skipped()}
    return Context(tuple(leaves(setup.passes)), skipped, raised=raised)


def _failing(setup: Setup) -> tuple[int, Exception] | None:
    """The position of a user function that raises, and its exception; None if an earlier pass
    raises, or none does."""
    mod = setup.mod
    for position, p in enumerate(setup.passes):
        try:
            mod = setup.result(mod, position, position + 1)
        except Exception as error:
            return (position, error) if isinstance(p, UserModulePass) else None
    return None


def _with_parts(setup: Setup) -> Setup:
    own: dict[Pass, PassContext] = {}
    mod, unmade = setup.mod, sum(isinstance(p, UserModulePass) for p in setup.passes)
    found = False
    for n, p in enumerate(setup.passes):
        parts = [(p, setup.context_of(p))]
        if isinstance(p, UserModulePass) and setup.context_of(p).enables(p.info):
            inner = list(_parts_of(p, mod, setup.context_of(p)))
            if any(isinstance(q, _MAY_PARTITION) for q in leaves([q for q, _ in inner])):
                found, parts = True, inner
        for q, context in parts:
            own[copy(q) if q in own else q] = context
        unmade -= isinstance(p, UserModulePass)
        if unmade:
            mod = setup.result(mod, n, n + 1)
    return replace(setup, passes=tuple(own), own=own) if found else setup


def _parts_of(
    p: UserModulePass, mod: IRModule, context: PassContext
) -> Iterator[tuple[Pass, PassContext]]:
    """The passes that contribute to the result of a user function, and passes for the function's
    own changes, with their contexts."""
    required = list(map(make_pass, p.required))
    yield from ((q, context) for q in required)
    recorder = Recorder(functions=UserModulePass)
    with context:
        mod = Sequential(required)(mod)
        with observing(recorder):
            p(mod)
    run = recorder.whole
    assert run is not None
    contributing = run.contributing()
    now = run.before
    for n, inner in enumerate(contributing):
        if not have_same_parts(now, inner.before):
            yield _OwnPart(run, contributing, n), context
        itself = _enabling(inner.the_pass, inner.context)
        yield from ((q, itself) for q in flat([inner.the_pass], itself))
        now = inner.before if inner.after is None else inner.after
    if now is not run.after:
        yield _OwnPart(run, contributing, len(contributing)), context


def _enabling(p: Pass, context: PassContext) -> PassContext:
    """A context in which a sequence runs a pass, as a direct call always does."""
    if context.enables(p.info):
        return context
    others = [name for name in context.disabled_pass if name != p.name]
    return copied(context, disabled_pass=others, required_pass=[*context.required_pass, p.name])


class _OwnPart(ModulePass):
    """The changes that a user function makes itself, after some of the passes that it runs, until
    it runs the next pass or ends.

    It runs the function again on the module of the first run. The passes before this point are
    replaced by their results from the first run, and the last of them by this pass's input.
    """

    def __init__(self, whole: Run, way: Sequence[Run], position: int):
        inner = whole.inner
        start = inner.index(way[position - 1]) + 1 if position else 0
        self._whole, self._done = whole, inner[:start]
        self._then: Pass | None = None
        self._others = 0  # similar passes before it that do not contribute to the result
        if position < len(way):
            self._then = way[position].the_pass
            others = inner[start : inner.index(way[position])]
            self._others = sum(_are_alike(run.the_pass, self._then) for run in others)

    @property
    def name(self) -> str:
        return self._whole.the_pass.name

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        results = [*(run.after for run in self._done[:-1]), mod] if self._done else []
        given = self._whole.before if self._done else mod
        try:
            with observing(_Replay(results, self._then, self._others)):
                return self._whole.the_pass.run(given, ctx)
        except _Reached as reached:
            return reached.mod


def _are_alike(p: Pass, other: Pass) -> bool:
    return type(p) is type(other) and p.name == other.name


class _Reached(BaseException):
    """Ends a user function at a pass; an `except Exception` in the function does not catch it. mod:
    the input of that pass."""

    def __init__(self, mod: IRModule):
        self.mod = mod


class _Replay:
    """Observes a second run of a user function, and ends it at a pass.

    results: the results that replace the first passes; for None, the pass runs and raises again.
    then: the pass that ends it; None if it ends by itself. others: the number of similar passes
    that run before that.
    """

    def __init__(self, results: Sequence[IRModule | None], then: Pass | None, others: int):
        self._results, self._then, self._others = list(results), then, others
        self._inside = 0  # the passes that run

    def begin(self, p: Pass, mod: IRModule) -> IRModule | None:
        if not self._inside and self._results:
            known = self._results.pop(0)
            if known is not None:
                return known.copy()
        elif not self._inside and self._then is not None and _are_alike(p, self._then):
            if not self._others:
                raise _Reached(mod)
            self._others -= 1
        self._inside += 1
        return None

    def end(
        self, p: Pass, after: IRModule | None, error: Exception | None = None, skipped: str = ""
    ) -> None:
        self._inside -= 1
