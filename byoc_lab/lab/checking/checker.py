"""`Checker`: the outputs and regions of a program, compared on each set of inputs in turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from byoc_lab.errors import ArgumentError, InputError, ValidationError
from byoc_lab.lab.checking.bounds.step import Array
from byoc_lab.lab.checking.comparison import Comparison, compare_all
from byoc_lab.lab.checking.exercised import Exercised
from byoc_lab.lab.checking.progress import Progress
from byoc_lab.lab.checking.regions import RegionChecks
from byoc_lab.lab.checking.report import NOT_CALLED, Report, region_errors, worst_of
from byoc_lab.lab.checking.tolerances import Bounded
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.run.metering.cards import RegionErrors
from byoc_lab.run.metering.program import MeteredProgram
from byoc_lab.seeds import checked_seed

DETAILS = ("region", "operator")


class Checkable(Protocol):
    """A program that `validate` checks; see `MeteredProgram`."""

    @property
    def stand_ins(self) -> tuple[str, ...]: ...

    def note_errors(self, symbol: str, errors: RegionErrors) -> None: ...


class Checker:
    """What `validate` found so far; each language derives one that runs its programs.

    options: how tolerances are derived, `samples` and `seed` of `bounded`. progress: is told of
    each operator of the reference, run and region. notes: what could not be
    compared, and why, each once. not_compared: the same of regions, by symbol.
    """

    def __init__(
        self,
        program: Checkable,
        regions: RegionChecks,
        options: Mapping[str, Any],
        progress: Progress,
    ):
        self.program, self.regions, self.options = program, regions, options
        self.progress = progress
        self.outputs: list[Comparison] = []
        self.exercised = Exercised()
        self.notes: dict[str, None] = {}
        self.not_compared: dict[str, str] = {}

    def watch(self, call: Call, args: tuple[Any, ...], value: Any) -> None:
        """Observes each operator call of the reference."""
        assert isinstance(call.op, Op)
        self.progress.step(f"reference of {call.op.name}")
        self.exercised(call, args, value)

    def compare_outputs(self, wanted: Bounded, got: Sequence[Array]) -> list[Comparison]:
        """Compare the outputs of a run. Raises ValidationError for another number of outputs."""
        if len(got) != len(wanted.outputs):
            raise ValidationError(
                f"the module has {len(wanted.outputs)} outputs before the pipeline, and "
                f"{len(got)} after it; both must compute the same outputs"
            )
        found = compare_all(got, wanted)
        self.outputs += found
        return found

    def report(self, inputs: Iterable[str], symbols: Iterable[str], **more: Any) -> Report:
        """The report on all that was checked, which also puts the errors of regions on their cards.

        inputs: the sets of inputs. symbols: of the regions that were to be compared. more: fields
        of `Report` that the language knows.
        """
        regions = worst_of(self.regions.comparisons)
        for symbol, errors in region_errors(regions).items():
            self.program.note_errors(symbol, errors)
        left = [s for s in symbols if s not in self.regions.reached]
        return Report(
            regions,
            worst_of(self.outputs),
            worst_of([k.own for k in self.regions.kernels]),
            inputs=tuple(inputs),
            missed=tuple(self.exercised.missed()),
            remarks=(*self.notes, *self.regions.notes),
            not_compared=tuple(f"@{s}: {self.not_compared.get(s, NOT_CALLED)}" for s in left),
            stand_ins=self.program.stand_ins,
            **more,
        )


def check_before(before: Any) -> None:
    """Raise ArgumentError for a program in place of the module before the pipeline."""
    if isinstance(before, MeteredProgram):
        raise ArgumentError(
            f"validate: the first argument must be the module before the pipeline, found "
            f"{type(before).__name__}; write validate(module, executable, inputs)"
        )


def check_order(before: bool, after: bool) -> None:
    """Raise ArgumentError if the first module has regions and the second one has none."""
    if before and not after:
        raise ArgumentError(
            "validate: the first argument must be the module before the pipeline, found one "
            "with regions first and one without them second; write validate(module, "
            "partitioned, inputs)"
        )


def checked_options(who: str, detail: str, samples: int | None, seed: int) -> None:
    """Raise ArgumentError for an unknown detail or no seed, and InputError for fewer than one
    sample."""
    checked_seed(who, seed)
    if samples is not None and samples < 1:
        raise InputError(f"samples must be at least 1, found {samples}")
    if detail not in DETAILS:
        raise ArgumentError(f'{who}: detail must be "region" or "operator", found {detail!r:.80}')
