"""The stepper in a browser, with a recording from a real TVM in which some stages are only text."""

from __future__ import annotations

from pathlib import Path

import pytest

from byoc_lab import load_trace
from byoc_lab.lab.view.states.objects import state_of
from tests.lab.tracing.recording.lines import FOREIGN, HEAD, TEXT, begin, end, write

from .widget_page import NewPage, lines, mount

pytestmark = pytest.mark.browser


def test_recording_can_be_stepped_through(new_page: NewPage, tmp_path: Path) -> None:
    """The results of two passes are known only as text, the result of the third as a module."""
    passes = [begin("A"), end("A", FOREIGN), begin("B", None), end("B", f"{FOREIGN} # b")]
    passes += [begin("C", None), end("C", TEXT)]
    trace = load_trace(write(tmp_path / "recorded", HEAD, *passes))
    root = mount(new_page(), state_of(trace))
    assert "recorded by TVM 0.16" in root.locator(".byl-title").text_content()
    assert "cannot parse it" in root.locator(".byl-canvas").text_content()
    assert "@T.prim_func" in lines(root)
    root.press("ArrowRight")
    assert "1 line of the text changed" in root.locator(".byl-caption").text_content()
    root.press("5")
    root.press("1")
    root.press("ArrowRight")
    root.locator(".byl-box.byl-op").first.wait_for()
    assert any(line.startswith("def @main(") for line in lines(root))
    root.locator(".byl-compare").select_option("0")
    assert root.locator(".byl-box.byl-op").count() > 0
