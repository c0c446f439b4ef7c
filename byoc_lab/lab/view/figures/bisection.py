"""The figure of a bisection: error and tolerance of each comparison, in order."""

from __future__ import annotations

from typing import TYPE_CHECKING

from byoc_lab.errors import counted
from byoc_lab.lab.checking.bisected import Bisection, Checked
from byoc_lab.lab.view.figures.report import draw_shares
from byoc_lab.lab.view.figures.themes import Theme
from byoc_lab.run.symbols import shown

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ROWS = 40
"""Maximum number of bars: all stages, then the kernels with the largest errors."""


def figure(found: Bisection, theme: Theme) -> Figure:
    """See `Bisection.plot`."""
    from matplotlib.figure import Figure

    stages = [c for c in found.checked if c.index is not None]
    kernels = [c for c in found.checked if c.index is None]
    room = max(0, ROWS - len(stages))
    by_error = sorted(range(len(kernels)), key=lambda n: -kernels[n].share)
    largest = [kernels[n] for n in sorted(by_error[:room])]
    rows = [*stages, *largest]
    drawn = Figure(figsize=(13, max(3.0, 0.42 * len(rows) + 2)), layout="constrained")
    axes = drawn.add_subplot()
    draw_shares(axes, [(_name(c), c.share, c.ok) for c in rows], theme)
    first = str(found).split("\n")[0]
    left_out = len(kernels) - len(largest)
    more = f" (left out: {counted(left_out, 'kernel')} with smaller errors)" if left_out else ""
    axes.set_title(first + more, loc="left")
    return drawn


def _name(checked: Checked) -> str:
    if checked.index is not None:
        return f"after stage {checked.index}, {checked.name}"
    return shown(checked.name)
