"""The page of versions, generated from the changelog."""

from __future__ import annotations

from pathlib import Path

from tools.docs.versions import versions

CHANGELOG = """\
# Changelog

## [0.2.0] - unreleased

### Added

- News.

## [0.1.0] - 2026-01-01

- The first.
"""


def test_page_states_the_version_and_links_to_the_sites_of_earlier_ones() -> None:
    text = versions(CHANGELOG, "0.2.0")
    assert "the documentation of byoc_lab 0.2.0." in text
    assert "## 0.2.0 (unreleased)" in text and "- News." in text
    assert 'href="0.1.0/index.html"' in text and "- The first." in text
    assert 'href="0.2.0' not in text


def test_release_keeps_the_sites_of_earlier_versions() -> None:
    workflow = Path(__file__).parents[2] / ".github" / "workflows" / "release.yml"
    text = workflow.read_text(encoding="utf-8")
    assert "tools/docs/earlier.sh build/site" in text
    assert "--pattern site.zip" in (workflow.parents[2] / "tools/docs/earlier.sh").read_text()
    assert "dist/*.whl lite/byoc_lab.html site.zip" in text
