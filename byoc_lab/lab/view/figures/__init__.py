"""The matplotlib figures of objects: `figure(obj)` draws the figure for the kind of object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from byoc_lab.errors import ArgumentError
from byoc_lab.lab.checking.bisected import Bisection
from byoc_lab.lab.checking.coverage import Coverage, Coverages
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.view.figures import bisection, cards, coverage, report
from byoc_lab.lab.view.figures.themes import themed
from byoc_lab.run.metering.cards import Cards

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(obj: Any, theme: str = "light") -> Figure:
    """The figure of a report, a bisection, a coverage or cards; theme: "light" or "dark".

    Raises ArgumentError for other objects, and UnknownNameError for an unknown theme.
    """
    with themed(theme) as colours:
        if isinstance(obj, Report):
            return report.figure(obj, colours)
        if isinstance(obj, Bisection):
            return bisection.figure(obj, colours)
        if isinstance(obj, Coverage):
            return coverage.figure([obj], colours)
        if isinstance(obj, Coverages):
            return coverage.figure(obj, colours)
        if isinstance(obj, Cards):
            return cards.figure(obj, colours)
    raise ArgumentError(
        f"a figure can be drawn of a report, a bisection, a coverage or cards, found "
        f"{type(obj).__name__}"
    )
