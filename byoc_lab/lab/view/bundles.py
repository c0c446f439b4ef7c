"""The static display of an object, for a page without a kernel, and its output after the widget."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from byoc_lab.backends.dnnl.graph import DnnlGraph
from byoc_lab.lab.diffing import Diff
from byoc_lab.lab.tracing import Trace
from byoc_lab.lab.tracing.events import Events, Notes
from byoc_lab.lab.view import text
from byoc_lab.lab.view.graph import graph
from byoc_lab.lab.view.html import as_text, iframe, page, saved
from byoc_lab.lab.view.states.objects import state_of
from byoc_lab.lab.view.states.parts import is_large
from byoc_lab.lab.view.still import with_still

MAX_LINES = (
    50_000  # maximum number of lines in all modules together; a browser takes seconds to show more
)
WIDGET = "application/vnd.jupyter.widget-view+json"
NOT_DRAWN = "not drawn:"
TEXTS = (Events, Notes)  # objects shown only as text
MAX_HTML = 4_000_000  # maximum number of characters; a larger page is shown only as widget and text


def render_text(obj: Any) -> str:
    """The display of an object in a terminal."""
    if isinstance(obj, Trace):
        return text.trace_text(obj)
    if isinstance(obj, Diff):
        return text.diff_text(obj)
    if isinstance(obj, DnnlGraph):
        return str(graph(obj))
    return str(obj)


def without_kernel(obj: Any) -> dict[str, Any]:
    """The text and the HTML of an object, which need no kernel.

    For the graph of a compiled region: a drawing and text; for events: only text.
    """
    if isinstance(obj, DnnlGraph):
        return {**graph(obj)._repr_mimebundle_()}
    if isinstance(obj, TEXTS):
        return {"text/plain": str(obj), "text/html": as_text(str(obj))}
    if isinstance(obj, Trace) and is_large(obj):  # the widget requests only the parts that it shows
        outline = text.outline_text(obj)
        return {"text/plain": outline, "text/html": as_text(outline)}
    bundle: dict[str, Any] = {"text/plain": render_text(obj)}
    if in_terminal():
        return bundle
    state = state_of(obj)
    lines = sum(len(module["lines"]) for module in state["modules"])
    if lines > MAX_LINES:
        bundle["text/plain"] += (
            f"\n({NOT_DRAWN} {lines} lines, and the limit is {MAX_LINES}; "
            f"show a part of it, such as one function, or fewer stages)"
        )
        return bundle
    document = page(state, bundle["text/plain"])
    if len(document) <= MAX_HTML:
        bundle["text/html"] = with_still(iframe(document), obj, state)
    return bundle


def publish(obj: Any) -> None:
    """Display an object in Jupyter as two outputs: its widget, and its HTML.

    A notebook shows the widget while its kernel runs, and hides the HTML. The HTML appears in a
    reopened notebook, in nbconvert's output, and where widgets do not work.
    """
    from IPython import display

    show: Callable[..., None] = display.display
    bundle = obj._repr_mimebundle_()
    words = {"text/plain": bundle["text/plain"]}
    if WIDGET not in bundle:
        show(bundle, raw=True)
        return
    show({**words, WIDGET: bundle[WIDGET]}, raw=True)
    if "text/html" in bundle:
        name = bundle[WIDGET]["model_id"]
        html = saved(bundle["text/html"], words["text/plain"], name)
        show({**words, "text/html": html}, raw=True)


def in_terminal() -> bool:
    """Whether this is IPython in a terminal, which discards widgets."""
    return type(_shell()).__name__ == "TerminalInteractiveShell"


def in_kernel() -> bool:
    """Whether this is a Jupyter kernel. Its widgets exist until the kernel ends, even if a cell is
    run again (in marimo, they end with the cell that made them)."""
    return hasattr(_shell(), "kernel")


def _shell() -> Any:
    """The IPython shell, or None."""
    ipython = sys.modules.get("IPython")
    return ipython.get_ipython() if ipython else None
