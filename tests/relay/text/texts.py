"""The texts for tests of the text format."""

from __future__ import annotations

import re
from pathlib import Path

from tests.parity.goldens.files import golden_files

DATA = Path(__file__).parents[2] / "data"
THREADS = sorted((DATA / "threads").glob("*.txt"))
PSEUDO = sorted((DATA / "threads" / "pseudo").glob("*.txt"))
PRINTED = golden_files("print")


def code_of(path: Path) -> str:
    """A file without its comments at the beginning."""
    return "\n".join(li for li in path.read_text().split("\n") if not li.startswith("// "))


def style_of(path: Path) -> str:
    return re.search(r"^// style: (\S+)$", path.read_text(), re.MULTILINE)[1]


def words(text: str) -> list[str]:
    """A text without white space."""
    return text.split()
