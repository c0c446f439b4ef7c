"""Messages of byoc_lab's own BYOC errors, read from the source lines that raise them.

So each message is written only once, and the table of messages is always complete. The class of the
error says what to do (`ByocLabError.advice`).
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from byoc_lab import errors
from byoc_lab.errors import ByocLabError
from byoc_lab.lab.explaining.messages.record import Message
from byoc_lab.lab.explaining.messages.texts import Texts

FOLDERS = (
    "backends", "run", "passes/byoc", "passes/framework", "relay/analysis", "relay/op/contrib",
    "compat/runtime", "compat/integrations",
)  # fmt: skip
"""The parts of the package that annotate, partition, generate code, build and run."""
LEAST_ANCHOR, LEAST_TEXT = 12, 20
"""Minimum length of the longest fixed part, and of all fixed parts, by which a message is
recognized."""
VALUE = r"[\s\S]{0,400}?"
OF_REGION = r"(?P<said>\bregion @[^\W\d]\w*: [^\n]+)"


@dataclass(frozen=True)
class Raised:
    """One source location that creates an error, with one of its texts. parts: the fixed parts of
    its message, None for a value."""

    file: str
    line: int
    error: str
    parts: tuple[str | None, ...]

    @property
    def fixed(self) -> list[str]:
        return [part for part in self.parts if part]

    @property
    def is_recognizable(self) -> bool:
        """Whether the fixed parts distinguish the message from any other text."""
        longest = max(map(len, self.fixed), default=0)
        return longest >= LEAST_ANCHOR and sum(map(len, self.fixed)) >= LEAST_TEXT

    def message(self) -> Message:
        pattern = "".join(VALUE if part is None else re.escape(part) for part in self.parts)
        anchor = max(self.fixed, key=len)
        return own_message(own_errors()[self.error], (anchor,), f"(?P<said>{pattern}[^\\n]*)")


def own_message(error: type[ByocLabError], anchors: tuple[str, ...], pattern: str) -> Message:
    """The message record of an error class; its cause is the text of the error."""
    kebab = re.sub(r"(?<!^)(?=[A-Z])", "-", error.__name__).lower()
    name = f"own-{kebab}"
    return Message(name, anchors, pattern, "byoc_lab", "{said}", error.advice, (), stated=True)


@lru_cache(maxsize=1)
def own_errors() -> dict[str, type[ByocLabError]]:
    """The classes of byoc_lab's errors, by name."""
    return {
        name: value
        for name, value in vars(errors).items()
        if isinstance(value, type) and issubclass(value, ByocLabError)
    }


@lru_cache(maxsize=1)
def raised() -> tuple[Raised, ...]:
    """All source locations in `FOLDERS` that create an error of byoc_lab; none if the package was
    installed without its sources."""
    package = Path(errors.__file__).parent
    files = (file for folder in FOLDERS for file in sorted((package / folder).rglob("*.py")))
    return tuple(place for file in files for place in _places(file, package))


@lru_cache(maxsize=1)
def recognizable() -> tuple[Message, ...]:
    """The messages of these locations, the longest fixed text first; then a general message for any
    other error about a region, such as an error of its generated code."""
    known = [place for place in raised() if place.is_recognizable]
    known.sort(key=lambda place: -sum(map(len, place.fixed)))
    of_region = own_message(ByocLabError, ("region @",), OF_REGION)
    return (*(place.message() for place in known), of_region)


def _places(file: Path, package: Path) -> Iterator[Raised]:
    text = file.read_text(encoding="utf-8")
    if "Error(" not in text:
        return
    module = ast.parse(text)
    texts = Texts(module)
    for node in ast.walk(module):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.args:
            name = node.func.id
            if name in own_errors():
                where = file.relative_to(package).as_posix()
                for parts in texts.of(node.args[0]):
                    yield Raised(where, node.lineno, name, parts)
