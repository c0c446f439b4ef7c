"""The stepper in a browser: stepping by button, key and Python, filtering, jumping."""

from __future__ import annotations

from typing import Any

import pytest

from .widget_page import NewPage, model, mount

pytestmark = pytest.mark.browser


def test_buttons_step_and_python_is_notified(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state)
    root.locator(".byl-next").click()
    assert root.get_attribute("data-index") == "1"
    assert model(page, "model.sent[0]") == {"index": 1, "selected": ""}
    root.locator(".byl-previous").click()
    root.locator(".byl-previous").click(force=True)  # the first stage has no stage before it
    assert root.get_attribute("data-index") == "0"
    assert root.locator(".byl-previous").get_attribute("aria-disabled") == "true"
    root.locator("[role=option]").last.click()
    assert root.get_attribute("data-index") == "2"


@pytest.mark.parametrize(
    ("start", "key", "end"),
    [
        (0, "ArrowRight", 1),
        (0, "j", 1),
        (1, "ArrowLeft", 0),
        (1, "k", 0),
        (0, "End", 2),
        (2, "Home", 0),
        (2, "ArrowRight", 2),
    ],
)
def test_keys_change_the_stage(
    new_page: NewPage, chain_state: Any, start: int, key: str, end: int
) -> None:
    root = mount(new_page(), chain_state, index=start)
    root.press(key)
    assert root.get_attribute("data-index") == str(end)


def test_keys_still_work_at_the_last_stage(new_page: NewPage, chain_state: Any) -> None:
    """A button that is disabled under the pointer would lose the focus."""
    page = new_page()
    root = mount(page, chain_state, index=1)
    root.locator(".byl-next").click()
    page.keyboard.press("ArrowLeft")
    assert root.get_attribute("data-index") == "1"


def test_keys_outside_the_stepper_are_ignored(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state)
    page.evaluate("() => document.activeElement.blur()")
    page.keyboard.press("ArrowRight")
    assert root.get_attribute("data-index") == "0"


def test_keys_with_modifiers_are_ignored(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state)
    root.press("Control+ArrowRight")
    assert root.get_attribute("data-index") == "0"


def test_python_changes_the_stage(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state)
    # In the same turn of the event loop: later, the page asks Python for the next parts.
    assert page.evaluate("() => (model.set('index', 2), model.sent)") == []
    assert root.get_attribute("data-index") == "2"


def test_stage_change_is_announced_to_screen_readers(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state)
    root.press("j")
    assert root.locator("[aria-live=polite]").text_content() == (
        "Stage 2 of 3: Annotate, changed, 0 rewrites, 1 finding. "
        "Annotate: 13 annotations for dnnl added."
    )


def test_filter_and_changed_only_shorten_the_list_of_stages(
    new_page: NewPage, mobilenet_state: Any
) -> None:
    page = new_page()
    root = mount(page, mobilenet_state)
    total = len(mobilenet_state["stages"])
    changed = [n for n, s in enumerate(mobilenet_state["stages"]) if s["changed"]]
    shown = root.locator("[role=option]:visible")
    assert shown.count() == total
    root.press("c")
    assert shown.count() == len(changed)
    root.press("j")
    assert int(root.get_attribute("data-index")) == next(n for n in changed if n > 0)
    root.press("c")
    root.press("/")
    page.keyboard.type("fold")
    names = [s["name"] + s["group"] for s in mobilenet_state["stages"]]
    assert shown.count() == sum("fold" in n.lower() for n in names)
    page.keyboard.type("zzz")
    assert root.locator(".byl-empty:visible").first.text_content() == "No pass matches."
    page.keyboard.press("Escape")
    assert shown.count() == total
    page.keyboard.press("End")
    assert root.get_attribute("data-index") == str(total - 1)


def test_typing_in_the_filter_triggers_no_command(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state)
    root.press("/")
    page.keyboard.type("jjw")
    assert root.get_attribute("data-index") == "0"
    assert root.locator(".byl-filter").input_value() == "jjw"


def test_help_opens_and_closes(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state)
    root.press("?")
    assert root.locator("[role=dialog]").is_visible()
    root.press("Escape")
    assert not root.locator("[role=dialog]").is_visible()


def test_keys_jump_to_the_next_change(new_page: NewPage, mobilenet_state: Any) -> None:
    root = mount(new_page(), mobilenet_state, index=1)
    root.press("n")
    first = root.locator(".byl-here code").last.get_attribute("data-line")
    root.press("n")
    second = root.locator(".byl-here code").last.get_attribute("data-line")
    root.press("p")
    assert root.locator(".byl-here code").last.get_attribute("data-line") == first != second
