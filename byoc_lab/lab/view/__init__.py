"""Views of objects: widgets in a notebook, HTML in a file, text in a terminal.

All three show the same content:

    byoc_lab.trace(mod)                  the stepper, as the last expression of a cell
    byoc_lab.lab.view.Stepper(trace)     the stepper as an object: `.index`, `.selected`, `.stage`
    byoc_lab.lab.view.graph(mod)         the dataflow graph, regions in colour; `.digraph()` of it
    trace.save_html("trace.html")        everything in one file that needs no kernel and no network

This module implements `byoc_lab.display.View` for all objects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from byoc_lab.lab.view.bundles import publish, render_text
from byoc_lab.lab.view.displays import mimebundle
from byoc_lab.lab.view.export import export_html
from byoc_lab.lab.view.figures import figure
from byoc_lab.lab.view.graph import GraphView, graph

if TYPE_CHECKING:
    from byoc_lab.lab.view.stepper import Stepper, View

__all__ = [
    "GraphView",
    "Stepper",
    "View",
    "export_html",
    "figure",
    "graph",
    "mimebundle",
    "publish",
    "render_text",
]


def __getattr__(name: str) -> Any:
    """Import the widgets on first use, because they import ipywidgets."""
    if name in ("Stepper", "View"):
        from byoc_lab.lab.view import stepper

        return getattr(stepper, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
