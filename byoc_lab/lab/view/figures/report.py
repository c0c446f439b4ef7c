"""Figures of a report: errors and tolerances, the distribution of the errors, and a map of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from byoc_lab.lab.checking.bounds.step import Array
from byoc_lab.lab.checking.comparison import Comparison
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.view.figures.themes import Theme
from byoc_lab.printing import in_the_middle, short_names

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALLEST = 1e-6  # smallest drawn share of the tolerance; smaller shares and zero are drawn there
LONGEST = 42  # maximum number of characters in a name


def figure(report: Report, theme: Theme) -> Figure:
    """See `Report.plot`."""
    from matplotlib.figure import Figure

    found = report.comparisons
    worst = max(found, key=lambda c: c.share)
    bars = max(2.5, 0.36 * len(found) + 1.2)
    drawn = Figure(figsize=(13, bars + 4.2), layout="constrained")
    grid = drawn.add_gridspec(2, 2, height_ratios=[bars, 4.2])
    draw_shares(drawn.add_subplot(grid[0, :]), [(c.name, c.share, c.ok) for c in found], theme)
    _draw_distribution(drawn.add_subplot(grid[1, 0]), worst, theme)
    _draw_map(drawn.add_subplot(grid[1, 1]), worst, theme)
    return drawn


def draw_shares(axes: Axes, found: Sequence[tuple[str, float, bool]], theme: Theme) -> None:
    """Bars for errors divided by their tolerances: (name, share, whether it is ok)."""
    shares = np.clip([share for _, share, _ in found], SMALLEST, 1e6)
    bars = axes.barh(range(len(found)), shares, left=0, log=True)
    for bar, (_, share, ok) in zip(bars, found, strict=True):
        bar.set_facecolor(theme.good if ok else theme.wrong)
        bar.set_hatch("" if ok else "//")
        middle = bar.get_y() + bar.get_height() / 2
        words = f"{share:.2g}" if share < SMALLEST or share > 10 else f"{share:.1%}"
        axes.text(max(bar.get_width(), SMALLEST), middle, f"  {words}", va="center")
    axes.set_yticks(range(len(found)), short_names([name for name, _, _ in found], LONGEST))
    axes.axvline(1, color=theme.ink, linewidth=1.5)
    axes.set_xlim(SMALLEST, max(100, 20 * float(shares.max(initial=1))))
    axes.invert_yaxis()
    axes.set_xlabel("error / tolerance at the worst element (right of 1 is wrong; hatched)")


def _draw_distribution(axes: Axes, worst: Comparison, theme: Theme) -> None:
    shares = np.clip(_shares(worst).ravel(), SMALLEST, 1e6)
    edges = np.logspace(np.log10(SMALLEST), max(1.0, np.log10(float(shares.max()))), 60)
    axes.hist(shares, list(edges), color=theme.good)
    axes.axvline(1, color=theme.ink, linewidth=1.5)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("error / tolerance")
    axes.set_ylabel("elements")
    axes.set_title(in_the_middle(worst.name, 34), loc="left")


def _draw_map(axes: Axes, worst: Comparison, theme: Theme) -> None:
    """Draw the plane of the last two axes that contains the worst element."""
    shares = _shares(worst)
    plane = shares[worst.place[:-2]] if shares.ndim > 2 else np.atleast_2d(shares)
    image = axes.imshow(np.clip(plane, 0, 1), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    row, column = (0, 0, *worst.place)[-2:]
    axes.plot(
        column, row, marker="o", markerfacecolor="none", markeredgecolor=theme.wrong, markersize=12
    )
    where = f"{list(worst.place[:-2])}, " if shares.ndim > 2 else ""
    axes.set_title(loc="left", label=f"{where}worst element {list(worst.place)}")
    axes.figure.colorbar(image, ax=axes, label="error / tolerance, 1 or more is wrong")


def _shares(worst: Comparison) -> Array:
    return np.zeros((1, 1)) if worst.shares is None else worst.shares.astype(np.float64)
