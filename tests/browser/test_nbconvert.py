"""A notebook converted by nbconvert, opened without a network."""

from __future__ import annotations

from typing import Any

import pytest

from byoc_lab.lab.view.stepper import Stepper
from tests.lab.view.samples import chain

from .widget_page import NewPage

pytestmark = pytest.mark.browser


def test_converted_notebook_shows_the_stepper(
    new_page: NewPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    nbformat = pytest.importorskip("nbformat")
    exporters = pytest.importorskip("nbconvert.exporters")
    shown: list[Any] = []
    monkeypatch.setattr("IPython.display.display", lambda bundle, raw: shown.append(bundle))
    Stepper(chain())._ipython_display_()
    make = nbformat.v4
    outputs = [make.new_output("display_data", data=bundle) for bundle in shown]
    notebook = make.new_notebook(cells=[make.new_code_cell("stepper", outputs=outputs)])
    text, _ = exporters.HTMLExporter(template_name="lab").from_notebook_node(notebook)
    page = new_page()
    page.route("**/*", lambda route: route.abort() if "http" in route.request.url else None)
    page.set_content(text)
    root = page.frame_locator(".byl-saved iframe").locator(".byl[data-ready]")
    root.wait_for()
    root.press("ArrowLeft")
    assert root.get_attribute("data-index") == "1"
