"""The display of each kind of object: traces, diffs, findings, modules and graphs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from byoc_lab.backends.dnnl.graph import DnnlGraph
from byoc_lab.files import write_text
from byoc_lab.lab.tracing import Stage, Trace
from byoc_lab.lab.view.bundles import (
    NOT_DRAWN,
    TEXTS,
    in_terminal,
    render_text,
    without_kernel,
)
from byoc_lab.lab.view.html import page
from byoc_lab.lab.view.overlays import overlays_of
from byoc_lab.lab.view.parts import is_large
from byoc_lab.lab.view.rewrites import MAX_STEP_LINES, with_steps
from byoc_lab.lab.view.state import State
from byoc_lab.lab.view.states import state_and_ids, state_of


def mimebundle(obj: Any) -> dict[str, Any]:
    """The display of an object in Jupyter: the widget, text, and HTML for use without a kernel."""
    if isinstance(obj, Stage):
        obj = Trace([obj], obj.name)
    bundle = without_kernel(obj)
    if in_terminal() or isinstance(obj, (DnnlGraph, *TEXTS)) or NOT_DRAWN in bundle["text/plain"]:
        return bundle
    try:
        from byoc_lab.lab.view.stepper import widget
    except ImportError:  # anywidget is missing; the rest of the bundle shows the same
        return bundle
    return {**widget(obj, bundle["text/plain"])._repr_mimebundle_(), **bundle}


def export_html(obj: Any, path: str | os.PathLike[str]) -> Path:
    """Write an object as one self-contained HTML file and return its path."""
    if isinstance(obj, Trace):
        return export_trace(obj, path)
    return _write(path, state_of(obj), obj)


def export_trace(trace: Trace, path: str | os.PathLike[str], found: Sequence[Any] = ()) -> Path:
    """Write a trace as one HTML file. found: results to show in its graph (see `overlays.py`)."""
    state, ids = state_and_ids(trace)
    limit = 0 if is_large(trace) else MAX_STEP_LINES
    made = with_steps(trace, ids, state, limit)
    return _write(path, {**made, "overlays": overlays_of(trace, ids, found)}, trace)


def _write(path: str | os.PathLike[str], state: State, obj: Any) -> Path:
    target = Path(path)
    write_text(target, page(state, render_text(obj)))
    return target
