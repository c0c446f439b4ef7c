"""Functions in a pipeline that partition, replaced by the passes that they run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from byoc_lab.errors import ByocLabError
from byoc_lab.lab.explaining.outcome import PARTITIONING, Setup, flat
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.decorators import UserPass
from byoc_lab.passes.framework.passes import (
    ModulePass,
    Pass,
    Sequential,
    leaves,
    observing,
    skipped_members,
)
from byoc_lab.relay.ir.module import IRModule


def unfolded(setup: Setup) -> Setup:
    """With the passes that user passes run in place of those that partition by them.

    What a user pass does before, such as to bind parameters, becomes a pass of its own. All run in
    the context of a user pass if that skips the same passes as each has skipped in its own, or else
    in that of the setup. A user pass stays whole if neither does, or if it changes the module
    between its passes or after them. It is run once to see that; one that raises stays as it is.
    """
    if not any(isinstance(p, UserPass) for p in setup.passes):
        return setup
    try:
        return _unfolded(setup)
    except ByocLabError:  # the run that is to be explained raises it again
        return setup


def _unfolded(setup: Setup) -> Setup:
    parts: list[tuple[Sequence[Pass], PassContext]] = []
    contexts = []
    mod = setup.mod
    with setup.context:
        for p in setup.passes:
            calls = _Calls()
            with observing(calls):
                after = Sequential([p])(mod)
            inner = calls.passes_until(after) if isinstance(p, UserPass) else []
            if isinstance(p, UserPass) and any(isinstance(q, PARTITIONING) for q in leaves(inner)):
                opening = [] if _same(calls.first, mod) else [_Opening(p)]
                contexts.append(calls.contexts[0])
                parts.append(([*opening, *inner], contexts[-1]))
            else:
                parts.append(([p], setup.context))
            mod = after
    for context in (*contexts, setup.context):
        if all(_skipped(passes, own) == _skipped(passes, context) for passes, own in parts):
            flattened = (q for passes, _ in parts for q in flat(passes, context))
            return replace(setup, passes=tuple(flattened), context=context)
    return setup


def _skipped(passes: Sequence[Pass], context: PassContext) -> list[Pass]:
    return list(skipped_members(passes, context))


def _settings(context: PassContext) -> tuple[int, list[str], list[str]]:
    return context.opt_level, context.disabled_pass, context.required_pass


def _same(one: IRModule, other: IRModule) -> bool:
    """Whether two modules have the same functions."""
    return one is other or one.functions == other.functions


class _Opening(ModulePass):
    """What a user pass does before the first pass that it runs."""

    def __init__(self, whole: UserPass):
        self._whole = whole

    @property
    def name(self) -> str:
        return self._whole.name

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        try:
            with observing(_Until()):
                return self._whole(mod)
        except _Reached as first:
            return first.mod


class _Reached(BaseException):
    """Ends a user pass at its first pass; no `except Exception` in it ends this. mod: what that
    pass gets."""

    def __init__(self, mod: IRModule):
        self.mod = mod


class _Until:
    """Observes a user pass until it runs a pass, and ends it there."""

    def __init__(self) -> None:
        self._inside = False

    def begin(self, p: Pass, mod: IRModule) -> None:
        if self._inside:
            raise _Reached(mod)
        self._inside = True

    def end(
        self, p: Pass, after: IRModule | None, error: Exception | None = None, skipped: str = ""
    ) -> None:
        """Nothing: what is done before the first pass is the module that this one gets."""


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

    @property
    def first(self) -> IRModule:
        """The module that the first of the passes got."""
        return self._found[0][1]

    def passes_until(self, after: IRModule) -> list[Pass]:
        """The passes, if they alone make `after` of what the first of them got, and would, in one
        context, as members of a sequence; else none."""
        mod: IRModule | None = self.first if self._found else None
        for (p, given, result), context in zip(self._found, self.contexts, strict=True):
            same = _settings(context) == _settings(self.contexts[0])
            if given is not mod or not same or not context.enables(p.info):
                return []
            mod = result
        return [p for p, *_ in self._found] if mod is after else []
