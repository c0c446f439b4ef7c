"""Check a tag, and print its part of CHANGELOG.md: `python tools/release.py v0.1.0`.

A tag may be released if it equals the version of the package, and CHANGELOG.md has a date for that
version.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SECTION = re.compile(r"^## \[(.+?)\] - (\S+)\n(.*?)(?=^## |\Z)", re.M | re.S)
DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def notes(tag: str, version: str, changelog: str) -> str:
    """The changes of the version in the tag; SystemExit with the reason if it may not be
    released."""
    if tag != f"v{version}":
        raise SystemExit(f"the tag is {tag}, and the package has version {version}: tag v{version}")
    sections = {name: (date, text) for name, date, text in SECTION.findall(changelog)}
    if version not in sections:
        raise SystemExit(f"CHANGELOG.md has no section '## [{version}] - date'")
    date, text = sections[version]
    if not DATE.fullmatch(date):
        raise SystemExit(
            f"CHANGELOG.md says '## [{version}] - {date}': write the date of the release"
        )
    return text.strip() + "\n"


def main(tag: str) -> None:
    version = re.search(r'^VERSION = "(.+)"$', (ROOT / "byoc_lab/version.py").read_text(), re.M)
    assert version is not None, "byoc_lab/version.py has no VERSION"
    print(notes(tag, version[1], (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")), end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
