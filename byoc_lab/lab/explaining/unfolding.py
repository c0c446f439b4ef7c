"""Functions in a pipeline that partition, replaced by the passes that they run."""

from __future__ import annotations

from dataclasses import replace

from byoc_lab.errors import ByocLabError
from byoc_lab.lab.explaining.outcome import PARTITIONING, Setup, flat
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.decorators import UserPass
from byoc_lab.passes.framework.passes import Pass, Sequential, leaves, observing
from byoc_lab.relay.ir.module import IRModule


def unfolded(setup: Setup) -> Setup:
    """With the passes that user passes run in place of those that partition by them.

    A user pass stays if it does more to the module than to run passes on it, or if it runs them in
    another context and is not the whole pipeline. It is run once to see that; one that raises stays
    as it is.
    """
    if not any(isinstance(p, UserPass) for p in setup.passes):
        return setup
    try:
        return _unfolded(setup)
    except ByocLabError:  # the run that is to be explained raises it again
        return setup


def _unfolded(setup: Setup) -> Setup:
    passes: list[Pass] = []
    mod, whole = setup.mod, len(setup.passes) == 1
    with setup.context:
        for p in setup.passes:
            calls = _Calls()
            with observing(calls):
                after = Sequential([p])(mod)
            inner = calls.passes_between(mod, after) if isinstance(p, UserPass) else []
            partitions = any(isinstance(q, PARTITIONING) for q in leaves(inner))
            if partitions and whole:
                context = calls.contexts[0]
                return replace(setup, passes=tuple(flat(inner, context)), context=context)
            here = all(_settings(c) == _settings(setup.context) for c in calls.contexts)
            passes += flat(inner, setup.context) if partitions and here else [p]
            mod = after
    return replace(setup, passes=tuple(passes))


def _settings(context: PassContext) -> tuple[int, list[str], list[str]]:
    return context.opt_level, context.disabled_pass, context.required_pass


class _Calls:
    """Observes the passes that a member of a sequence calls. contexts: those that they run in."""

    def __init__(self) -> None:
        self.contexts: list[PassContext] = []
        self._open: list[tuple[Pass, IRModule]] = []
        self._found: list[tuple[Pass, IRModule, IRModule | None]] = []

    def begin(self, p: Pass, mod: IRModule) -> None:
        self._open.append((p, mod))

    def end(
        self, p: Pass, after: IRModule | None, error: Exception | None = None, skipped: str = ""
    ) -> None:
        _, before = self._open.pop()
        if len(self._open) == 2:  # in the sequence, and in its member
            self._found.append((p, before, after))
            self.contexts.append(PassContext.current())

    def passes_between(self, before: IRModule, after: IRModule) -> list[Pass]:
        """The passes, if they alone make `after` of `before` and would, in one context, as members
        of a sequence; else none."""
        mod: IRModule | None = before
        for (p, given, result), context in zip(self._found, self.contexts, strict=True):
            same = _settings(context) == _settings(self.contexts[0])
            if given is not mod or not same or not context.enables(p.info):
                return []
            mod = result
        return [p for p, *_ in self._found] if mod is after else []
