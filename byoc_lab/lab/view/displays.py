"""The display of each kind of object: traces, diffs, findings, modules and graphs."""

from __future__ import annotations

from typing import Any

from byoc_lab.backends.dnnl.graph import DnnlGraph
from byoc_lab.lab.tracing import Stage, Trace
from byoc_lab.lab.view.bundles import (
    NOT_DRAWN,
    TEXTS,
    in_terminal,
    without_kernel,
)


def mimebundle(obj: Any) -> dict[str, Any]:
    """The display of an object in Jupyter: the widget, text, and HTML for use without a kernel."""
    if isinstance(obj, Stage):
        obj = Trace([obj], obj.name)
    bundle = without_kernel(obj)
    if in_terminal() or isinstance(obj, (DnnlGraph, *TEXTS)) or NOT_DRAWN in bundle["text/plain"]:
        return bundle
    try:
        from byoc_lab.lab.view.stepper import widget
    except ImportError:  # anywidget is missing; the other formats show the same content
        return bundle
    return {**widget(obj, bundle["text/plain"])._repr_mimebundle_(), **bundle}
