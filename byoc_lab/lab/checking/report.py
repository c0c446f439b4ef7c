"""`Report`: the result of `validate`, as text, as a table and as JSON."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from math import isnan
from typing import TYPE_CHECKING, Any

from byoc_lab.display import VIEW, text_in_full
from byoc_lab.errors import ValidationError
from byoc_lab.lab.checking.comparison import Comparison
from byoc_lab.markup import escaped, table
from byoc_lab.output import to_json
from byoc_lab.printing import printable, with_short_names
from byoc_lab.run.metering.cards import RegionErrors

if TYPE_CHECKING:
    from matplotlib.figure import Figure

HEAD = (
    "compared", "verdict", "largest error", "largest value", "worst element", "error there",
    "tolerance there", "share of tolerance", "ULP there", "share at 50, 90, 99 %", "inherited",
)  # fmt: skip

NOT_CALLED = "no input called it"
NUMBERS = (2, 3, 5, 6, 7, 8, 10)  # columns


@dataclass(frozen=True)
class Report:
    """The report of `validate`. Each comparison is the worst one over all sets of inputs.

    regions: each region on the reference's values of its inputs, so without inherited errors.
    outputs: the outputs of @main. operators: with detail="operator", each operator (or fused chain)
    of each region on the arguments that it received, so the error is its own; the inherited error
    is listed separately. inputs: the sets of inputs. missed: branches of operators that no input
    exercised. remarks: sentences on what could not be compared, and why. fallbacks: regions that
    did not run on their back end, and why. not_compared: regions without any comparison, and why.
    stand_ins: what NumPy computed in place of a missing library. host_is_wrong: if outputs are
    wrong and all regions are right: whether the partitioned module computes the right outputs in
    the reference; None if that is not known.
    """

    regions: tuple[Comparison, ...]
    outputs: tuple[Comparison, ...]
    operators: tuple[Comparison, ...] = ()
    inputs: tuple[str, ...] = ()
    missed: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()
    fallbacks: tuple[str, ...] = ()
    not_compared: tuple[str, ...] = ()
    stand_ins: tuple[str, ...] = ()
    host_is_wrong: bool | None = None

    @property
    def comparisons(self) -> tuple[Comparison, ...]:
        """All comparisons that the verdict depends on."""
        return (*self.regions, *self.operators, *self.outputs)

    @property
    def ok(self) -> bool:
        """Whether an element was compared, and every comparison passed."""
        return any(c.compared for c in self.comparisons) and not self.wrong

    @property
    def wrong(self) -> tuple[Comparison, ...]:
        return tuple(c for c in self.comparisons if not c.ok)

    def check(self) -> Report:
        """Returns this report; raises ValidationError if a comparison failed, or nothing was
        compared."""
        if not self.ok:
            raise ValidationError(str(self))
        return self

    def notes(self) -> Iterator[str]:
        """Notes on what the verdict does not cover: next steps, inputs, fallbacks, branches not
        exercised."""
        if self.wrong and all(c.ok for c in (*self.regions, *self.operators)):
            each = "each region computes its function, and " * bool(self.regions)
            if self.host_is_wrong:
                yield (
                    f"{each}the module after the pipeline computes the same results as the module "
                    "before it: the code of the host is wrong"
                )
            elif self.host_is_wrong is None:
                yield f"{each}a pass or the code of the host is wrong"
            else:
                yield (
                    f"{each}the module after the pipeline computes other results than the module "
                    "before it: a pass changed the network; byoc_lab.bisect(module, pipeline) "
                    "finds that pass"
                )
        if not (self.regions or self.fallbacks or self.not_compared):
            yield "no region: nothing is offloaded, the host computed all of it"
        yield from (f"fell back: {f}" for f in self.fallbacks)
        yield from (f"not compared: {r}" for r in self.not_compared)
        yield from self.stand_ins
        yield from (f"inputs: {i}" for i in self.inputs)
        yield from (f"not exercised: {m}" for m in self.missed)
        yield from self.remarks

    @printable
    def __str__(self) -> str:
        if self.wrong:
            head = "NOT VALID"
        elif not self.ok:
            head = "nothing was compared"
        elif any(c.compared for c in self.outputs):
            head = "valid"
        else:
            head = "valid regions; the outputs were not compared"
        lines = [*map(str, self.comparisons), *self.notes()]
        return with_short_names("\n".join([head, *(f"  {line}" for line in lines)]))

    def to_json(self) -> str:
        """The whole report as JSON; nan and infinities are text."""
        parts: dict[str, Any] = {
            name: [c.to_json() for c in getattr(self, name)]
            for name in ("regions", "outputs", "operators")
        }
        notes = ("inputs", "missed", "remarks", "fallbacks", "not_compared", "stand_ins")
        texts = {name: list(getattr(self, name)) for name in notes}
        return to_json("validation", {"ok": self.ok, **parts, **texts}, indent=1)

    def plot(self, theme: str = "light") -> Figure:
        """A matplotlib figure: error and tolerance of each comparison, the distribution of the
        errors in the worst one, and their positions in its tensor.

        theme: "light" or "dark".
        """
        return VIEW().figure(self, theme)

    _repr_pretty_ = text_in_full

    def _repr_html_(self) -> str:
        rows = [
            (c.name, f"{'✓' if c.ok else '✗'} {c.verdict}", f"{c.largest_error:.2e}",
             f"{c.scale:.3g}", str(list(c.place)), f"{c.error:.2e}", f"{c.tolerance:.2e}",
             f"{c.share:.0%}", f"{c.ulps:.3g}", ", ".join(f"{q:.0%}" for q in c.quantiles[:-1]),
             "" if isnan(c.inherited) else f"{c.inherited:.1e}")
            for c in self.comparisons
        ]  # fmt: skip
        notes = "".join(f"<li>{escaped(note)}</li>" for note in self.notes())
        shown = table(HEAD, rows, NUMBERS) + (f"<ul>{notes}</ul>" if notes else "")
        return with_short_names(shown)


def region_errors(regions: Iterable[Comparison]) -> dict[str, RegionErrors]:
    """The errors of all results of each region, by symbol, for its card."""
    results: dict[str, list[Comparison]] = defaultdict(list)
    for c in regions:
        results[c.name.split()[0].removeprefix("@")].append(c)
    return {symbol: _errors_of(mine) for symbol, mine in results.items()}


def _errors_of(results: list[Comparison]) -> RegionErrors:
    worst = max(results, key=lambda c: c.share)
    return RegionErrors(max(c.largest_error for c in results), worst.error, worst.tolerance)


LARGEST = ("largest_error", "scale", "inherited")


def worst_of(comparisons: list[Comparison]) -> tuple[Comparison, ...]:
    """For each name, the comparison with the largest error relative to its tolerance; the numbers
    of wrong elements are summed."""
    found: dict[str, Comparison] = {}
    for c in comparisons:
        other = found.get(c.name)
        if other is None:
            found[c.name] = c
            continue
        worst = max(other, c, key=lambda each: each.share)
        counts = ("size", "wrong", "nans", "infinities", "undecided", "lost_nans")
        total = {name: getattr(other, name) + getattr(c, name) for name in counts}
        largest = {name: max(getattr(other, name), getattr(c, name)) for name in LARGEST}
        causes = tuple(sorted({*other.causes, *c.causes}))
        found[c.name] = replace(worst, **total, **largest, causes=causes)
    return tuple(found.values())
