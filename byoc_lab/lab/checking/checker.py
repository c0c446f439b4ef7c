"""`Checker`: the outputs and regions of a program, compared on each set of inputs in turn."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol

from byoc_lab.errors import ArgumentError, ValidationError
from byoc_lab.lab.checking.bounds.step import Array
from byoc_lab.lab.checking.branch_coverage import BranchCoverage
from byoc_lab.lab.checking.comparison import Comparison, compare_all
from byoc_lab.lab.checking.progress import Progress
from byoc_lab.lab.checking.regions import RegionChecks
from byoc_lab.lab.checking.report import NOT_CALLED, Report, region_errors, worst_of
from byoc_lab.lab.checking.tolerances import Bounded
from byoc_lab.relay.ir.expr import Call, Op
from byoc_lab.run.metering.cards import RegionErrors


class Checkable(Protocol):
    """A program that `validate` checks, such as `MeteredProgram`."""

    @property
    def stand_ins(self) -> tuple[str, ...]: ...

    def note_errors(self, symbol: str, errors: RegionErrors) -> None: ...


class Checker(ABC):
    """Collects the results of `validate`; each language has a subclass that runs its programs.

    options: how tolerances are derived, `samples` and `seed` of `bounded`. symbols: the symbols of
    the regions to compare. calls: the number of operators and regions. progress: receives each
    reference operator, run and region. notes: what could not be compared, and why, without
    duplicates. not_compared: why a region was not compared, by symbol.
    """

    progress: Progress

    def __init__(
        self,
        program: Checkable,
        regions: RegionChecks,
        options: Mapping[str, Any],
        symbols: Sequence[str],
        calls: int,
    ):
        self.program, self.regions, self.options = program, regions, options
        self.symbols = symbols
        self.steps = calls + 1  # + 1 for the run of the program
        self.outputs: list[Comparison] = []
        self.exercised = BranchCoverage()
        self.notes: dict[str, None] = {}
        self.not_compared: dict[str, str] = {}

    @abstractmethod
    def example(self, kind: str, seed: int) -> Mapping[str, Any] | Sequence[Any]:
        """Generated inputs of one kind of `SETS`."""

    @abstractmethod
    def check(self, inputs: Mapping[str, Any] | Sequence[Any], kind: str = "") -> None:
        """Run the program, and compare its regions and outputs. kind: the kind of the inputs, if
        there are several sets."""

    def watch(self, call: Call, args: tuple[Any, ...], value: Any) -> None:
        """Observes each operator call of the reference."""
        assert isinstance(call.op, Op)
        self.progress.step(f"reference of {call.op.name}")
        self.exercised(call, args, value)

    def compare_outputs(self, wanted: Bounded, got: Sequence[Array]) -> list[Comparison]:
        """Compare the outputs of a run. Raises ValidationError if the numbers of outputs differ."""
        if len(got) != len(wanted.outputs):
            raise ValidationError(
                f"the module has {len(wanted.outputs)} outputs before the pipeline, and "
                f"{len(got)} after it; both must compute the same outputs"
            )
        found = compare_all(got, wanted)
        self.outputs += found
        return found

    def report(self, inputs: Iterable[str], **more: Any) -> Report:
        """The report on everything that was checked; also stores the errors of regions on their
        cards.

        inputs: the sets of inputs. more: additional fields of `Report` that the language provides.
        """
        regions = worst_of(self.regions.comparisons)
        for symbol, errors in region_errors(regions).items():
            self.program.note_errors(symbol, errors)
        left = [s for s in self.symbols if s not in self.regions.reached]
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


def check_order(before: bool, after: bool) -> None:
    """Raise ArgumentError if the first module has regions and the second module has none."""
    if before and not after:
        raise ArgumentError(
            "validate: the first argument must be the module before the pipeline, found a module "
            "with regions, and a second argument without regions; write validate(module, "
            "partitioned, inputs)"
        )
