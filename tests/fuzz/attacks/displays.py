"""Every display of a damaged module: text, tables, pages, saved and loaded again."""

from __future__ import annotations

import random as _random
import tempfile
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import byoc_lab
from byoc_lab import relay
from tests.fuzz.examine import Steps, limited
from tests.fuzz.mutations import spoiled

VOID = {"area", "br", "circle", "col", "hr", "img", "input", "line", "link", "meta", "path", "rect"}


def make(random: _random.Random) -> bytes:
    return spoiled(random).encode("utf-8", "surrogatepass")


def examine(data: bytes) -> int:
    steps = Steps()
    with limited():
        mod = steps.do(relay.parse, data.decode("utf-8", "surrogatepass"))
        if mod is None:
            return steps.done
        found = [
            steps.do(byoc_lab.lint, mod),
            steps.do(byoc_lab.fix, mod),
            steps.do(byoc_lab.explain, mod, "dnnl"),
            steps.do(byoc_lab.explain_patterns, mod, "dnnl"),
            steps.do(byoc_lab.decode, data.decode(errors="replace"), mod),
        ]
        trace = steps.do(byoc_lab.trace, mod, "dnnl")
        if trace is not None:
            found += [trace, *(stage.events for stage in trace.stages)]
            result = steps.do(lambda: trace.result)
            found.append(result and steps.do(byoc_lab.diff, mod, result))
            steps.do(_saved, trace)
        for one in found:
            _shown(one)
            steps.done += one is not None
    return steps.done


def _shown(one: Any) -> None:
    """Displays an object as text and as markup, and checks that every element is closed."""
    str(one), repr(one)
    if hasattr(one, "_repr_html_"):
        page = one._repr_html_()
        if page is not None:
            check_markup(page)


def _saved(trace: byoc_lab.Trace) -> None:
    with tempfile.TemporaryDirectory() as folder:
        trace.save_html(Path(folder, "page.html"))
        loaded = byoc_lab.load_trace(trace.save(Path(folder, "trace.byoc")))
        if not trace[0].before.notes:  # elements of metadata; a saved trace has none
            assert str(loaded) == str(trace), "a loaded trace shows something else"


class _Balance(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open and self.open.pop() == tag, f"</{tag}> closes nothing"


def check_markup(page: str) -> None:
    """Raises AssertionError for an element that is not closed, as after markup in a name."""
    balance = _Balance()
    balance.feed(page)
    balance.close()
    assert not balance.open, f"not closed: {balance.open}"
