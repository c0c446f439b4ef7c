"""How objects show themselves without knowing who draws.

Traces, diffs, findings and reports stand below the view, which needs notebook packages. What they
ask of it goes through here, to whoever `provide` was told of; `byoc_lab` tells of its own view,
which is then loaded when something is shown for the first time.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

_load: list[Callable[[], Any]] = []


def provide(load: Callable[[], Any]) -> None:
    """Say who draws: `load()` gives an object with `mimebundle`, `render_text`, `export_html`."""
    _load[:] = [load]


def _view() -> Any:
    return _load[0]()


def mimebundle(obj: Any) -> dict[str, Any]:
    """What Jupyter shows: a widget where there is one, HTML and plain text besides."""
    return _view().mimebundle(obj)


def text(obj: Any) -> str:
    """The same content for a terminal."""
    return _view().render_text(obj)


def export_html(obj: Any, path: Path) -> Path:
    """Write `obj` as one self-contained HTML file and return its path."""
    return _view().export_html(obj, path)
