"""The stepper in a browser, with a trace of Relax passes."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import byoc_lab
from byoc_lab.lab.view.states.state import trace_state
from tests.relax.tracing.networks import SMALL, dnnl_passes, transform

from .widget_page import NewPage, lines, mount

pytestmark = pytest.mark.browser
FUSED, MERGED, COMPILED = 3, 4, 5


@pytest.fixture(scope="module")
def state() -> Any:
    return trace_state(byoc_lab.trace(SMALL, [*dnnl_passes(), transform.RunCodegen()]))


def test_regions_have_the_colour_of_their_back_end(new_page: NewPage, state: Any) -> None:
    root = mount(new_page(), state, index=MERGED)
    assert root.locator(".byl-external").count() == 1
    assert root.locator('[data-stat="offloaded"]').text_content() == "0 → 3 operators in regions"
    assert root.locator('[data-stat="host"]').text_content() == "4 → 1 operator on the host"
    root = mount(new_page(), state, index=COMPILED)
    assert "3 operators" in root.locator(".byl-op", has_text="call_dps_packed").text_content()


def test_text_is_tvm_s_and_moved_lines_are_found(new_page: NewPage, state: Any) -> None:
    root = mount(new_page(), state, index=FUSED)
    shown = [line.strip() for line in lines(root)]
    assert (
        "@I.ir_module" in shown
        and 'R.func_attr({"Composite": "dnnl.relu", "Primitive": True})' in shown
    )
    moved = root.locator('.byl-moved-row[data-kind="moved"], [data-kind="moved"]')
    assert moved.count() >= 3


def test_line_and_its_box_are_selected_together(new_page: NewPage, state: Any) -> None:
    root = mount(new_page(), state, index=0)
    root.locator("code", has_text="R.nn.conv2d(").first.click()
    assert root.locator(".byl-op.byl-chosen").text_content().startswith("nn.conv2d")
