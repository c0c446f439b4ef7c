"""`Trace` and `Stage`: the record of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from byoc_lab.display import VIEW, Shown
from byoc_lab.errors import (
    ArgumentError,
    StageIndexError,
    UnknownNameError,
    counted,
    enumerated,
    nearest,
)
from byoc_lab.lab.diffing import Diff, diff_of
from byoc_lab.lab.diffing.side import Side
from byoc_lab.lab.linting.finding import Finding, Severity
from byoc_lab.lab.linting.foreign import OF_TABLES
from byoc_lab.lab.linting.relay import lint_relay
from byoc_lab.lab.tracing.history import History
from byoc_lab.lab.tracing.lineage import ComposedLineage
from byoc_lab.lab.tracing.numbering import Numbering
from byoc_lab.lab.tracing.pass_record import PassRecord
from byoc_lab.lab.tracing.pickling import roots
from byoc_lab.lab.tracing.provenance import Provenance
from byoc_lab.lab.tracing.rewrite_step import Followed, RewriteStep
from byoc_lab.lab.tracing.saving import save_trace
from byoc_lab.passes.framework.hook import Sentence
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.printing import printable
from byoc_lab.relay.analysis.region_numbers import Numbers
from byoc_lab.relay.ir import pickling
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.foreign import ForeignModule
from byoc_lab.relay.ir.module import IRModule

SKIPPED_PASS = "BYT001"
OF_PIPELINE = ("unknown-target", "composite-name", "pass-order")  # rules that a trace runs
MAX_FOLLOWED = 4  # number of cached states between rewrites per stage


@dataclass(eq=False)
class Stage(PassRecord, Shown):
    """One pass of a pipeline.

    name: the name of the pass. group: the name of its sequence (FoldScaleAxis), if it has one.
        before, after: the modules; after is None if the pass raised `error`. skipped: why the pass
        did not run. seconds: wall time. events: the rewrites, in order. notes: refusals and merges
        that were not made. needs_level: the opt_level that the pass needs, if it was skipped
        because the context has a lower one. nested: the passes that ran inside this one, if they
        were recorded (`inside()` shows them). opt_level: the opt_level of the PassContext in which
        a recorded pass ran.
    """

    nested: tuple[Stage, ...] = ()

    def at(self, index: int) -> Stage:
        """A copy of the stage for another trace; both share the provenance and all cached
        properties."""
        other = Stage.__new__(Stage)
        other.__dict__.update({"_same": self, **self.__dict__, "index": index})
        return other

    @cached_property
    def numbering(self) -> Numbering:
        """The region numbers; a trace sets them if an earlier stage has numbered the regions."""
        return Numbering(self)

    @cached_property
    def findings_before(self) -> list[Finding]:
        return _findings(self.before, self.numbering.before)

    @cached_property
    def findings_after(self) -> list[Finding]:
        """The findings in the result of the pass or, without a result, in its input."""
        if self.after is None or self.after is self.before:
            return self.findings_before
        return _findings(self.after, self.numbering.after)

    def followed(self, count: int) -> Followed:
        """The module after the first `count` rewrites, with the origins of its nodes. The last few
        states are cached, because consecutive steps share a state."""
        if count not in self._followed:
            mod = self.state_after(count)
            provenance = Provenance(self.before, mod, self.events, count)
            while len(self._followed) >= MAX_FOLLOWED:
                del self._followed[next(iter(self._followed))]
            numbers = self.numbering.of_state(mod, provenance)
            self._followed[count] = Followed(Side(mod), provenance, numbers)
        return self._followed[count]

    @cached_property
    def _followed(self) -> dict[int, Followed]:
        return {}

    def step(self, number: int) -> RewriteStep:
        """Rewrite `number` (counted from 1) alone: the modules before and after it, and their diff.
        Raises StageIndexError."""
        if not 1 <= number <= len(self.events):
            raise StageIndexError(
                f"rewrite must be in [1, {len(self.events)}], the rewrites of {self.name}; found "
                f"{number}"
            )
        return RewriteStep(
            self.events[number - 1],
            self.is_reported,
            lambda: (self.followed(number - 1), self.followed(number)),
        )

    def inside(self) -> Trace:
        """The passes that ran inside this one, as a separate trace. Raises StageIndexError if none
        were recorded."""
        if not self.nested:
            raise StageIndexError(f"no passes were recorded inside {self.name}")
        number_regions(self.nested, self)
        return Trace(list(self.nested), f"inside {self.name}", self.error)

    def __repr__(self) -> str:
        return f"<stage {self.index} {self.name}: {self.outcome}>"


class Trace(Shown):
    """The stages of one run of a pipeline; displays itself as a stepper, or as text in a terminal.

    Attributes: `title`; `stages`; `error`: the exception that ended the run, or None; `pipeline`:
    the given pipeline, None in a trace that was loaded or copied; `versions`: the versions of the
    software that made a recording, by name ("tvm", "python", ...).
    """

    def __init__(
        self,
        stages: list[Stage],
        title: str = "",
        error: Exception | None = None,
        pipeline: Pass | None = None,
        versions: Mapping[str, str] | None = None,
    ):
        self.pipeline = pipeline
        self.versions = dict(versions or {})
        self.stages = stages
        self.title = title
        self.error = error
        number_regions(stages)

    def __reduce__(self) -> tuple[Any, ...]:
        held = (self.stages, self.title, self.error, self.versions)
        return _loaded, (pickling.dump(held, roots(self.stages)),)

    @property
    def initial(self) -> IRModule:
        """The module before the pipeline."""
        return self.stages[0].before

    @property
    def final(self) -> IRModule:
        """The last module: the result, or the input of the pass that failed."""
        last = self.stages[-1]
        return last.after if last.after is not None else last.before

    @property
    def findings(self) -> list[Finding]:
        """Skipped passes, unknown targets, names of composites, the order of the passes, patterns
        of Relax that never match, then the findings in the last module."""
        last = self.stages[-1].findings_after
        return [*self._skipped(), *self._of_pipeline(), *self._of_tables(last), *last]

    def _of_tables(self, last: Sequence[Finding]) -> list[Finding]:
        """The findings on the pattern table of a Relax trace that only earlier modules show."""
        afters = dict.fromkeys(stage.after for stage in self.stages)
        found = (f for mod in afters if isinstance(mod, ForeignModule) for f in mod.findings)
        return [f for f in found if f.code in OF_TABLES and f not in last]

    def _of_pipeline(self) -> list[Finding]:
        if self.pipeline is None:
            return []
        return list(lint_relay(self.initial, self.pipeline, rules=OF_PIPELINE))

    def _skipped(self) -> Iterator[Finding]:
        """One finding for each opt_level that skipped passes need, and one for each pass skipped
        for a different reason; a disabled pass is only a hint."""
        skipped: dict[tuple[str, str], list[Stage]] = {}
        for stage in self.stages:
            if stage.skipped:
                alone = stage.name if stage.needs_level is None else ""
                skipped.setdefault((stage.skipped, alone), []).append(stage)
        for (why, name), stages in skipped.items():
            level = stages[0].needs_level
            message, what_to_do = (
                f"{name} was skipped: {why}",
                f"let the PassContext run {name}",
            )
            if level is not None:
                names = dict.fromkeys(stage.name for stage in stages)
                need = "needs" if len(names) == 1 else "need"
                message = f"{enumerated(names)} {need} {why.removeprefix('it needs ')}"
                what_to_do = (
                    f"run the pipeline under PassContext(opt_level={level}), or call "
                    f"trace(..., opt_level={level})"
                )
            severity = Severity.INFO if level is None else Severity.WARNING
            yield Finding(SKIPPED_PASS, "skipped-pass", severity, message, what_to_do)

    @property
    def result(self) -> IRModule:
        """The result of the pipeline. Raises the exception of the pass that failed."""
        if self.error is not None:
            raise self.error
        return self.final

    def __getitem__(self, which: int | str) -> Stage:
        """A stage by position, or the first stage with this pass or group name."""
        if isinstance(which, int):
            if not -len(self.stages) <= which < len(self.stages):
                raise StageIndexError(
                    f"the trace has {counted(len(self.stages), 'stage')}, numbered from 0; "
                    f"found {which}: .stages lists them"
                )
            return self.stages[which]
        for stage in self.stages:
            if which in (stage.name, stage.group):
                return stage
        names = [s.name for s in self.stages]
        raise UnknownNameError(
            f"the trace has no stage {which!r}; {nearest(which, names)} Its stages are "
            f"{', '.join(names)}"
        )

    def __len__(self) -> int:
        return len(self.stages)

    def __iter__(self) -> Iterator[Stage]:
        return iter(self.stages)

    def diff(self, first: int | str = 0, last: int | str = -1) -> Diff:
        """The diff of the module before stage `first` and the module after stage `last`, using the
        provenance of the nodes. By default: the input and the result of the pipeline.

        Raises StageIndexError, UnknownNameError, and ArgumentError if `last` is before `first`.
        """
        begin, end = self[first].index, self[last].index
        if end < begin:
            raise ArgumentError(
                f"diff compares an earlier stage with a later one, found {first!r} (number "
                f"{begin}) "
                f"and {last!r} (number {end}); swap them"
            )
        stages = self.stages[begin : end + 1]
        after = stages[-1].after if stages[-1].after is not None else stages[-1].before

        def lineage() -> ComposedLineage | None:
            if any(a.after is not b.before for a, b in pairwise(stages)):
                return None  # the module changed between two stages
            return ComposedLineage([stage.diff().correspondence.to_after for stage in stages])

        return diff_of(stages[0].before, after, lineage)

    def history(self, node: Expr) -> History:
        """The history of a node of any stage, from the input of the pipeline to its result.

        Raises UnknownNodeError if no module of the trace has the node.
        """
        return History(self.stages, node)

    def save(self, path: str | Path, constants: bool = True) -> Path:
        """Write the trace to a file that `byoc_lab.load_trace` reads.

        constants: whether to save the numbers of constants. Without them the file is small, and the
        loaded trace has everything except these values. Raises AttributeValueError for an attribute
        or dtype that the file format cannot represent.
        """
        return save_trace(
            path, self.stages, self.title, self.error, self.versions, constants=constants
        )

    def save_html(self, path: str | Path) -> Path:
        """Write the whole trace as one HTML file that needs no kernel and no network."""
        return VIEW().export_html(self, Path(path))

    @printable
    def __str__(self) -> str:
        return VIEW().render_text(self)

    def __repr__(self) -> str:
        changed = sum(s.changed for s in self.stages)
        failed = f", ended by {type(self.error).__name__}" if self.error else ""
        return f"<Trace of {counted(len(self), 'stage')}, {changed} changed the module{failed}>"


def _loaded(data: bytes) -> Trace:
    stages, title, error, versions = pickling.load(data)
    return Trace(stages, title, error, versions=versions)


def _findings(mod: IRModule, numbers: Numbers) -> list[Finding]:
    if isinstance(mod, ForeignModule):
        return list(mod.findings)
    return list(lint_relay(mod, region_numbers=numbers))


def number_regions(stages: Sequence[Stage], around: Stage | None = None) -> None:
    """Make regions keep their numbers from stage to stage, also in the texts of events and notes.

    around: the stage in which the stages ran.
    """
    if around is not None and stages[0].before is around.before:
        stages[0].numbering = Numbering(stages[0], lambda: around.numbering.before)
    for earlier, stage in pairwise(stages):
        if earlier.after is stage.before:
            stage.numbering = Numbering(stage, partial(_numbers_after, earlier))
    for stage in stages:
        for report in (*stage.events, *stage.notes):
            if isinstance(report.told, Sentence):
                found = report.told.round
                found.numbering = partial(stage.numbering.of_round, found)


def _numbers_after(stage: Stage) -> Numbers:
    return stage.numbering.after
