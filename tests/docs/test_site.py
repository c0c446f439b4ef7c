"""The documentation site, built without running all tutorials: it loads nothing, and links
resolve."""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

import pytest

from tools.release import SECTION

pytestmark = pytest.mark.slow
ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))
pytest.importorskip("material", reason="mkdocs-material is not installed: the extra docs")

from tools.docs.build import SITE, main  # noqa: E402
from tools.docs.tutorials import write  # noqa: E402


class Page(HTMLParser):
    """The resources, links and anchors of a page."""

    def __init__(self, path: Path):
        super().__init__()
        self.loads: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {k: v for k, v in attrs if v is not None}
        if "id" in values:
            self.anchors.add(values["id"])
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") != "canonical" and "href" in values:
            self.loads.append(values["href"])
        elif tag in ("script", "img", "iframe") and "src" in values:
            self.loads.append(values["src"])


@pytest.fixture(scope="module")
def site() -> dict[Path, Page]:
    assert main(["--without-tutorials"]) == 0
    return {path: Page(path) for path in SITE.rglob("*.html") if path.name != "404.html"}


def test_site_has_the_expected_pages(site: dict[Path, Page]) -> None:
    names = {path.relative_to(SITE).as_posix() for path in site}
    assert {
        "index.html", "case-studies.html", "glossary.html", "rules.html", "operators.html",
        "versions.html",
        "reference/trace.html", "reference/commands.html", "reference/passes.html",
        "reference/back-ends.html", "reference/errors.html", "explanation/tolerances.html",
        "source/byoc_lab/lab/tracing/tracer.html",
        "how-to/free-variables.html", "how-to/which-pass.html",
        "how-to/smallest-module.html",
    } <= names  # fmt: skip


def test_site_loads_nothing_from_the_network(site: dict[Path, Page]) -> None:
    for path, page in site.items():
        for address in page.loads:
            assert not re.match(r"(https?:)?//", address), f"{path.name} loads {address}"
            assert (path.parent / unquote(re.split("[?#]", address)[0])).exists(), address
    for style in SITE.rglob("*.css"):
        assert not re.search(r"url\(\s*['\"]?(https?:)?//", style.read_text(encoding="utf-8"))


def test_internal_links_resolve(site: dict[Path, Page]) -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    earlier = {f"{version}/index.html" for version, *_ in SECTION.findall(changelog)}
    wrong = []
    for path, page in site.items():
        for link in page.links:
            if re.match(r"https?:|mailto:|javascript:", link):
                continue
            if path == SITE / "versions.html" and link in earlier:
                continue  # a release puts the sites of earlier versions there
            name, _, anchor = unquote(link).partition("#")
            target = (path.parent / name).resolve() if name else path
            if target.is_dir():
                target /= "index.html"
            known = site.get(target)
            if known is None:
                wrong.append(f"{path.name}: {link}")
            elif anchor and anchor not in known.anchors:
                wrong.append(f"{path.name}: {link} has no anchor")
    assert not wrong


def test_reference_is_generated_from_the_code(site: dict[Path, Page]) -> None:
    text = (SITE / "reference" / "passes.html").read_text(encoding="utf-8")
    assert {"annotatetarget", "foldscaleaxis", "partitiongraph"} <= site[
        SITE / "reference" / "passes.html"
    ].anchors
    assert text.count("Before:") >= 10
    assert "nested-partition" in site[SITE / "case-studies.html"].anchors


@pytest.mark.notebook
def test_tutorial_has_a_live_stepper(tmp_path: Path) -> None:
    source = tmp_path / "notebooks"
    source.mkdir()
    name = "04_annotate_merge_partition.ipynb"
    (source / name).write_bytes((ROOT / "notebooks" / name).read_bytes())
    ((title, page),) = write(source, tmp_path / "pages")
    assert title == "04 Annotate, merge, partition"
    text = (tmp_path / "pages" / page).read_text(encoding="utf-8")
    displays = re.findall(r'src="(displays/[^"]+)"', text)
    assert displays and "<iframe" in text and "](../glossary.md#" in text
    assert text.startswith("---\nhide: [toc]\n---\n"), "steppers have its room"
    for display in displays:
        assert f'href="{display}" target="_blank">Open on a page of its own</a>' in text
        stepper = (tmp_path / "pages" / display).read_text(encoding="utf-8")
        assert "<script" in stepper and not re.search(r'(src|href)="https?://', stepper)
