"""The display of each kind of object: traces, diffs, findings, modules and graphs."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import Any

from byoc_lab.files import write_text
from byoc_lab.lab.view import text
from byoc_lab.lab.view.graph import graph
from byoc_lab.lab.view.html import iframe, page
from byoc_lab.lab.view.parts import is_large
from byoc_lab.lab.view.rewrites import MAX_STEP_LINES, with_steps
from byoc_lab.lab.view.state import State
from byoc_lab.lab.view.states import state_and_ids, state_of

MAX_LINES = 50_000  # of all modules together; with more, a browser is busy for seconds
MAX_HTML = 4_000_000  # characters; a notebook gets a larger page only as widget and text


def render_text(obj: Any, colour: bool = False) -> str:
    """The display of an object in a terminal (`text.wants_colour()` says whether in colour)."""
    from byoc_lab.backends.dnnl.graph import DnnlGraph
    from byoc_lab.lab.diffing import Diff
    from byoc_lab.lab.tracing import Trace

    if isinstance(obj, Trace):
        return text.trace_text(obj, colour)
    if isinstance(obj, Diff):
        return text.diff_text(obj, colour=colour)
    if isinstance(obj, DnnlGraph):
        return str(graph(obj))
    return str(obj)


def mimebundle(obj: Any) -> dict[str, Any]:
    """The display of an object in Jupyter: the widget, text, and HTML for use without a kernel.

    The graph of a compiled region has a drawing and text only.
    """
    from byoc_lab.backends.dnnl.graph import DnnlGraph
    from byoc_lab.lab.tracing import Trace

    if isinstance(obj, DnnlGraph):
        return {**graph(obj)._repr_mimebundle_()}
    if isinstance(obj, Trace) and is_large(obj):  # the widget alone: it asks for what it shows
        return _with_widget(obj, {"text/plain": text.outline_text(obj)})
    bundle: dict[str, Any] = {"text/plain": render_text(obj)}
    if _in_terminal():
        return bundle
    state = state_of(obj)
    lines = sum(len(module["lines"]) for module in state["modules"])
    if lines > MAX_LINES:
        bundle["text/plain"] += (
            f"\n(not drawn: {lines} lines, and the limit is {MAX_LINES}; "
            f"show a part of it, such as one function, or fewer stages)"
        )
        return bundle
    document = page(state, bundle["text/plain"])
    if len(document) <= MAX_HTML:
        bundle["text/html"] = iframe(document)
    return _with_widget(obj, bundle, state)


def _with_widget(obj: Any, bundle: dict[str, Any], state: State | None = None) -> dict[str, Any]:
    """A bundle with the widget of an object; `state`: that of anything but a trace."""
    if _in_terminal():
        return bundle
    try:
        from byoc_lab.lab.view.stepper import widget
    except ImportError:  # anywidget is missing; the rest of the bundle shows the same
        return bundle
    shown = widget(obj, state or {}, bundle["text/plain"])._repr_mimebundle_()
    data = shown[0] if isinstance(shown, tuple) else shown
    return {**(data or {}), **bundle}


def export_html(obj: Any, path: str | os.PathLike[str]) -> Path:
    """Write an object as one self-contained HTML file and return its path."""
    from byoc_lab.lab.tracing import Trace

    target = Path(path)
    state = state_of(obj)
    if isinstance(obj, Trace):
        limit = 0 if is_large(obj) else MAX_STEP_LINES
        state = with_steps(obj, state_and_ids(obj)[1], state, limit)
    document = page(state, render_text(obj))
    write_text(target, document)
    return target


def _in_terminal() -> bool:
    """Whether this is IPython in a terminal, which discards widgets."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return type(shell).__name__ == "TerminalInteractiveShell"
