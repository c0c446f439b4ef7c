"""The display of each kind of object: traces, diffs, findings, modules and graphs."""

from __future__ import annotations

import os
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
from byoc_lab.lab.view.parts import is_large
from byoc_lab.lab.view.rewrites import MAX_STEP_LINES, with_steps
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
    target = Path(path)
    state = state_of(obj)
    if isinstance(obj, Trace):
        limit = 0 if is_large(obj) else MAX_STEP_LINES
        state = with_steps(obj, state_and_ids(obj)[1], state, limit)
    document = page(state, render_text(obj))
    write_text(target, document)
    return target
