"""Every link in the notebooks and docs refers to an existing file and heading."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), *ROOT.glob("*.md")]
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def text_of(path: Path) -> str:
    """The prose of a notebook or page, without code."""
    if path.suffix == ".ipynb":
        cells = nbformat.read(path, as_version=4).cells
        return "\n\n".join(c.source for c in cells if c.cell_type == "markdown")
    return re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.M | re.S)


def anchor(heading: str) -> str:
    """The anchor that GitHub and MkDocs give a heading."""
    plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).strip().lower()
    return re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-")


def links(path: Path) -> list[str]:
    found = re.sub(r"`[^`\n]*`", "", text_of(path))
    return [a or b for a, b in LINK.findall(found)]


def problem(path: Path, link: str) -> str:
    """The fault of a link in a file; "" if there is none.

    Web addresses count as right.
    """
    if re.match(r"https?://|mailto:", link):
        return ""
    name, _, heading = link.partition("#")
    target = (path.parent / name).resolve() if name else path
    if not target.exists():
        return f"{path.name}: {link} is not a file"
    if heading and target.suffix in (".md", ".ipynb"):  # in a link to a picture it selects the colours
        headings = re.findall(r"^#+ (.*)$", text_of(target), re.M)
        if heading not in {anchor(h) for h in headings}:
            return f"{path.name}: {link} has no such heading"
    return ""


@pytest.mark.parametrize("path", [*NOTEBOOKS, *PAGES], ids=lambda p: p.name)
def test_links_resolve(path: Path) -> None:
    assert [p for link in links(path) if (p := problem(path, link))] == []


def test_broken_link_is_found() -> None:
    page = ROOT / "docs" / "glossary.md"
    assert problem(page, "nowhere.md") and problem(page, "glossary.md#nothing")
    assert not problem(page, "glossary.md#region")


def test_glossary_has_every_term_of_the_course() -> None:
    """Terms explained in the notebooks; each is linked from at least one of them."""
    headings = re.findall(r"^## (.*)$", text_of(ROOT / "docs" / "glossary.md"), re.M)
    for term in (
        "Relay", "`%0`", "`meta[...]`", "composite", "host", "free variable", "closure", "era",
        "reorder", "post-op", "region", "annotation", "A-normal form",
    ):  # fmt: skip
        assert term in headings
    linked = {link.partition("#")[2] for path in NOTEBOOKS for link in links(path)}
    assert {anchor(heading) for heading in headings} <= linked
    assert headings == sorted(headings, key=lambda h: re.sub(r"\W", "", h.lower()) or "percent")


def test_readme_leads_to_every_exercise_once() -> None:
    assert "notebooks/00_start_here.ipynb" in (ROOT / "README.md").read_text(encoding="utf-8")
    found = [link for path in NOTEBOOKS for link in links(path) if link.startswith("exercises/")]
    exercises = (ROOT / "notebooks" / "exercises").glob("*.ipynb")
    assert sorted(found) == sorted(f"exercises/{path.name}" for path in exercises)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_links_to_the_glossary(path: Path) -> None:
    assert any("glossary.md" in link for link in links(path))
