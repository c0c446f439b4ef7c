"""The documentation site in a browser: search works from disk, pages fit, axe finds nothing."""

from __future__ import annotations

import sys
from pathlib import Path

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
def test_pages_are_no_wider_than_a_small_window(site: Path, new_page: NewPage, name: str) -> None:
    """Nor are they with a long text that an object displays, as tutorials and exercises have."""
    page = new_page(viewport={"width": 1024, "height": 800})
    page.goto((site / name).as_uri())
    page.locator("article").evaluate(
        "(article) => article.insertAdjacentHTML('beforeend', `<pre>${'long '.repeat(200)}</pre>`)"
    )
    assert page.evaluate("document.documentElement.scrollWidth") == 1024


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(
    "name",
    [
        "index.html",
        "glossary.html",
        "museum.html",
        "rules.html",
        "how-to/free-variables.html",
        "reference/passes.html",
        "reference/errors.html",
        "reference/trace.html",
        "reference/commands.html",
        "source/byoc_lab/lab/tracing/recorder.html",
        "explanation/tolerances.html",
    ],
)
def test_axe_finds_nothing(site: Path, new_page: NewPage, name: str, scheme: str) -> None:
    page = new_page(color_scheme=scheme, reduced_motion="reduce")
    page.goto((site / name).as_uri())
    page.wait_for_selector("h1")
    assert violations(page, []) == []
