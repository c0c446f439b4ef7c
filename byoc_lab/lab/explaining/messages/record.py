"""`Message`: the explanation of one error message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Message:
    """One error message, or several with one meaning.

    name: words joined by hyphens. anchors: fixed parts of the message; every matching text contains
    at least one of them. pattern: a regular expression for the message, tried from shortly before
    the anchor; its named groups are the values. era: the TVM versions with this message. cause:
    what went wrong; todo: what to do. Both may contain {values}. rules: the lint rules that find
    the location in a module. lesson: the case that shows it. samples: texts that contain it.
    stated: whether the message itself states the cause. Other causes are guesses until a rule finds
    the location in a module (`Meaning.certain`).
    """

    name: str
    anchors: tuple[str, ...]
    pattern: str
    era: str
    cause: str
    todo: str
    samples: tuple[str, ...]
    rules: tuple[str, ...] = ()
    lesson: str = ""
    stated: bool = False

    @cached_property
    def expression(self) -> re.Pattern[str]:
        return re.compile(self.pattern)
