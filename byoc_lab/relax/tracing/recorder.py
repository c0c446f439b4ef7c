"""`trace` for Relax: runs TVM passes and records each with a pass instrument of TVM."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.lab.linting import Finding
from byoc_lab.lab.tracing.events import Events, Notes
from byoc_lab.lab.tracing.recording.pass_tree import RecordedPass, shown_passes
from byoc_lab.lab.tracing.stages import Stage, Trace
from byoc_lab.relax import backends
from byoc_lab.relax.ir.calls import LOWERED, composite_names, host_functions, operator_calls
from byoc_lab.relax.passes import FUSES, MERGES, is_of_tvm, pass_error
from byoc_lab.relax.pipelines import as_pass, sequences, single
from byoc_lab.relax.tracing.findings import lowered_already, pattern_findings, taken_away
from byoc_lab.relax.tracing.mirror import Mirror
from byoc_lab.relax.tracing.mirrored import MirroredModule
from byoc_lab.relax.tracing.rewrites import matches_of, merges_of
from byoc_lab.relax.tracing.script import Script
from byoc_lab.relay.ir.foreign import ForeignModule
from byoc_lab.run.tvm_runtime import import_tvm


class RelaxTrace(Trace):
    """A trace of TVM passes on a Relax module. `result` is TVM's module."""

    @property
    def result(self) -> Any:
        """The result of the pipeline, a `tvm.ir.IRModule`. Raises the error of a pass that
        failed."""
        final = super().result
        return final.source if isinstance(final, ForeignModule) else final


def trace(
    mod: Any,
    pipeline: Any,
    read: Callable[[Any, Script], MirroredModule],
    era: str | None = None,
    *,
    opt_level: int | None = None,
    title: str = "",
    progress: Callable[[str], object] | None = None,
    patterns: Sequence[Any] = (),
) -> RelaxTrace:
    """Run TVM passes on a Relax module, and record each as a stage; see `byoc_lab.trace`.

    pipeline: the name of a back end (its passes), of a pass of relax.transform or
        of a pipeline of relax.get_pipeline, a pass or Sequential, a function from module to
        module, or a list of these. Each pass that a sequence or a function runs is a stage; passes
        that another pass runs belong to that pass's stage. patterns: the table of FuseOpsByPattern,
        which TVM does not expose: entries that never match become findings.
    read: converts TVM modules. opt_level: of the PassContext; by default the level of the current
    one. title, progress: as for `byoc_lab.trace`. era: None, because TVM passes have no era.

    Raises PassError for an invalid pipeline, UnknownNameError for an unknown name.
    """
    tvm = import_tvm()
    if era is not None:
        raise PassError(
            "passes of Relax exist only in the installed version of TVM, so era must be None, "
            f"found era={era!r:.40}"
        )
    whole = as_pass(tvm, pipeline, mod)
    if isinstance(whole, tvm.transform.Sequential) and not len(whole.passes):
        raise PassError("the pipeline has no passes; give at least one")
    back_ends = {pipeline} if isinstance(pipeline, str) and backends.is_known(pipeline) else set()
    recorder = _Recorder(read, progress, set(sequences(tvm, whole)), patterns, back_ends)
    instrument = _instrument(tvm, recorder)
    current = tvm.transform.PassContext.current()
    instruments = [*(current.instruments or ()), instrument]
    error: Exception | None = None
    context = tvm.transform.PassContext(
        opt_level=current.opt_level if opt_level is None else opt_level,
        required_pass=list(current.required_pass),
        disabled_pass=list(current.disabled_pass),
        instruments=instruments,
        config=dict(current.config.items()),
    )
    try:
        with context:
            whole(mod)
    except Exception as raised:  # kept in the trace, which shows it at its stage
        error = recorder.error(raised)
    recorder.look_for(list(single(tvm, whole)))
    stages = recorder.finish(error)
    if not stages:  # it failed before the first pass, or a PassContext skipped all passes
        raise error or PassError("no pass ran: the PassContext skips all of them")
    name = title or (pipeline if isinstance(pipeline, str) else "pipeline")
    return RelaxTrace(stages, name, error, versions={"tvm": str(tvm.__version__)})


def _instrument(tvm: Any, recorder: _Recorder) -> Any:
    """A TVM instrument that reports each pass to a recorder."""

    class ByocLabRecorder:
        def run_before_pass(self, mod: Any, info: Any) -> None:
            recorder.begin(mod, info)

        def run_after_pass(self, mod: Any, info: Any) -> None:
            recorder.end(mod)

    return tvm.ir.instrument.pass_instrument(ByocLabRecorder)()


class _Recorder:
    """Records the beginning and end of TVM passes, and their input modules."""

    def __init__(
        self,
        read: Callable[[Any, Script], MirroredModule],
        progress: Callable[[str], object] | None,
        sequences: set[str],
        table: Sequence[Any],
        back_ends: set[str],
    ):
        self._read, self._progress = read, progress
        self._sequences = sequences
        self._script = Script(Mirror())
        self._states: list[MirroredModule] = []
        self._top: list[RecordedPass] = []
        self._open: list[RecordedPass] = []
        self._infos: dict[int, Any] = {}  # {pass: TVM module}
        self.table, self._back_ends = tuple(table), back_ends
        self._spent = 0.0  # time spent on recording, in seconds

    def begin(self, mod: Any, info: Any) -> None:
        started = time.perf_counter()
        if self._progress is not None and not self._open:
            self._progress(str(info.name))
        names = tuple(map(str, info.required or ()))
        begun = RecordedPass(str(info.name), self._state(mod), 0.0, names)
        (self._open[-1].inner if self._open else self._top).append(begun)
        self._open.append(begun)
        self._infos[id(begun)] = info
        self._spent += time.perf_counter() - started
        begun.begun = time.perf_counter() - self._spent

    def end(self, mod: Any) -> None:
        started = time.perf_counter()
        ended = self._open.pop()
        ended.seconds = started - self._spent - ended.begun
        ended.after = self._state(mod)
        self._spent += time.perf_counter() - started

    def _state(self, mod: Any) -> int:
        """The index of a module among the distinct modules. A copy is stored, because users' passes
        may change their input in place."""
        last = self._states[-1].source if self._states else None
        if last is None or not _same_functions(last, mod):
            self._states.append(self._read(mod.clone(), self._script))
        return len(self._states) - 1

    def error(self, raised: Exception) -> Exception:
        """The error to raise for the error of a pass; an error of TVM becomes a PassError with an
        explanation."""
        if not self._open or not is_of_tvm(raised):
            return raised
        made = pass_error("trace", self._open[-1].name, raised)
        made.__cause__ = raised
        return made

    def look_for(self, passes: Sequence[Any]) -> None:
        """Find matches that earlier passes prevented and, if a table is given, entries that never
        matched. passes: the flattened passes of the pipeline."""
        fusing = [p for p in _flat(self._top) if p.name == FUSES and p.after is not None]
        if not fusing:
            return
        made = {name for state in self._states for name in composite_names(state.source)}
        assert fusing[-1].after is not None
        first = fusing[0].before
        found = self._taken_away(fusing[0], made, passes)
        table = self.table or _tables_of(self._back_ends)
        found = found or lowered_already(table, self._states[0].source, made)
        if self.table:
            found += pattern_findings(self.table, self._states[first].source, made)
        self._states[fusing[-1].after].known = found

    def _taken_away(
        self, fusing: RecordedPass, made: set[str], passes: Sequence[Any]
    ) -> list[Finding]:
        """The findings on passes before FuseOpsByPattern: the matching pass is run again on their
        inputs. Without a table, only passes that lower operators are considered."""
        for ran in _flat(self._top):
            for each in passes:
                runs = each.info.same_as(self._infos[id(ran)])
                if not runs or all(p is not fusing for p in _flat([ran])):
                    continue
                earlier = [
                    (self._states[p.before].source, p.name)
                    for p in reversed(list(_flat(self._top)))
                    if p.after is not None
                    and p.before < p.after <= ran.before
                    and not p.inner
                    and (self.table or self._lowers(p.before, p.after))
                ]
                return taken_away(each, made, earlier)
        return []

    def _lowers(self, before: int, after: int) -> bool:
        """Whether a pass replaced operators of host functions by lowered code."""
        counts = [
            sum(c.name in LOWERED for f in host_functions(mod.source) for c in operator_calls(f))
            for mod in (self._states[before], self._states[after])
        ]
        return counts[0] < counts[1]

    def finish(self, error: Exception | None) -> list[Stage]:
        """Create the stages."""
        for begun in self._open:
            begun.error = error
        for state in self._states:  # in order, so that equal functions share their nodes
            for gv, function in state.source.functions.items():
                self._script.first(gv, function)
        to_come: set[str] = set()
        passes = sorted(_flat(self._top), key=lambda p: p.before)
        for number in reversed(range(len(self._states))):
            while passes and passes[-1].before >= number:
                to_come.add(passes.pop().name)
            self._states[number].to_come = frozenset(to_come)
        return list(self._stages(self._top))

    def _stages(self, passes: Sequence[RecordedPass]) -> tuple[Stage, ...]:
        return tuple(
            Stage(
                index,
                ran.name,
                self._states[ran.before],
                None if ran.after is None else self._states[ran.after],
                ran.seconds,
                events=events,
                error=ran.error,
                group=group,
                notes=notes,
                nested=self._stages(ran.inner),
            )
            for index, (ran, group) in enumerate(shown_passes(passes, self._sequences))
            for events, notes in [self._rewrites(ran)]
        )

    def _rewrites(self, ran: RecordedPass) -> tuple[Events, Notes]:
        """The rewrites and notes of a pass, as far as a replay reproduces them."""
        if ran.name not in (FUSES, MERGES) or ran.after is None:
            return Events(), Notes()
        before, after = self._states[ran.before], self._states[ran.after]
        if ran.name == MERGES:
            return merges_of(before, after)
        table = self.table or _tables_of(composite_names(after.source) | self._back_ends)
        return matches_of(before, after, table)


def _tables_of(composites: set[str]) -> list[Any]:
    """The tables of the back ends whose names are prefixes of composite names."""
    names = dict.fromkeys(name.partition(".")[0] for name in sorted(composites))
    return [
        entry for name in names if backends.is_known(name) for entry in backends.get(name).table()
    ]


def _flat(passes: Sequence[RecordedPass]) -> Iterator[RecordedPass]:
    """The passes, including nested passes."""
    for ran in passes:
        yield ran
        yield from _flat(ran.inner)


def _same_functions(a: Any, b: Any) -> bool:
    """Whether two modules have the same function objects under the same names."""
    mine, theirs = ({str(gv.name_hint): f for gv, f in m.functions.items()} for m in (a, b))
    if mine.keys() != theirs.keys() or str(a.attrs) != str(b.attrs):
        return False
    return all(f.same_as(theirs[name]) for name, f in mine.items())
