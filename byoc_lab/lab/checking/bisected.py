"""`Bisection`: the result of `bisect`, as text, as a figure and as JSON."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING

from byoc_lab.display import VIEW
from byoc_lab.errors import counted
from byoc_lab.lab.checking.bounds.uncertain import Executed
from byoc_lab.lab.checking.call_sites import CallSite
from byoc_lab.lab.checking.kernels import Kernel, operator_names
from byoc_lab.lab.checking.pairing import Divergence
from byoc_lab.output import to_json
from byoc_lab.passes import Event
from byoc_lab.printing import printable, with_short_names
from byoc_lab.relay.ir.expr import Call, Function, describe

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Checked:
    """One comparison that `bisect` made: the module after a stage with the initial module, or a
    kernel with its reference.

    name: the name of the pass or the kernel. share: the largest error divided by its tolerance; for
    a stage, over the outputs. ok: whether the comparison passed; for a stage, the intermediate
    values agree, too. index: the index of the stage; None for a kernel. call_site: the operator
    that the kernel computes; None for a stage.
    """

    name: str
    share: float
    ok: bool
    index: int | None = None
    call_site: CallSite | None = None


@dataclass(frozen=True)
class Bisection:
    """The result of `bisect`; true if a difference was found.

    stage: the name of the first pass that changed the numbers, or None. region: the global function
        with the operator. call: the operator, as it is after the pass, or before the pass if it was
        dropped. rewrite: the event of the pass that created the operator, if the pass reports
        events.
    divergence: the smallest differing sub-graph of both modules, with its values.
    runs: the number of evaluated modules. stages: the number of stages that changed the module.
    kernel: the wrong step of a region and its error, if generated code is wrong (`stage` then names
    the code generation). kernel_runs: the number of programs run to check steps of a region.
    call_site: the position of `call` in the module after the pass, or before it if it was dropped.
    checked: all comparisons that were made, stages in order, then kernels.
    rounding: the largest difference of an output divided by its tolerance, if no stage is wrong:
    0.0 if all outputs are equal.
    exercised: sentences on what was checked. folder: the folder of the repro.
    kernels: whether a check of generated code was requested. regions: the regions whose code was
    checked. unchecked: the regions whose code was not checked: the host or NumPy computes them,
    they were not called, or `kernels` is False. partitions: whether a pass that ran creates
    regions. skipped: the passes that did not run. failure: the error, if the code of a region fails
    when it runs; `call` and `kernel` are then None.
    """

    stage: str | None
    region: str | None
    call: Call | None
    runs: int
    stages: int
    divergence: Divergence | None = field(default=None, repr=False)
    rewrite: Event | None = field(default=None, repr=False)
    index: int | None = None
    exercised: tuple[str, ...] = ()
    folder: Path | None = None
    kernel: Kernel | None = field(default=None, repr=False)
    kernel_runs: int = 0
    rounding: float = 0.0
    call_site: CallSite | None = None
    checked: tuple[Checked, ...] = field(default=(), repr=False)
    kernels: bool = True
    regions: tuple[str, ...] = ()
    unchecked: tuple[str, ...] = ()
    partitions: bool = False
    skipped: tuple[str, ...] = ()
    failure: str = ""

    @property
    def found(self) -> bool:
        return self.stage is not None

    @property
    def parting(self) -> Divergence | None:
        """Deprecated: `divergence`."""
        text = "Bisection.parting will be removed in 0.3.0: use Bisection.divergence"
        warnings.warn(text, DeprecationWarning, stacklevel=2)
        return self.divergence

    @property
    def conclusive(self) -> bool:
        """Whether the requested check took place. False if generated code was to be checked and
        none of it ran, or if the passes that could have changed the module were skipped."""
        if self.found or self.regions:
            return True
        if self.kernels and (self.unchecked or self.partitions):
            return False
        return self.stages > 0 or not self.skipped

    @property
    def ok(self) -> bool:
        """Whether the request was checked, and no difference was found."""
        return self.conclusive and not self.found

    def __bool__(self) -> bool:
        return self.found

    @property
    def within_rounding(self) -> bool:
        """Whether outputs differ, but by no more than rounding explains."""
        return not self.found and self.rounding > 0

    @printable
    def __str__(self) -> str:
        lines = [*self._lines(), *(f"  {line}" for line in self.exercised)]
        return with_short_names("\n".join(lines))

    @property
    def verdict(self) -> str:
        """The result in one line."""
        if not self.found:
            return self._without_difference()
        if self.failure:
            return f"{self.stage}: the code of a region fails when it runs"
        number = f" (stage {self.index})" if self.kernel is None else ""
        return f"{self.stage}{number} changed the numbers"

    def _lines(self) -> Iterator[str]:
        yield self.verdict
        if self.within_rounding:
            share = f"{self.rounding:.0%}" if self.rounding > 0.005 else "less than 1%"
            yield f"  outputs differ within rounding: by {share} of the tolerance"
        if not self.found:
            return
        yield f"  region: @{self.region}"
        if self.call is None:
            yield f"  {self.failure}"
            return
        if self.kernel is None:
            yield f"  operator: {describe(self.call)}"
        else:
            if isinstance(self.kernel.call.op, Function):
                yield f"  composite: {'+'.join(operator_names(self.kernel.call))}"
            elif not self.kernel.whole:
                yield f"  operator: {describe(self.call)}"
            yield f"  {self.kernel.own}"
        if self.rewrite is not None:
            yield f"  rewrite: {self.rewrite}"
        if self.divergence is not None:
            found = self.divergence
            yield f"  before: {_listed(found.before)}"
            yield f"  after: {_listed(found.after)}"
            yield (
                f"  largest difference {found.error:.3g}, tolerance {found.tolerance:.3g}, "
                f"largest value {found.scale:.3g}"
            )
            if found.hidden:
                yield "  the outputs are equal within rounding: later operators hide the difference"
        if self.folder is not None:
            yield f"  repro: {self.folder / 'repro.py'}"

    def _without_difference(self) -> str:
        """The first line of a result without a difference. If not everything was checked, it names
        the part that was."""
        passes = f"no pass changed the {'numbers' if self.stages else 'module'}"
        left = "; ".join(self._left())
        if not self.conclusive:
            return f"inconclusive: {passes}; {left}"
        if not self.regions:
            return f"{passes}; {left}" if left else passes
        return f"no difference found{' in what was checked; ' if left else ''}{left}"

    def _left(self) -> Iterator[str]:
        """The notes on stages and regions that were not checked."""
        if self.skipped:
            verb = "were" if len(self.skipped) > 1 else "was"
            yield f"{', '.join(self.skipped)} {verb} skipped"
        if self.unchecked:
            yield f"the code of {counted(len(self.unchecked), 'region')} was not checked"
        elif self.kernels and self.partitions and not self.regions:
            yield "nothing is offloaded, so no code was checked"

    def plot(self, theme: str = "light") -> Figure:
        """A matplotlib figure: the error and tolerance of each compared stage and kernel.

        theme: "light" or "dark".
        """
        return VIEW().figure(self, theme)

    def to_json(self) -> str:
        """The result as JSON, with the operator and the rewrite as text."""
        operator = describe(self.call) if self.call is not None else None
        facts = {
            "found": self.found,
            "conclusive": self.conclusive,
            "stage": self.stage,
            "index": self.index,
            "region": self.region,
            "operator": operator,
            "rewrite": str(self.rewrite) if self.rewrite is not None else None,
            "before": [describe(s.call) for s in self.divergence.before] if self.divergence else [],
            "after": [describe(s.call) for s in self.divergence.after] if self.divergence else [],
            "error": _finite(self.divergence.error) if self.divergence else None,
            "tolerance": _finite(self.divergence.tolerance) if self.divergence else None,
            "kernel": self.kernel.own.to_json() if self.kernel is not None else None,
            "failure": self.failure or None,
            "within_rounding": self.within_rounding,
            "runs": self.runs,
            "stages": self.stages,
            "kernel_runs": self.kernel_runs,
            "repro": str(self.folder) if self.folder is not None else None,
            "unchecked": list(self.unchecked),
            "skipped": list(self.skipped),
            "checked": [
                {"name": c.name, "share": _finite(c.share), "ok": c.ok, "index": c.index}
                for c in self.checked
            ],
            "exercised": list(self.exercised),
        }
        return to_json("bisection", facts, indent=1)


def _finite(number: float) -> float | str:
    return number if isfinite(number) else str(number)


def _listed(steps: Sequence[Executed]) -> str:
    return ", ".join(describe(s.call) for s in steps) or "nothing"
