"""The stepper in a browser: it does not disturb the page, the reader's settings or other
widgets."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from .widget_page import NewPage, model, mount

pytestmark = pytest.mark.browser


HOSTILE = '<img src=x onerror="window.hurt=1"><script>window.hurt=1</script>'


def test_text_from_a_module_is_never_parsed_as_markup(new_page: NewPage, chain_state: Any) -> None:
    state = copy.deepcopy(chain_state)
    state["title"] = HOSTILE
    for module in state["modules"]:
        module["lines"] = [(text + HOSTILE, ident) for text, ident in module["lines"]]
        module["names"][HOSTILE] = HOSTILE
        for finding in module["findings"]:
            finding.update(message=HOSTILE, what_to_do=HOSTILE, name=HOSTILE)
        for drawn_ in (*module["scene"]["boxes"], *module["scene"]["groups"]):
            drawn_.update(id=HOSTILE + drawn_["id"], lines=[HOSTILE], kind=HOSTILE)
        for group in module["scene"]["groups"]:
            group.update(label=HOSTILE, compiler=HOSTILE)
    for stage in state["stages"]:
        stage.update(name=HOSTILE, summary=HOSTILE, skipped=HOSTILE, group=HOSTILE)
        stage["changes"] = [{"kind": HOSTILE, "text": HOSTILE, "before": HOSTILE, "after": HOSTILE}]
        stage["events"] = [
            {"rule": HOSTILE, "reason": HOSTILE, "before": None, "after": HOSTILE,
             "before_text": HOSTILE, "after_text": HOSTILE}
        ]  # fmt: skip
        if stage["error"]:
            stage["error"].update(type=HOSTILE, message=HOSTILE)
    page = new_page()
    root = mount(page, state)
    for key in ("2", "3", "4", "1", "End"):
        root.press(key)
    assert HOSTILE in root.locator(".byl-title").text_content()
    assert root.locator("img, script, foreignObject, a, iframe").count() == 0
    assert page.evaluate("() => window.hurt") is None


def test_cleanup_removes_all_listeners_and_elements(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    mount(page, chain_state)
    assert model(page, "model.listening") == 7
    page.evaluate("() => cleanup()")
    assert model(page, "model.listening") == 0
    assert page.locator(".byl").count() == 0
    page.evaluate("() => model.set('index', 1)")
    page.emulate_media(color_scheme="dark")


def test_two_widgets_of_one_trace_do_not_disturb_each_other(
    new_page: NewPage, chain_state: Any
) -> None:
    page = new_page()
    mount(page, chain_state)
    page.evaluate(
        "() => { window.end = show(document.body.appendChild(document.createElement('div'))); }"
    )
    assert page.locator(".byl").count() == 2
    ids = page.evaluate("() => [...document.querySelectorAll('.byl [id]')].map((e) => e.id)")
    assert ids and len(ids) == len(set(ids))
    page.evaluate("() => end()")
    assert page.locator(".byl").count() == 1
    page.locator(".byl").press("ArrowRight")
    assert model(page, "model.get('index')") == 1


def test_theme_follows_the_host_page(new_page: NewPage, chain_state: Any) -> None:
    page = new_page(color_scheme="dark")
    root = mount(page, chain_state)
    assert root.get_attribute("data-theme") == "dark"
    ground = "() => getComputedStyle(document.querySelector('.byl')).backgroundColor"
    dark = page.evaluate(ground)
    page.emulate_media(color_scheme="light")
    page.wait_for_selector('.byl[data-theme="light"]')
    assert page.evaluate(ground) != dark
    page.evaluate("() => document.body.setAttribute('data-jp-theme-light', 'false')")
    page.wait_for_selector('.byl[data-theme="dark"]')


CONTRAST = """() => {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const rgb = (css) => { canvas.clearRect(0, 0, 1, 1); canvas.fillStyle = css;
    canvas.fillRect(0, 0, 1, 1); return [...canvas.getImageData(0, 0, 1, 1).data]; };
  const ground = (e) => { for (; e; e = e.parentElement) {
    const c = rgb(getComputedStyle(e).backgroundColor); if (c[3] > 250) return c; }
    return [255, 255, 255, 255]; };
  const light = ([r, g, b]) => { const f = (c) => ((c /= 255) <= 0.03928 ? c / 12.92
    : ((c + 0.055) / 1.055) ** 2.4); return 0.2126 * f(r) + 0.7152 * f(g) + 0.0722 * f(b); };
  const bad = [];
  for (const e of document.querySelectorAll(".byl *:not(svg *)")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.data.trim());
    if (!own || !e.checkVisibility({ opacityProperty: true })) continue;
    const [a, b] = [light(rgb(getComputedStyle(e).color)), light(ground(e))];
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5 && !e.closest("[aria-disabled=true]"))
      bad.push(`${e.className}: ${ratio.toFixed(2)}`);
  }
  return [...new Set(bad)];
}"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_all_text_has_enough_contrast(new_page: NewPage, chain_state: Any, scheme: str) -> None:
    """WCAG 2.2, 1.4.3: a contrast of at least 4.5 to 1 between text and background."""
    page = new_page(color_scheme=scheme)
    root = mount(page, chain_state, index=1)
    root.press("t")
    root.locator(".byl-mark").first.click()
    for tab in "124":
        root.press(tab)
        assert page.evaluate(CONTRAST) == [], tab
    page.add_style_tag(content=".byl-position { color: #888 !important; background: #999; }")
    assert [found.split(":")[0] for found in page.evaluate(CONTRAST)] == ["byl-position"]


def test_nothing_overflows_at_any_width(new_page: NewPage, chain_state: Any) -> None:
    page = new_page()
    root = mount(page, chain_state, index=1)
    for width in (1600, 1000, 700):
        page.set_viewport_size({"width": width, "height": 800})
        assert page.evaluate("() => document.documentElement.scrollWidth") <= width
        for part in (".byl-stages", ".byl-diff", ".byl-side", ".byl-next", ".byl-tools"):
            box = root.locator(part).bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= width + 1, part
            assert box["width"] > 40 and box["height"] > 20, part


def test_elements_have_roles_for_screen_readers(new_page: NewPage, chain_state: Any) -> None:
    root = mount(new_page(), chain_state)
    assert root.get_attribute("data-lm-suppress-shortcuts") == "true"
    assert root.locator("[role=listbox]").get_attribute("aria-activedescendant")
    assert root.locator("[role=tablist] [role=tab][aria-selected=true]").count() == 1
    assert root.locator("[role=tabpanel]:visible").count() == 1
    assert root.locator("svg[role=group]").get_attribute("aria-label").startswith("Dataflow graph")
    for button in root.locator("button").all():
        assert (button.text_content() or button.get_attribute("aria-label")).strip()
