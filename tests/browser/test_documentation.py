"""The documentation site in a browser: search works from disk, pages fit the window, axe finds
nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from .test_access import violations
from .widget_page import NewPage

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
pytest.importorskip("material", reason="mkdocs-material is not installed: the extra docs")

from tools.docs.build import SITE, main  # noqa: E402

pytestmark = pytest.mark.browser


@pytest.fixture(scope="module")
def site() -> Path:
    assert main(["--without-tutorials"]) == 0
    return SITE


def test_search_works_from_disk(site: Path, new_page: NewPage) -> None:
    page = new_page()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto((site / "index.html").as_uri())
    page.keyboard.press("s")
    page.keyboard.type("free variable")
    page.wait_for_selector(".md-search-result__item", timeout=120_000)
    assert "variable" in page.inner_text(".md-search-result__list").lower()
    assert not [url for url in asked if url.startswith("http")]


@pytest.mark.parametrize("name", ["how-to/nested-partition.html", "operators.html", "rules.html"])
def test_pages_fit_a_small_window(site: Path, new_page: NewPage, name: str) -> None:
    """Also with a long displayed text, as tutorials and exercises have."""
    page = new_page(viewport={"width": 1024, "height": 800})
    page.goto((site / name).as_uri())
    page.locator("article").evaluate(
        "(article) => article.insertAdjacentHTML('beforeend', `<pre>${'long '.repeat(200)}</pre>`)"
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 1024


def test_pages_with_steppers_use_the_whole_window(site: Path, new_page: NewPage) -> None:
    page = new_page(viewport={"width": 1900, "height": 800})
    path = site / "glossary.html"
    plain = path.read_text(encoding="utf-8")
    link = '<a class="own-page" href="">Open</a>'
    texts = [plain, plain.replace("</article>", f"{link}</article>")]
    page.route(
        path.as_uri(), lambda route: route.fulfill(body=texts.pop(0), content_type="text/html")
    )
    widths = []
    for _ in range(2):
        page.goto(path.as_uri())
        widths.append(page.locator(".md-main .md-grid").bounding_box()["width"])
    assert widths[0] < 1400 and widths[1] == 1900


def test_each_element_is_styled_few_times_while_a_page_opens(
    site: Path, new_page: NewPage, browser: Any, tmp_path: Path
) -> None:
    """The theme changes a page of the reference hundreds of times; a selector such as
    `.md-typeset:has(a) > *` would make the browser style the whole page each time."""
    page = new_page()
    browser.start_tracing(page=page, path=tmp_path / "trace", categories=["devtools.timeline"])
    page.goto((site / "reference/trace.html").as_uri())
    events = json.loads(browser.stop_tracing())["traceEvents"]
    styled = [e["args"].get("elementCount", 0) for e in events if e["name"] == "UpdateLayoutTree"]
    assert 1 < sum(styled) / page.evaluate("document.querySelectorAll('*').length") < 20


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "glossary.html",
        "case-studies.html",
        "rules.html",
        "how-to/free-variables.html",
        "reference/passes.html",
        "reference/errors.html",
        "reference/trace.html",
        "reference/commands.html",
        "source/byoc_lab/lab/tracing/tracer.html",
        "explanation/tolerances.html",
    ],
)
def test_axe_finds_nothing_in_the_documentation(
    site: Path, new_page: NewPage, name: str, scheme: str
) -> None:
    page = new_page(color_scheme=scheme, reduced_motion="reduce")
    page.goto((site / name).as_uri())
    page.wait_for_selector("h1")
    assert violations(page, []) == []
