"""Displays of objects, provided by the view without an import of it.

Traces, diffs and findings cannot import the view, which imports them and needs notebook packages.
They call the functions of this module, which call the view that was registered with `provide`.
`byoc_lab` registers `byoc_lab.lab.view`, which is imported when an object is first shown.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def text_in_full(obj: Any, printer: Any, cycle: bool) -> None:
    """`_repr_pretty_` of objects with `_repr_html_`: IPython shows the text that `print` writes and
    not the short `repr`. A class states it itself, since IPython prefers a `__repr__` of the class
    to an inherited `_repr_pretty_`."""
    printer.text(str(obj))


_load: list[Callable[[], Any]] = []


def provide(load: Callable[[], Any]) -> None:
    """Register a view: `load()` returns it, with `mimebundle`, `publish`, `render_text`,
    `export_html` and `figure`."""
    _load[:] = [load]


def _view() -> Any:
    return _load[0]()


def mimebundle(obj: Any) -> dict[str, Any]:
    """The display in Jupyter: a widget if possible, HTML, and plain text."""
    return _view().mimebundle(obj)


def publish(obj: Any) -> None:
    """Display an object in Jupyter: the widget, and HTML for a notebook without a kernel."""
    _view().publish(obj)


def text(obj: Any) -> str:
    """The same content for a terminal."""
    return _view().render_text(obj)


def export_html(obj: Any, path: Path) -> Path:
    """Write `obj` as one self-contained HTML file and return its path."""
    return _view().export_html(obj, path)


def figure(obj: Any, theme: str = "light") -> Figure:
    """The matplotlib figure of an object that has one. theme: "light" or "dark"."""
    return _view().figure(obj, theme)
