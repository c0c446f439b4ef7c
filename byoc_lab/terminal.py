"""Text for terminals: nothing in it is a control sequence, and any encoding can write it."""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO

# Control characters except newline and tab, marks that change the direction of text, surrogates.
_UNSEEN = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_COLOUR = r"\x1b\[\d*(?:;\d+)*m"
_MARKS = re.compile(f"({_COLOUR})|{_UNSEEN}")
_ASCII = str.maketrans(
    {"●": "*", "○": "-", "✖": "x", "▲": "!", "→": "->", "⋯": "...", "\N{MINUS SIGN}": "-"}
)


def visible(text: str, colours: bool = False) -> str:
    """The text with an escape, such as \\x1b, in place of each control character.

    colours: leave sequences that only change the colour.
    """

    def escape(found: re.Match[str]) -> str:
        kept = colours and found[1]
        return found[0] if kept else found[0].encode("unicode_escape").decode()

    return _MARKS.sub(escape, text)


class Visible(io.TextIOBase):
    """A stream that writes `visible` text to another one, in characters that its encoding has."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    def write(self, text: str) -> int:
        shown, encoding = visible(text, self.isatty()), self._stream.encoding or "utf-8"
        try:
            shown.encode(encoding)
        except UnicodeEncodeError:
            plain = shown.translate(_ASCII)
            shown = plain.encode(encoding, "backslashreplace").decode(encoding)
        self._stream.write(shown)
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()


@contextmanager
def visible_output() -> Iterator[None]:
    """What is printed inside is visible text; at the end all of it has been written."""
    with redirect_stdout(Visible(sys.stdout)), redirect_stderr(Visible(sys.stderr)):
        yield
        sys.stdout.flush()
