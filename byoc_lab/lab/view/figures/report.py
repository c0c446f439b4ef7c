"""Figures of a report: error against tolerance, their distribution, and where the errors are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from byoc_lab.lab.checking.bounds.step import Array
from byoc_lab.lab.checking.comparison import Comparison
from byoc_lab.lab.checking.report import Report

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SMALLEST = 1e-6  # a share of the tolerance; what is below is drawn there, zero included
OK, WRONG = "#2f6f9f", "#b3261e"  # told apart by hatching too


def figure(report: Report) -> Figure:
    """See `Report.plot`."""
    from matplotlib.figure import Figure

    found = report.comparisons
    worst = max(found, key=lambda c: c.share)
    bars = max(2.5, 0.28 * len(found) + 1)
    drawn = Figure(figsize=(11, bars + 3.6), layout="constrained")
    grid = drawn.add_gridspec(2, 2, height_ratios=[bars, 3.6])
    _draw_shares(drawn.add_subplot(grid[0, :]), found)
    _draw_distribution(drawn.add_subplot(grid[1, 0]), worst)
    _draw_map(drawn.add_subplot(grid[1, 1]), worst)
    return drawn


def _draw_shares(axes: Axes, found: tuple[Comparison, ...]) -> None:
    shares = np.clip([c.share for c in found], SMALLEST, 1e6)
    bars = axes.barh([c.name for c in found], shares, left=0, log=True)
    for bar, c in zip(bars, found, strict=True):
        bar.set_facecolor(OK if c.ok else WRONG)
        bar.set_hatch("" if c.ok else "//")
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xlim(SMALLEST, max(10, 2 * float(shares.max())))
    axes.invert_yaxis()
    axes.set_xlabel("error / tolerance at the worst element (right of 1 is wrong; hatched)")


def _draw_distribution(axes: Axes, worst: Comparison) -> None:
    shares = np.clip(_shares(worst).ravel(), SMALLEST, 1e6)
    edges = np.logspace(np.log10(SMALLEST), max(1.0, np.log10(float(shares.max()))), 60)
    axes.hist(shares, list(edges), color=OK)
    axes.axvline(1, color="black", linewidth=1)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("error / tolerance")
    axes.set_ylabel("elements")
    axes.set_title(worst.name, fontsize="medium")


def _draw_map(axes: Axes, worst: Comparison) -> None:
    """The plane of the last two axes in which the worst element lies."""
    shares = _shares(worst)
    plane = shares[worst.place[:-2]] if shares.ndim > 2 else np.atleast_2d(shares)
    image = axes.imshow(np.clip(plane, 0, 1), cmap="cividis", vmin=0, vmax=1, aspect="auto")
    row, column = (0, 0, *worst.place)[-2:]
    axes.plot(column, row, marker="o", markerfacecolor="none", markeredgecolor=WRONG, markersize=12)
    where = f"{list(worst.place[:-2])}, " if shares.ndim > 2 else ""
    axes.set_title(f"{where}worst element {list(worst.place)}", fontsize="medium")
    axes.figure.colorbar(image, ax=axes, label="error / tolerance, 1 or more is wrong")


def _shares(worst: Comparison) -> Array:
    return np.zeros((1, 1)) if worst.shares is None else worst.shares.astype(np.float64)
