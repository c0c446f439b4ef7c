"""Make the documentation site: `python -m tools.docs.build [--without-tutorials]`.

Prepares build/docs from docs/, the notebooks and the code, and writes build/site with MkDocs.
"""

from __future__ import annotations

import argparse
import shutil
import sys
from pathlib import Path

import yaml
from mkdocs.commands.build import build
from mkdocs.config import load_config

from byoc_lab.version import VERSION
from tools.docs import commands, reference, rules, tutorials
from tools.docs.entries import Entries
from tools.docs.source import Sources
from tools.docs.symptoms import Symptom, symptoms
from tools.docs.versions import versions

ROOT = Path(__file__).resolve().parents[2]
PREPARED, SITE = ROOT / "build" / "docs", ROOT / "build" / "site"
PLACED = {"index.md", "rules.md", "operators.md", "glossary.md", "case-studies.md", "versions.md"}
"""Pages of the top folder with a separate entry in the navigation."""
BY_TASK = (
    "trace.md", "lint.md", "explain.md", "build.md", "modules.md", "back-ends.md", "relax.md",
    "commands.md", "passes.md", "errors.md",
)  # fmt: skip
"""The reference pages, in the order of the navigation."""


def prepare(with_tutorials: bool = True) -> list[object]:
    """Write build/docs; returns the navigation of the site."""
    shutil.rmtree(PREPARED, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PREPARED)
    sources, found = Sources(), symptoms(ROOT / "docs" / "how-to")
    for name, text in reference_pages(sources, found).items():
        (PREPARED / "reference" / name).write_text(text, encoding="utf-8")
    page = PREPARED / "rules.md"
    page.write_text(
        rules.linked(page.read_text(encoding="utf-8"), sources, found), encoding="utf-8"
    )
    sources.write(PREPARED)
    (PREPARED / "case-studies.md").write_text(reference.case_studies(), encoding="utf-8")
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    (PREPARED / "versions.md").write_text(versions(changelog, VERSION), encoding="utf-8")
    parts: list[object] = []
    if with_tutorials:
        for title, folder in (("Tutorials", ""), ("Exercises", "exercises")):
            place = Path("tutorials") / folder
            written = tutorials.write(ROOT / "notebooks" / folder, PREPARED / place)
            parts.append({title: [{t: (place / p).as_posix()} for t, p in written]})
    seen = [f"how-to/{symptom.page}" for symptom in found]
    return [
        {"Start": "index.md"},
        *parts,
        {"Something went wrong": seen},
        {"How to": [p for p in (*_listed("how-to"), *_listed(".")) if p not in (*PLACED, *seen)]},
        {"Reference": [*(f"reference/{name}" for name in BY_TASK), "rules.md", "operators.md"]},
        {"Examples of operators": _listed("operators")},
        {"Explanation": _listed("explanation")},
        {"Case studies": "case-studies.md"},
        {"Glossary": "glossary.md"},
        {"Versions": "versions.md"},
    ]


def reference_pages(sources: Sources, found: list[Symptom]) -> dict[str, str]:
    """The reference pages with their entries, by file name, in the order of the navigation."""
    folder = ROOT / "docs" / "reference"
    given = {page.name: page.read_text(encoding="utf-8") for page in folder.glob("*.md")}
    entries = Entries(given, sources)
    written = {page: commands.expanded(entries.expanded(page)) for page in given}
    written |= reference.pages(entries, found, given, sources)
    assert sorted(written) == sorted(BY_TASK), f"BY_TASK lists {BY_TASK}, found {sorted(written)}"
    return {page: written[page] for page in BY_TASK}


def _listed(folder: str) -> list[object]:
    """The pages of a folder of build/docs."""
    pages = sorted((PREPARED / folder).glob("*.md"))
    return [p.relative_to(PREPARED).as_posix() for p in pages]


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--without-tutorials", action="store_true", help="do not run notebooks")
    navigation = prepare(not options.parse_args(arguments).without_tutorials)
    PREPARED.parent.joinpath("nav.yml").write_text(yaml.safe_dump(navigation), encoding="utf-8")
    config = load_config(str(ROOT / "mkdocs.yml"), nav=navigation)
    config.extra["version_shown"] = VERSION
    build(config)
    print(f"wrote {SITE.relative_to(ROOT)}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
