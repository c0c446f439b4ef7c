"""`Comparison`: two traces side by side, stage by stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from byoc_lab.display import VIEW, Shown
from byoc_lab.errors import ArgumentError, StageIndexError, UnknownNameError, counted, nearest
from byoc_lab.lab.comparing.aligning import aligned
from byoc_lab.lab.comparing.places import Place, places_of
from byoc_lab.lab.diffing import Diff, TextDiff, diff_of
from byoc_lab.lab.diffing.records import BESIDE, summary_of
from byoc_lab.lab.tracing import Stage, Trace
from byoc_lab.printing import columns, printable
from byoc_lab.relay.analysis.region_numbers import Numbers
from byoc_lab.relay.ir.expr import Call, Expr, Op
from byoc_lab.relay.ir.module import IRModule

INPUT = "input"


@dataclass(frozen=True, eq=False)
class MovedOperator:
    """An operator that a different back end, or the host, computes in the second trace.

    operator: its name. first, second: its call in the first and the second module. source, target:
    the place of its computation in the first and the second module.
    """

    operator: str
    first: Call
    second: Call
    source: Place
    target: Place

    @property
    def way(self) -> str:
        """The move in words, without region names: "from the host to dnnl"."""
        return f"from {self.source.owner} to {self.target.owner}"

    @printable
    def __str__(self) -> str:
        return f"{self.operator}: {self.source} in the first, {self.target} in the second"


class StagePair:
    """Corresponding stages of both traces, with their results.

    name: the name of the pass; "input" for the modules before the pipelines. first, second: the
    stages; None for the input, and if one trace has no corresponding stage. first_module,
    second_module: the result of the stage or, if that trace lacks the stage, of its last stage
    before.
    """

    def __init__(
        self,
        name: str,
        stages: tuple[Stage | None, Stage | None],
        modules: tuple[IRModule, IRModule],
        numbers: tuple[Numbers, Numbers],
        delta: Diff,
    ):
        self.name = name
        self.first, self.second = stages
        self.first_module, self.second_module = modules
        self._numbers = numbers
        self._delta = delta

    @property
    def only_in(self) -> str:
        """ "first" or "second" if only that trace has the stage, else ""."""
        if self.name == INPUT or (self.first and self.second):
            return ""
        return "first" if self.first else "second"

    @property
    def differs(self) -> bool:
        """Whether the two modules differ structurally, or as text if one is known only as text."""
        return not self._delta.equal

    def diff(self) -> Diff:
        """The diff from the first module to the second."""
        return self._delta

    @cached_property
    def partners(self) -> list[tuple[Expr, Expr]]:
        """Corresponding nodes of both modules, in the order of the second module. None if one
        module is known only as text."""
        if isinstance(self._delta, TextDiff):
            return []
        return self._delta.correspondence.pairs()

    @cached_property
    def moved(self) -> tuple[MovedOperator, ...]:
        """The operators of both modules that a different back end, or the host, computes in the
        second module. A different region name alone does not count."""
        first, second = (
            places_of(mod, numbers)
            for mod, numbers in zip(
                (self.first_module, self.second_module), self._numbers, strict=True
            )
        )
        return tuple(
            MovedOperator(y.op.name, x, y, first[x], second[y])
            for x, y in self.partners
            if isinstance(x, Call)
            and isinstance(y, Call)
            and isinstance(y.op, Op)
            and x in first
            and y in second
            and first[x].back_end != second[y].back_end
        )

    @property
    def summary(self) -> str:
        """The moved operators and the differences, in one sentence without a full stop."""
        if not self.differs:
            return "no difference"
        delta = self._delta
        is_text = isinstance(delta, TextDiff)
        differing = delta.summary if is_text else summary_of(delta.changes, BESIDE)
        return "; ".join(filter(None, (moves_text(self.moved), differing)))

    def __repr__(self) -> str:
        only = f", only in the {self.only_in}" if self.only_in else ""
        return f"<pair {self.name}{only}: {'differs' if self.differs else 'same'}>"


class Comparison(Shown):
    """Two traces side by side; displays itself as two graphs with one list of stages, or as text.

    first, second: the traces. pairs: the input, then every stage of both traces, paired with the
    stage of the same pass in the other trace, if there is one. first_difference: the first pair
    that differs, or None. moved: the operators that are computed elsewhere in the second result.
    """

    def __init__(self, first: Trace, second: Trace):
        self.first, self.second = first, second
        self.pairs = tuple(_pairs(first, second))

    @cached_property
    def first_difference(self) -> StagePair | None:
        """The first pair whose modules differ; None if there is none."""
        return next((pair for pair in self.pairs if pair.differs), None)

    @property
    def moved(self) -> tuple[MovedOperator, ...]:
        """The operators that a different back end, or the host, computes in the second result."""
        return self.pairs[-1].moved

    @property
    def titles(self) -> tuple[str, str]:
        """The titles of the traces."""
        return str(self.first.title), str(self.second.title)

    @property
    def title(self) -> str:
        """Both titles as one title."""
        return " beside ".join(self.titles)

    @property
    def summary(self) -> str:
        """The number of stages that differ, the first one, and the operators that moved."""
        start = self.first_difference
        if start is None:
            return f"no difference in {counted(len(self.pairs), 'stage')}, the input included"
        many = sum(pair.differs for pair in self.pairs)
        verb = "differs" if many == 1 else "differ"
        found = f"{many} of {counted(len(self.pairs), 'stage')} {verb}, the first is {start.name}"
        return "; ".join(filter(None, (found, moves_text(self.moved))))

    def __getitem__(self, which: int | str) -> StagePair:
        """A pair by position, or the first one of a pass. Raises StageIndexError and
        UnknownNameError."""
        if isinstance(which, int):
            if not -len(self.pairs) <= which < len(self.pairs):
                raise StageIndexError(
                    f"the comparison has {counted(len(self.pairs), 'pair')} of stages, numbered "
                    f"from 0; found {which}: .pairs lists them"
                )
            return self.pairs[which]
        for pair in self.pairs:
            if pair.name == which:
                return pair
        names = list(dict.fromkeys(pair.name for pair in self.pairs))
        raise UnknownNameError(
            f"the comparison has no stage {which!r}; {nearest(which, names)} Its stages are "
            f"{', '.join(names)}"
        )

    def __len__(self) -> int:
        return len(self.pairs)

    def __bool__(self) -> bool:
        return self.first_difference is not None

    def save_html(self, path: str | Path) -> Path:
        """Write both traces as one HTML file that needs no kernel and no network."""
        return VIEW().export_html(self, Path(path))

    @printable
    def __str__(self) -> str:
        lines = [self.title, self.summary, *columns(_rows(self), right=(0, 4))]
        if self.first_difference is not None:
            start = self.first_difference
            lines += ["", f"{start.name}, the first difference: {start.summary}"]
        if self.moved:
            lines += ["", "Moved in the results:", *_listed(self.moved)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<Comparison of {self.title}: {self.summary}>"


def compare(first: Trace, second: Trace) -> Comparison:
    """Compare two traces: two pipelines, two back ends, two versions of a module, or a recording of
    TVM and a trace made here.

    Stages correspond by the names of their passes. The result has the first stage that differs, and
    the operators that are on the host in one trace and in a region in the other.

    Raises ArgumentError for anything other than two traces.
    """
    for name, found in (("first", first), ("second", second)):
        if not isinstance(found, Trace):
            raise ArgumentError(
                f"compare takes two traces, found {type(found).__name__} as the {name}; "
                f"trace(mod, pipeline) and load_trace(path) give traces, and diff compares modules"
            )
    return Comparison(first, second)


def moves_text(moved: Sequence[MovedOperator]) -> str:
    """Counts of moved operators by direction: "2 operators moved from the host to dnnl"."""
    ways = Counter(move.way for move in moved)
    return ", ".join(f"{counted(n, 'operator')} moved {way}" for way, n in ways.items())


def _listed(moved: Sequence[MovedOperator]) -> list[str]:
    """The moved operators, counted by name and direction."""
    counts = Counter((move.way, move.operator) for move in moved)
    width = len(str(max(counts.values())))
    return [f"  {n:{width}} {operator} {way}" for (way, operator), n in sorted(counts.items())]


def _pairs(first: Trace, second: Trace) -> list[StagePair]:
    known: dict[tuple[IRModule, IRModule], Diff] = {}
    modules = [first.initial, second.initial]
    numbers = [first.stages[0].numbering.before, second.stages[0].numbering.before]

    def pair(name: str, a: Stage | None, b: Stage | None) -> StagePair:
        for side, stage in enumerate((a, b)):
            if stage is not None:
                modules[side] = stage.before if stage.after is None else stage.after
                numbers[side] = stage.numbering.after
        both = modules[0], modules[1]
        if both not in known:
            known[both] = diff_of(*both)
        return StagePair(name, (a, b), both, (numbers[0], numbers[1]), known[both])

    names = [stage.name for stage in first], [stage.name for stage in second]
    pairs = [pair(INPUT, None, None)]
    for n, m in aligned(*names):
        a, b = None if n is None else first[n], None if m is None else second[m]
        stage = a if a is not None else b
        assert stage is not None  # at most one of the two is None
        pairs.append(pair(stage.name, a, b))
    return pairs


def _rows(comparison: Comparison) -> list[tuple[str, ...]]:
    """The table of the stages."""
    rows: list[tuple[str, ...]] = [("#", "stage", "first", "second", "moved", "modules")]
    for n, pair in enumerate(comparison.pairs):
        word = "same"
        if pair.differs:
            word = "differ first here" if pair is comparison.first_difference else "differ"
        outcomes = [_outcome(stage, pair) for stage in (pair.first, pair.second)]
        rows.append((str(n), pair.name, *outcomes, str(len(pair.moved) or "-"), word))
    return rows


def _outcome(stage: Stage | None, pair: StagePair) -> str:
    """The outcome of a stage, in words."""
    if stage is not None:
        return stage.outcome
    return "-" if pair.name == INPUT else "not there"
