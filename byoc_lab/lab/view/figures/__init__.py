"""The matplotlib figures of objects: `figure(obj)` draws the one of its kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from byoc_lab.errors import ArgumentError
from byoc_lab.lab.checking.coverage import Coverage, Coverages
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.view.figures import coverage, report

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def figure(obj: Any) -> Figure:
    """The figure of a report or a coverage. Raises ArgumentError for another object."""
    if isinstance(obj, Report):
        return report.figure(obj)
    if isinstance(obj, Coverage):
        return coverage.figure([obj])
    if isinstance(obj, Coverages):
        return coverage.figure(obj)
    raise ArgumentError(
        f"a figure can be drawn of a report or a coverage, found {type(obj).__name__}"
    )
