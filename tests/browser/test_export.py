"""The exported one-file page, opened from disk without a network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import byoc_lab
from byoc_lab.lab.view import mimebundle
from tests.fuzz.attacks.names import MARKUP, TAGS, named
from tests.lab.view.samples import chain, mobilenet

from .widget_page import TALL

pytestmark = pytest.mark.browser


def test_exported_file_works_from_disk(new_page: Callable[..., Any], mobilenet_page: str) -> None:
    page = new_page(viewport=TALL)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(mobilenet_page)
    root = page.locator(".byl[data-ready]")
    root.wait_for()
    page.keyboard.press("End")
    assert root.get_attribute("data-index") == str(len(mobilenet().stages) - 1)
    root.get_by_title("Open all groups").click()
    root.locator(".byl-frame.byl-external").nth(20).wait_for(state="attached")
    assert [url for url in asked if not url.startswith(("file:", "blob:", "data:"))] == []


def test_content_policy_forbids_every_connection(
    new_page: Callable[..., Any], tmp_path: Path
) -> None:
    page = new_page()
    page.goto(chain().save_html(tmp_path / "trace.html").as_uri())
    page.locator(".byl[data-ready]").wait_for()
    refused = page.evaluate(
        """() => new Promise((resolve) => {
          document.addEventListener("securitypolicyviolation",
            (event) => resolve(event.effectiveDirective));
          fetch("http://127.0.0.1:9/").catch(() => {});
        })"""
    )
    assert refused == "connect-src"


def test_exported_page_fills_the_window_in_the_system_s_theme(
    new_page: Callable[..., Any], tmp_path: Path
) -> None:
    page = new_page(color_scheme="dark", viewport={"width": 1200, "height": 700})
    page.goto(chain().save_html(tmp_path / "trace.html").as_uri())
    root = page.locator(".byl[data-ready]")
    root.wait_for()
    assert root.get_attribute("data-theme") == "dark"
    assert root.bounding_box() == {"x": 0, "y": 0, "width": 1200, "height": 700}


def test_exported_page_works_in_the_frame_that_notebooks_keep(new_page: Callable[..., Any]) -> None:
    """The frame is the `text/html` output that nbconvert and viewers without a kernel show."""
    page = new_page()
    page.set_content(mimebundle(chain())["text/html"])
    root = page.frame_locator("iframe").locator(".byl[data-ready]")
    root.wait_for()
    assert root.get_attribute("data-index") == "2", "it opens at the error"
    root.press("ArrowLeft")
    assert root.get_attribute("data-index") == "1"


def test_link_opens_the_page_at_a_stage_a_rewrite_and_a_node(
    new_page: Callable[..., Any], mobilenet_page: str
) -> None:
    address = mobilenet_page
    page = new_page()
    page.goto(address)
    root = page.locator(".byl[data-ready]")
    root.wait_for()
    assert root.get_attribute("data-index") == "1", "it opens at the first change"
    page.keyboard.press("End")
    page.keyboard.press(".")
    page.wait_for_function("() => location.hash.includes('node=')")
    chosen, link = root.get_attribute("data-selected"), page.url
    assert "stage=9&rewrite=1" in link
    other = new_page()
    other.goto(link)
    root = other.locator(".byl[data-ready]")
    root.wait_for()
    assert root.get_attribute("data-index") == "8"
    assert root.get_attribute("data-selected") == chosen
    other.goto(f"{address}#stage=99&node=n0")  # an identifier of another trace
    other.wait_for_selector('.byl[data-index="8"]')
    wrong: list[Any] = []
    other.on("pageerror", lambda error: wrong.append(error))
    for name in ("__proto__", "constructor", "toString"):  # members of every JavaScript object
        other.goto(f"{address}#stage=2&node={name}")
        other.wait_for_selector('.byl[data-index="1"]')
        assert root.get_attribute("data-selected") != name
        other.goto(f"{address}#stage=9")
        other.wait_for_selector('.byl[data-index="8"]')
    assert not wrong


def test_hostile_names_stay_text(new_page: Callable[..., Any], tmp_path: Path) -> None:
    page = new_page()
    said: list[str] = []
    page.on("dialog", lambda dialog: (said.append(dialog.message), dialog.dismiss()))
    page.on("pageerror", lambda error: said.append(str(error)))
    for number, tag in enumerate(TAGS):
        trace = byoc_lab.trace(named(f"a{tag}{MARKUP}\ud800"), ["InferType", "FoldConstant"])
        page.goto(trace.save_html(tmp_path / f"{number}.html").as_uri())
        root = page.locator(".byl[data-ready]")
        root.wait_for()
        root.get_by_title("Open all groups").click()
        assert page.locator("img, script[src], [onload], [onerror]").count() == 0
    assert said == []
