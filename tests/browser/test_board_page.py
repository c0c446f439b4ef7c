"""The annotation board in a browser: a fix is previewed, applied and dismissed."""

from __future__ import annotations

from typing import Any

import pytest

import byoc_lab
from tests.lab.view.samples import annotated, network

from .widget_page import NewPage, drawn, model, mount

pytestmark = pytest.mark.browser


def requests(page: Any) -> Any:
    return model(page, "model.get('request')")


def test_fix_is_previewed_before_it_is_applied(
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


def operator(root: Any, name: str) -> Any:
    return root.locator(".byl-box.byl-op:not(.byl-gone)", has_text=name).first


def answer(page: Any, board: byoc_lab.lab.view.board.Board) -> None:
    """Lets the kernel answer the last request."""
    board.request = requests(page)
    page.evaluate("(state) => model.set('state', state)", board.state)
    drawn(page.locator(".byl"))


def test_chosen_back_end_stays_through_clicks_and_keys(new_page: NewPage) -> None:
    board = byoc_lab.board(network())
    page = new_page()
    root = mount(page, board.state)
    choice = root.get_by_label("Back end")
    last = choice.locator("option").last.get_attribute("value")
    assert choice.input_value() != last
    choice.select_option(last)
    operator(root, "nn.relu").click()
    root.locator(".byl-put").click()
    answer(page, board)
    assert list(board.chosen.values()) == [last]
    assert choice.input_value() == last
    operator(root, "nn.conv2d").click()
    page.keyboard.press("b")
    answer(page, board)
    assert list(board.chosen.values()) == [last, last]
    for key, count in (("z", 1), ("Z", 2)):
        root.press(key)
        answer(page, board)
        assert len(board.chosen) == count
        assert choice.input_value() == last


def test_undo_and_redo_buttons_name_their_change(new_page: NewPage) -> None:
    board = byoc_lab.board(network())
    page = new_page()
    root = mount(page, board.state)
    undo, redo = (root.locator(f".byl-{way}") for way in ("undo", "redo"))
    assert undo.get_attribute("title") == "Undo: nothing (z)"
    assert undo.get_attribute("aria-disabled") == "true"
    operator(root, "nn.relu").click()
    root.locator(".byl-put").click()
    answer(page, board)
    assert "put nn.relu" in undo.get_attribute("title")
    undo.click()
    answer(page, board)
    assert "put nn.relu" in redo.get_attribute("title")
    assert "Undone: put nn.relu" in root.locator(".byl-board [role=status]").text_content()
