"""`Message`: the explanation of one error message."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property


@dataclass(frozen=True)
class Message:
    """One error message, or several with one meaning.

    name: words joined by hyphens. anchors: fixed parts of the message, of which one is in every
        text that has it. pattern: a regular expression for the message, tried from a little before
        the anchor on; its named groups are the values. era: the versions of TVM that say so.
    cause: what went wrong; todo: what to do. Both may have {values}.
    rules: the lint rules that find the place in a module. lesson: the case that shows it.
    samples: texts that have it. stated: whether the message itself says the cause. The others are
        guesses until a rule finds the place in a module (`Meaning.certain`).
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
