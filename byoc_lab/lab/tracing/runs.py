"""`Run`: one run of a pass, with the runs of the passes inside it."""

from __future__ import annotations

import time

from byoc_lab.lab.tracing.stages import Stage
from byoc_lab.passes import Event, Pass, PassContext, Sequential
from byoc_lab.passes.framework.decorators import have_same_parts
from byoc_lab.passes.framework.hook import Note
from byoc_lab.relay.ir.module import IRModule


class Run:
    """A run of a pass.

    given, result: the modules that it received and returned. A user's function may change both
    afterwards, so `before` and `after` are copies if such a function runs. is_function: whether the
    pass is a user's function. is_group: whether the passes that it runs are recorded as separate
    runs (`inner`). reported: its rewrites and notes, without those of `inner`. offset: the number
    of reports of the outer run before this run. started, ended: readings of `time.perf_counter`.
    """

    result: IRModule | None = None
    after: IRModule | None = None
    error: Exception | None = None
    ended: float
    # Used while a user's function runs: copies of the modules seen so far, by their functions.
    _states: dict[frozenset[int], IRModule] | None

    def __init__(self, p: Pass, given: IRModule, outer: Run | None, is_function: bool):
        self.the_pass, self.given, self.outer = p, given, outer
        self.is_function = is_function
        self.is_group = is_function or isinstance(p, Sequential)
        self.inner: list[Run] = []
        self.stages: list[Stage] = []
        self.reported: list[Event | Note] = []
        self.offset = 0 if outer is None else len(outer.reported)
        self.context = PassContext.current()
        self.before = given if outer is None else outer._kept(given)
        self._states = None if outer is None else outer._states
        if is_function and self._states is None:
            self._states = {_parts(given): self.before}
        self.started = time.perf_counter()

    def end(self, result: IRModule | None, error: Exception | None) -> None:
        self.ended = time.perf_counter()
        self.result, self.error = result, error
        self.after = None if result is None else self._kept(result)

    def _kept(self, mod: IRModule) -> IRModule:
        """The module in its current state; a copy if a user's function might change it."""
        if self._states is None:
            last = self.inner[-1] if self.inner else self
            return last.after if last.after is not None and last.result is mod else mod
        parts = _parts(mod)
        known = self._states.get(parts)
        if known is None or not have_same_parts(known, mod):
            known = self._states[parts] = mod.copy()
        return known

    def contributing(self) -> list[Run]:
        """The inner runs that contribute to the result or, without a result, to the last inner run.

        A user's function may also run passes on temporary modules, for example to infer the type of
        an expression. These runs do not count.
        """
        if not self.is_function:
            return self.inner
        found: list[Run] = []
        wanted, its = self.result, self.after
        for run in reversed(self.inner):
            if its is None or run.result is wanted or run._made_part_of(its):
                found.append(run)
                wanted, its = run.given, run.before
        return found[::-1]

    def _made_part_of(self, mod: IRModule) -> bool:
        """Whether `mod` has a function that the pass made or, if it changed nothing, a function
        that it kept."""
        if self.after is None:
            return False
        every, had = self.after.functions, self.before.functions
        made = {id(f) for gv, f in every.items() if had.get(gv) is not f}
        return any(id(f) in (made or map(id, every.values())) for f in mod.functions.values())


def _parts(mod: IRModule) -> frozenset[int]:
    return frozenset(map(id, mod.functions.values()))
