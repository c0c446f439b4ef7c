"""Shows objects on the page: as widget, SVG, HTML or text."""

import io
import sys
from collections.abc import Mapping
from dataclasses import replace

import anywidget

from byoc_lab.backends.dnnl.graph import DnnlGraph
from byoc_lab.display import VIEW
from byoc_lab.lab import view
from byoc_lab.lab.tracing import Stage, Trace
from byoc_lab.lab.view.bundles import TEXTS, without_kernel
from byoc_lab.lab.view.graph import GraphView
from byoc_lab.lessons.verdict import Verdict
from byoc_lab_lite.channel import send

WIDTH = 80  # characters of a line
_shown = {}  # the widgets below each cell, which live as long as they are shown
_current = ""


def begin(cell):
    """From now on, show objects below this cell, and remove its previous displays."""
    global _current
    _current, _shown[cell] = cell, []


def display(*values):
    """Show objects below the running cell."""
    for value in values:
        sys.stdout.flush()
        if isinstance(value, Verdict):
            _judge(value)
        else:
            send("output", bundle=_bundle(value))


def _judge(verdict):
    """Show a verdict, and its picture as a widget: the page has no program that draws graphs."""
    send("output", bundle=_bundle(replace(verdict, picture=None)), passed=verdict.passed)
    if verdict.picture is not None:
        send("output", bundle=_bundle(verdict.picture))


def _bundle(value):
    """The representations of a value; the page shows the first one that it supports."""
    if isinstance(value, anywidget.AnyWidget):
        _shown[_current].append(value)
        return {"model": value.model_id, "text/plain": str(value)}
    if isinstance(value, GraphView) and not isinstance(value.obj, Mapping):
        return _bundle(value.obj)
    if isinstance(value, (GraphView, DnnlGraph)):  # no widget shows compiled regions
        return {"text/plain": view.render_text(value)}
    if hasattr(value, "_repr_mimebundle_"):
        return value._repr_mimebundle_()
    figures = sys.modules.get("matplotlib.figure")
    if figures is not None and isinstance(value, figures.Figure):
        return {"image/svg+xml": _svg(value), "text/plain": repr(value)}
    if hasattr(value, "_repr_html_"):
        return {"text/html": value._repr_html_(), "text/plain": _text(value)}
    return {"text/plain": _text(value)}


def _text(value):
    """Jupyter's text for a value: a long collection has one item per line."""
    if hasattr(value, "_repr_pretty_"):
        return str(value)
    text = repr(value)
    if len(text) < WIDTH or type(value) not in (list, tuple, dict) or len(value) == 1:
        return text
    pairs = isinstance(value, dict) and [f"{key!r}: {item!r}" for key, item in value.items()]
    return text[0] + ",\n ".join(pairs or map(repr, value)) + text[-1]


def _svg(figure):
    out = io.StringIO()
    figure.savefig(out, format="svg", bbox_inches="tight")
    return out.getvalue()


class PageView:
    """The view for `display.VIEW`: the usual one, but with widgets instead of nested pages."""

    render_text = staticmethod(view.render_text)
    export_html = staticmethod(view.export_html)
    figure = staticmethod(view.figure)
    publish = staticmethod(display)

    @staticmethod
    def mimebundle(obj):
        """The widget and the text of an object; HTML if it has no widget."""
        from byoc_lab.lab.view.stepper import widget

        if isinstance(obj, Stage):
            obj = Trace([obj], obj.name)
        if isinstance(obj, TEXTS):
            return without_kernel(obj)
        text = view.render_text(obj)
        return {**_bundle(widget(obj, text)), "text/plain": text}


VIEW.fill(lambda: PageView)
