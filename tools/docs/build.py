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

from tools.docs import reference, tutorials

ROOT = Path(__file__).resolve().parents[2]
PREPARED, SITE = ROOT / "build" / "docs", ROOT / "build" / "site"
PLACED = {"index.md", "rules.md", "operators.md", "glossary.md", "museum.md"}
"""Pages of the top folder that have a place of their own in the navigation."""


def prepare(with_tutorials: bool = True) -> list[object]:
    """Write build/docs; returns the navigation of the site."""
    shutil.rmtree(PREPARED, ignore_errors=True)
    shutil.copytree(ROOT / "docs", PREPARED)
    generated = PREPARED / "reference"
    generated.mkdir()
    for name, text in reference.pages().items():
        (generated / name).write_text(text, encoding="utf-8")
    (PREPARED / "museum.md").write_text(reference.museum(), encoding="utf-8")
    parts: list[object] = []
    if with_tutorials:
        for title, folder in (("Tutorials", ""), ("Exercises", "exercises")):
            place = Path("tutorials") / folder
            found = tutorials.write(ROOT / "notebooks" / folder, PREPARED / place)
            parts.append({title: [{t: (place / p).as_posix()} for t, p in found]})
    return [
        {"Start": "index.md"},
        *parts,
        {"How to": [*_listed("how-to"), *(p for p in _listed(".") if p not in PLACED)]},
        {"Reference": [*_listed("reference"), "rules.md", "operators.md"]},
        {"Explanation": _listed("explanation")},
        {"Museum": "museum.md"},
        {"Glossary": "glossary.md"},
    ]


def _listed(folder: str) -> list[object]:
    """The pages of a folder of build/docs."""
    pages = sorted((PREPARED / folder).glob("*.md"))
    return [p.relative_to(PREPARED).as_posix() for p in pages]


def main(arguments: list[str]) -> int:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--without-tutorials", action="store_true", help="do not run notebooks")
    navigation = prepare(not options.parse_args(arguments).without_tutorials)
    PREPARED.parent.joinpath("nav.yml").write_text(yaml.safe_dump(navigation), encoding="utf-8")
    build(load_config(str(ROOT / "mkdocs.yml"), nav=navigation))
    print(f"wrote {SITE.relative_to(ROOT)}/index.html")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
