"""The annotation board in a browser: a fix is looked at, applied, dismissed."""

from __future__ import annotations

from typing import Any

import pytest

import byoc_lab
from tests.lab.view.samples import annotated, network

from .widget_page import NewPage, model, mount

pytestmark = pytest.mark.browser


def requests(page: Any) -> Any:
    return model(page, "model.get('request')")


def test_a_fix_is_looked_at_before_it_is_applied(
    new_page: NewPage, monkeypatch: pytest.MonkeyPatch
) -> None:
    board = byoc_lab.board(network())
    page = new_page()
    root = mount(page, board.state)
    bar = root.locator(".byl-board")
    assert not bar.locator(".byl-preview").is_visible()
    bar.locator(".byl-fix").click()
    assert requests(page)["fix"] == "preview"
    monkeypatch.setattr(board, "fix", lambda: byoc_lab.fix(annotated(fixed=False)))
    board.look_at_fix()
    page.evaluate("(preview) => model.set('preview', preview)", board.preview)
    preview = bar.locator(".byl-preview")
    assert board.preview["steps"][0] in preview.text_content()
    assert preview.locator(".byl-plus").count() > 0
    bar.locator(".byl-apply").click()
    assert requests(page)["fix"] == "apply"
    bar.get_by_text("Dismiss").click()
    assert requests(page)["fix"] == "dismiss"
    page.evaluate("() => model.set('preview', {})")
    assert not preview.is_visible()
