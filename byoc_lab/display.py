"""Displays of objects. Traces, diffs and findings cannot import the view directly, because the view
imports them and needs notebook packages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from byoc_lab.late import Slot

if TYPE_CHECKING:
    from matplotlib.figure import Figure


class View(Protocol):
    """The interface that shows objects; the module `byoc_lab.lab.view` implements it."""

    def mimebundle(self, obj: Any) -> dict[str, Any]:
        """The display in Jupyter: a widget if possible, HTML, and plain text."""

    def publish(self, obj: Any) -> None:
        """Display an object in Jupyter: the widget, and HTML for a notebook without a kernel."""

    def render_text(self, obj: Any) -> str:
        """The same content for a terminal."""

    def export_html(self, obj: Any, path: Path) -> Path:
        """Write `obj` as one self-contained HTML file and return its path."""

    def figure(self, obj: Any, theme: str = "light") -> Figure:
        """The matplotlib figure of an object that has one. theme: "light" or "dark"."""


VIEW: Slot[View] = Slot()


class Shown:
    """An object that notebooks show with the view."""

    __slots__ = ()

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return VIEW().mimebundle(self)

    def _ipython_display_(self) -> None:
        VIEW().publish(self)


def text_in_full(obj: Any, printer: Any, cycle: bool) -> None:
    """`_repr_pretty_` for objects with `_repr_html_`: IPython then shows the text of `print`
    instead of the short `repr`. Each class must assign it directly, because IPython prefers a
    `__repr__` of the class to an inherited `_repr_pretty_`."""
    printer.text(str(obj))
