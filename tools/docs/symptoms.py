"""The pages of symptoms: those of docs/how-to that name the messages or rules they are about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import yaml

PAGE = re.compile(r"---\n(.*?)^---\n# (.*?)\n", re.M | re.S)


@dataclass(frozen=True)
class Symptom:
    """A page; its title, and the names of messages and codes of rules that it is about."""

    page: str
    title: str
    messages: tuple[str, ...]
    rules: tuple[str, ...]


def symptoms(folder: Path) -> list[Symptom]:
    """The pages of symptoms in a folder, by title."""
    found = []
    for path in folder.glob("*.md"):
        match = PAGE.match(path.read_text(encoding="utf-8"))
        if match:
            given = yaml.safe_load(match[1])
            lists = (tuple(given.get(key, ())) for key in ("messages", "rules"))
            found.append(Symptom(path.name, match[2], *lists))
    return sorted(found, key=lambda symptom: symptom.title)
