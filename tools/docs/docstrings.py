"""Splits docstrings into description, parameters and errors.

A docstring of this package is prose. A parameter is a line or a sentence `name: text`, or
`name, other: text`, or `name="value": text` on one of its values; errors are a sentence that begins
with `Raises`.
"""

from __future__ import annotations

import inspect
import re
import textwrap
from collections.abc import Collection
from dataclasses import dataclass, field

RAISES = re.compile(r"(?:^|(?<=\. )|(?<=\.\n))Raises\s", re.M)


@dataclass
class Parts:
    """The parts of a docstring: paragraphs, text by parameter names, sentences on errors."""

    description: list[str] = field(default_factory=list)
    parameters: dict[tuple[str, ...], str] = field(default_factory=dict)
    raises: list[str] = field(default_factory=list)


def parts(docstring: str, names: Collection[str]) -> Parts:
    """Split a docstring. `names`: the names of the parameters and attributes."""
    found = Parts()
    for paragraph in inspect.cleandoc(docstring).split("\n\n"):
        if paragraph.startswith("    "):
            found.description.append(paragraph)
            continue
        prose, *errors = RAISES.split(paragraph, maxsplit=1)
        found.raises += [f"Raises {' '.join(text.split())}" for text in errors]
        _sort(prose.rstrip(), names, found)
    return found


def _sort(prose: str, names: Collection[str], found: Parts) -> None:
    """Add a paragraph to the description; text after `name:` belongs to that parameter."""
    one = "|".join(map(re.escape, sorted(names, key=len, reverse=True))) or "(?!)"
    starts = r"(?:^|(?<=[.;] )|(?<=[.;]\n))"
    label = re.compile(rf'{starts}((?:{one})(?:,\s(?:{one}))*)(?:=("[^"]*"))?:\s', re.M)
    before, *rest = label.split(prose)
    if before.strip():
        found.description.append(before.rstrip())
    for label_text, value, text in zip(rest[::3], rest[1::3], rest[2::3], strict=True):
        first, newline, others = text.partition("\n")
        told = (first + newline + textwrap.dedent(others)).rstrip(" \n;")
        names_of = tuple(re.split(r",\s+", label_text))
        found.parameters[names_of] = f"`{value}`: {told}" if value else told
