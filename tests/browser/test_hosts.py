"""The stepper in pages other than JupyterLab: plain elements, policies, themes, and untrusted
notebooks."""

from __future__ import annotations

import re
from typing import Any

import pytest

from byoc_lab.lab.view.html import saved
from byoc_lab.lab.view.stepper import Stepper
from byoc_lab.lessons import cases
from tests.lab.view.samples import chain

from .jupyterlab import JupyterLab
from .widget_page import NewPage, drawn, mount

pytestmark = pytest.mark.browser

BOX = '<div style="width:900px">{}</div>'


@pytest.fixture(scope="module")
def copy() -> str:
    """The HTML that a notebook stores for a widget, with the name "one"."""
    bundle = Stepper(chain())._repr_mimebundle_()
    return saved(bundle["text/html"], bundle["text/plain"], "one")


def add(page: Any, html: str) -> None:
    """Adds HTML to the page, in an element without a class."""
    page.evaluate(
        "html => document.body.append(document.createRange().createContextualFragment(html))",
        BOX.format(html),
    )


def frame(page: Any) -> Any:
    return page.frame_locator(".byl-frame").locator(".byl[data-ready]")


def test_stored_copy_is_hidden_while_the_widget_is_live(
    new_page: NewPage, chain_state: dict[str, Any], copy: str
) -> None:
    page = new_page()
    add(page, copy)  # before and after the widget
    assert page.locator(".byl-saved").is_visible()
    mount(page, chain_state)
    add(page, copy)
    add(page, copy.replace('data-of="one"', 'data-of="another"'))
    shown = [element.is_visible() for element in page.locator(".byl-saved").all()]
    assert shown == [False, True], "the stored copy of another widget stays visible"
    page.evaluate("() => window.cleanup()")
    page.locator('.byl-saved[data-of="one"]').wait_for(state="visible")


@pytest.mark.parametrize("policy", ["script-src 'unsafe-inline'", "script-src 'none'"])
def test_frame_without_scripts_shows_the_text(new_page: NewPage, copy: str, policy: str) -> None:
    page = new_page()
    page.set_content(
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">' + BOX.format(copy)
    )
    text = page.frame_locator(".byl-frame").locator("#text")
    text.wait_for()
    assert text.is_visible() and "PartitionGraph" in text.inner_text()


def test_frame_with_scripts_hides_the_text(new_page: NewPage, copy: str) -> None:
    page = new_page()
    page.set_content(BOX.format(copy))
    frame(page).wait_for()
    assert not page.frame_locator(".byl-frame").locator("#text").is_visible()
    assert not page.locator(".byl-still").is_visible()


def test_frame_takes_no_focus_and_does_not_scroll_the_notebook(
    new_page: NewPage, copy: str
) -> None:
    """An opened notebook stays at its first cell, however many widgets it stores."""
    page = new_page()
    page.set_content('<div style="height: 2000px"></div>' + BOX.format(copy))
    drawn(frame(page))
    where = page.evaluate("() => [document.activeElement.tagName, window.scrollY]")
    assert where == ["BODY", 0]


def test_link_in_the_table_of_cases_opens_a_tab(new_page: NewPage) -> None:
    page = new_page()
    page.context.route("https://**/*", lambda route: route.fulfill(body="the report"))
    (first, *_) = [case for case in cases.table() if case.link]
    page.set_content(cases.table()._repr_mimebundle_()["text/html"])
    table = page.frame_locator("iframe")
    table.locator("details", has_text=first.name).first.click()
    with page.context.expect_page() as opened:
        table.locator(f'a[href="{first.link}"]:visible').first.click()
    assert opened.value.url.rstrip("/") == first.link and "the report" in opened.value.content()


@pytest.mark.parametrize(
    ("light", "dark"),
    [
        ('data-jp-theme-light="true"', 'data-jp-theme-light="false"'),
        ('class="vscode-light"', 'class="vscode-dark"'),
        ('data-theme="light"', 'data-theme="dark"'),
    ],
)
def test_frame_has_the_theme_of_its_host(
    new_page: NewPage, copy: str, light: str, dark: str
) -> None:
    for theme, host in (("light", light), ("dark", dark)):
        page = new_page(color_scheme="null")  # an emulated scheme would also apply in frames
        page.set_content(f"<body {host}>{BOX.format(copy)}</body>")
        frame(page).wait_for()
        assert frame(page).get_attribute("data-theme") == theme


@pytest.mark.parametrize(
    ("colour", "theme"),
    [
        ("color(srgb 1 1 1)", "light"),
        ("color(srgb 0.1 0.1 0.1)", "dark"),
        ("oklch(1 0 0)", "light"),
    ],
)
def test_widget_has_the_theme_of_the_page_around_it(
    new_page: NewPage, chain_state: dict[str, Any], colour: str, theme: str
) -> None:
    page = new_page(color_scheme="dark" if theme == "light" else "light")
    root = mount(page, chain_state)
    page.evaluate("colour => (document.body.style.backgroundColor = colour)", colour)
    page.locator(f'.byl[data-theme="{theme}"]').wait_for()
    page.evaluate("() => document.body.removeAttribute('style')")
    page.evaluate("c => (document.getElementById('here').style.background = c)", colour)
    page.evaluate("() => document.body.classList.toggle('again')")
    page.locator(f'.byl[data-theme="{theme}"]').wait_for()
    assert root.is_visible()


def test_widget_inserted_later_has_the_theme_of_its_page(
    new_page: NewPage, chain_state: dict[str, Any]
) -> None:
    page = new_page(color_scheme="light")
    mount(page, chain_state)
    page.evaluate("""() => {
      window.cleanup();
      document.body.style.backgroundColor = "#111";
      const later = document.createElement("div");
      window.show(later);
      later.id = "later";
      document.body.append(later);
    }""")
    page.locator('#later > .byl[data-theme="dark"]').wait_for()
    page.evaluate("""() => {
      document.body.style.backgroundColor = "#fff";
      window.apart = document.createElement("div");
      window.show(window.apart);
    }""")
    theme = page.evaluate("() => window.apart.querySelector('.byl').dataset.theme")
    assert theme == "light", "outside the page it has the theme of the system"


def test_sanitized_page_keeps_picture_caption_and_findings(new_page: NewPage, copy: str) -> None:
    left = re.sub(r"<style>.*?</style>|<iframe.*?</iframe>", "", copy, flags=re.DOTALL)
    page = new_page()
    page.set_content(BOX.format(left))
    still = page.locator(".byl-still")
    assert still.is_visible()
    words = still.inner_text()
    assert "jupyter trust" in words and "error BYL001" in words and "FreeVariableError" in words
    assert still.locator("img").evaluate("image => image.decode().then(() => image.naturalWidth)")


def test_jupyterlab_shows_the_still_copy_of_an_untrusted_notebook(
    new_page: NewPage, jupyterlab: JupyterLab, copy: str
) -> None:
    nbformat = pytest.importorskip("nbformat")
    make = nbformat.v4
    output = make.new_output("display_data", data={"text/html": copy})
    notebook = make.new_notebook(cells=[make.new_code_cell("stepper", outputs=[output])])
    notebook.metadata.kernelspec = {"name": "python3", "display_name": "Python 3"}
    nbformat.write(notebook, jupyterlab.root / "given.ipynb")  # its outputs are not signed
    page = new_page()
    jupyterlab.open(page, "given.ipynb")
    page.get_by_text("To step through it, trust this notebook").wait_for()
    assert page.locator(".jp-OutputArea iframe").count() == 0
    picture = page.locator(".jp-OutputArea img")
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 0


def test_lost_kernel_is_reported(new_page: NewPage, chain_state: dict[str, Any]) -> None:
    page = new_page()
    root = mount(page, chain_state)
    page.evaluate("() => window.model.listeners['comm_live_update'].forEach((f) => f())")
    assert "no longer reaches Python" in root.locator(".byl-restarted").inner_text()
