"""The themes of figures: colours and sizes that are readable on a projector.

A figure takes the colours of its text and axes when it is created, so it must be created inside
`themed`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import UnknownNameError


@dataclass(frozen=True)
class Theme:
    """Colours. good, wrong, rest, causes: colours of bars; bars also differ in hatches."""

    paper: str
    ink: str
    grid: str
    good: str
    wrong: str
    rest: str
    causes: tuple[str, ...]


THEMES = {
    "light": Theme(
        "#ffffff", "#17202c", "#d5dae1", "#2f6f9f", "#b3261e", "#9a9a9a",
        ("#b3261e", "#c77700", "#6a4c93", "#3f7d58", "#8c564b"),
    ),
    "dark": Theme(
        "#17191e", "#e6e9ee", "#3a404a", "#56a8dc", "#ff7a6b", "#7d858f",
        ("#ff7a6b", "#f0ab3c", "#b79ce6", "#6fc792", "#d09a8e"),
    ),
}  # fmt: skip


def number(value: float) -> str:
    """The number beside a bar, with three digits or its whole integer part: "0.188", "1,146"."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


@contextmanager
def themed(name: str) -> Iterator[Theme]:
    """The theme with a name, and figures made inside in its colours. Raises UnknownNameError."""
    import matplotlib

    if name not in THEMES:
        raise UnknownNameError(
            f"a figure has the theme {' or '.join(map(repr, THEMES))}, found {name!r:.80}"
        )
    theme = THEMES[name]
    settings: dict[str, Any] = {
        "figure.facecolor": theme.paper,
        "savefig.facecolor": theme.paper,
        "axes.facecolor": theme.paper,
        "axes.edgecolor": theme.ink,
        "axes.labelcolor": theme.ink,
        "axes.titlecolor": theme.ink,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "hatch.color": theme.paper,
        "legend.labelcolor": theme.ink,
        "legend.facecolor": theme.paper,
        "legend.edgecolor": theme.grid,
        "text.color": theme.ink,
        "xtick.color": theme.ink,
        "ytick.color": theme.ink,
        "font.size": 13,
        "axes.titlesize": 14,
    }
    with matplotlib.rc_context(settings):
        yield theme
