"""A change to be tried, and a tried change that offloads a call."""

from __future__ import annotations

from dataclasses import dataclass, field

from byoc_lab.errors import counted
from byoc_lab.lab.explaining.outcome import PipelineRun, Place
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.module import IRModule


@dataclass(frozen=True, eq=False)
class Trial:
    """A change that was not run yet. key: equal for trials with the same run. calls: maps calls of
    the input to their replacements; all other calls are unchanged. missing: the pass that does not
    run without the change, in words. decides: whether `missing` is the whole reason."""

    what: str
    setup: Setup
    key: object
    calls: dict[Call, Call] = field(default_factory=dict)
    keeps_numbers: bool = True
    missing: str = ""
    decides: bool = False

    def succeeds(self, place: Place) -> bool:
        """Whether a call computed at `place` is offloaded or, after an additional pass, nothing of
        it is left to compute."""
        return place.offloaded or (place.removed and bool(self.missing))


@dataclass(frozen=True, eq=False)
class VerifiedChange:
    """A change that offloads a call; the pipeline was run with it.

    what: the change in words. keeps_numbers: whether the network computes the same numbers as
    before. setup: the changed module, passes and PassContext (`setup.mod`, `setup.passes`,
    `setup.context`). outcome: the run. call: the call in the changed module. region: the external
    function that then contains it; "" if an additional pass leaves nothing of it to compute, as for
    a dropout. missing: the pass that does not run without the change, in words. decides: whether
    only this keeps the call on the host. offloaded: the numbers of offloaded calls of the module,
    before and with the change. lost: the number of calls that were offloaded before, but are not
    with the change. calls: as in `Trial`.
    """

    what: str
    keeps_numbers: bool
    setup: Setup = field(repr=False)
    outcome: PipelineRun = field(repr=False)
    call: Call = field(repr=False)
    region: str = ""
    missing: str = ""
    decides: bool = False
    offloaded: tuple[int, int] = (0, 0)
    lost: int = 0
    calls: dict[Call, Call] = field(default_factory=dict, repr=False)

    def offloads(self, call: Call) -> bool:
        """Whether, with the change, regions compute a call of the input, or an additional pass
        leaves nothing of it to compute."""
        place = self.outcome.place(self.calls.get(call, call))
        return place.offloaded or (place.removed and bool(self.missing))

    @property
    def result(self) -> IRModule:
        """The partitioned module of the run with the change."""
        return self.outcome.trace.final

    @printable
    def __str__(self) -> str:
        before, then = self.offloaded
        notes = [] if self.keeps_numbers else ["then the network computes other numbers"]
        if then < before:
            left = counted(then, "call") + (" is" if then == 1 else " are")
            notes.append(f"then {left} offloaded, not {before}")
        elif self.lost:
            notes.append(
                f"then the host computes {counted(self.lost, 'call')} that it does not now"
            )
        return self.what + (f" ({'; '.join(notes)})" if notes else "")
