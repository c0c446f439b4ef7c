"""Figures of a coverage: offloaded and remaining work by cause, and the sizes of the regions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from byoc_lab.lab.checking.coverage import Coverage
from byoc_lab.lab.view.figures.themes import Theme, number
from byoc_lab.printing import short_names
from byoc_lab.run.symbols import c_text

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LONGEST = 42
"""Maximum of characters in a name."""
HATCHES = ("//", "\\\\", "..", "xx", "--")
REGIONS = 30
"""Maximum number of regions; the largest are drawn."""
ROWS = 8
"""Minimum number of rows for which the figure has space, so that a single bar is not too thick."""


def figure(found: Sequence[Coverage], theme: Theme) -> Figure:
    """See `Coverage.plot` and `Coverages.plot`."""
    from matplotlib.figure import Figure

    rows = min(REGIONS, max(ROWS, *(len(c.regions) for c in found)))
    height = 0.9 * len(found) + 1.6
    drawn = Figure(figsize=(13, height + 0.32 * rows + 1.2), layout="constrained")
    grid = drawn.add_gridspec(2, len(found), height_ratios=[height, 0.32 * rows + 1.2])
    _draw_shares(drawn.add_subplot(grid[0, :]), found, theme)
    for n, coverage in enumerate(found):
        _draw_regions(drawn.add_subplot(grid[1, n]), coverage, theme)
    return drawn


def _draw_shares(axes: Axes, found: Sequence[Coverage], theme: Theme) -> None:
    """For each back end, a bar of its floating-point operations and a bar of its operators."""
    causes = list(dict.fromkeys(g.cause for c in found for g in c.host))
    labelled: set[str] = set()
    for c in found:
        calls = sum(g.calls for g in c.host)
        bars = (
            ("FLOP", c.totals.offloaded_flops, c.totals.flops, sum(g.flops for g in c.host)),
            ("operators", c.totals.offloaded, c.totals.operators, calls),
        )
        for what, inside, total, explained in bars:
            name = f"{c.backend}: {what}"
            share = inside / total if total else 0.0
            _bar(axes, name, 0.0, share, theme.good, "", "offloaded", labelled)
            start, outside = share, 1.0 - share if total else 0.0
            for place, cause in enumerate(causes):
                n = place % len(theme.causes)
                groups = [group for group in c.host if group.cause == cause]
                size = sum(g.flops if what == "FLOP" else g.calls for g in groups)
                width = outside * size / explained if explained else 0.0
                _bar(axes, name, start, width, theme.causes[n], HATCHES[n], cause, labelled)
                start += width
            _bar(axes, name, start, 1.0 - start, theme.rest, "", "not known", labelled)
    axes.set_xlim(0, 1)
    axes.xaxis.set_major_formatter(lambda share, _: f"{share:.0%}")
    axes.invert_yaxis()
    axes.set_title("offloaded, and not offloaded by cause")
    axes.legend(loc="upper left", bbox_to_anchor=(1.01, 1))


def _bar(
    axes: Axes, name: str, start: float, width: float, color: str, hatch: str, label: str,
    labelled: set[str],
) -> None:  # fmt: skip
    shown = "" if width < 1e-9 or label in labelled else label
    labelled.update({shown} - {""})
    axes.barh(name, width, left=start, color=color, hatch=hatch, label=shown or None)


def _draw_regions(axes: Axes, coverage: Coverage, theme: Theme) -> None:
    """The largest regions by floating-point operations; a bar of unknown size has length 0."""
    largest = sorted(coverage.regions, key=lambda r: -(r.flops or 0))[:REGIONS]
    names = short_names([f"@{c_text(r.symbol)}" for r in largest], LONGEST)
    labels = [f"{name} ({r.operators})" for name, r in zip(names, largest, strict=True)]
    sizes = [(r.flops or 0) / 1e6 for r in largest]
    axes.barh(range(len(largest)), sizes, color=theme.good)
    for row, (region, size) in enumerate(zip(largest, sizes, strict=True)):
        words = "not known" if region.flops is None else number(size)
        axes.text(size, row, f"  {words}", va="center")
    axes.set_yticks(range(len(largest)), labels)
    axes.set_xmargin(0.2)
    axes.set_ylim(max(ROWS, len(largest)) - 0.4, -0.6)
    axes.set_xlabel("million FLOP in a call")
    left_out = len(coverage.regions) - len(largest)
    more = f", {left_out} smaller ones are left out" if left_out else ""
    axes.set_title(
        f"regions of {coverage.backend} (operators){more}" if largest else
        f"{coverage.backend} has no regions",
    )  # fmt: skip
