"""The figure of cards: the time of each region, and its rate compared with a matrix product."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byoc_lab.lab.view.figures.themes import Theme, number
from byoc_lab.printing import short_names
from byoc_lab.run.metering.cards import Cards, RegionCard
from byoc_lab.run.metering.peak import machine_peak
from byoc_lab.run.symbols import c_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST = 42
"""Maximum of characters in a name."""
REGIONS = 20
"""Maximum number of regions; the slowest are drawn."""


def figure(found: Cards, theme: Theme) -> Figure:
    """See `Cards.plot`."""
    from matplotlib.figure import Figure

    slowest = sorted(found, key=lambda c: -(c.time_us or 0))[:REGIONS]
    drawn = Figure(figsize=(14, max(3.4, 0.55 * len(slowest) + 2.2)), layout="constrained")
    rates, times = drawn.subplots(1, 2, sharey=True)
    _draw_rates(rates, slowest, theme)
    _draw_times(times, slowest, theme)
    left_out = len(found) - len(slowest)
    if left_out:
        drawn.suptitle(f"the slowest {len(slowest)} regions; {left_out} are left out")
    return drawn


def _draw_rates(axes: Axes, cards: list[RegionCard], theme: Theme) -> None:
    """A bar for the rate of each region, and an outlined bar for a large matrix product."""
    for row, card in enumerate(cards):
        rate = card.gflops
        if rate is None:
            axes.text(0.01, row, " not measured", transform=axes.get_yaxis_transform(), va="center")
            continue
        peak = machine_peak(card.facts.dtype).flops_per_second / 1e9
        axes.barh(row, peak, height=0.8, color="none", edgecolor=theme.rest, linewidth=1.5)
        _bar(axes, row, rate, card, theme, f"{number(rate)} ({rate / peak:.0%})")
    axes.set_yticks(range(len(cards)), _labels(cards))
    axes.set_ylim(max(4, len(cards)) - 0.4, -0.6)
    axes.set_xlabel("GFLOP/s; outlined: a large matrix product of the dtype")
    axes.set_title("measured rate (share of matmul rate)", loc="left")


def _draw_times(axes: Axes, cards: list[RegionCard], theme: Theme) -> None:
    for row, card in enumerate(cards):
        if card.time_us is not None:
            _bar(axes, row, card.time_us / 1e3, card, theme, number(card.time_us / 1e3))
    axes.set_xmargin(0.2)
    axes.tick_params(axis="y", left=False, labelleft=False)
    axes.set_xlabel("milliseconds; hatched: fell back")
    axes.set_title("time of the last profiled call", loc="left")


def _bar(axes: Axes, row: int, value: float, card: RegionCard, theme: Theme, words: str) -> None:
    color, hatch = (theme.good, "") if card.offloaded else (theme.wrong, "//")
    axes.barh(row, value, height=0.5, color=color, hatch=hatch)
    axes.text(value, row, f"  {words}", va="center")


def _labels(cards: list[RegionCard]) -> list[str]:
    names = short_names([f"@{c_text(card.symbol)}" for card in cards], LONGEST)
    return [f"{name}, {card.ran_on}" for name, card in zip(names, cards, strict=True)]
