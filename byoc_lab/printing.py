"""Text that standard output can write in any encoding, and tables that fit a terminal."""

from __future__ import annotations

import functools
import re
import sys
import textwrap
from collections.abc import Callable, Collection, Sequence
from itertools import zip_longest
from typing import Any

_ASCII = {
    "●": "*", "○": "-", "✖": "x", "▲": "!", "→": "->", "⋯": "...", "…": "...", "⤼": ">",
    "·": "-", "\N{MULTIPLICATION SIGN}": "x", "\N{MINUS SIGN}": "-",
}  # fmt: skip
WIDTH = 80  # width of a table in characters
MIN_WIDTH = 8  # minimum width of a table column
NAME_WIDTH = 60  # maximum of characters in the name of a global function, with its @
_NAME = re.compile(r"@[\w.]+")


def in_the_middle(text: str, width: int, mark: str = "…") -> str:
    """A text of at most `width` characters, shortened in the middle, which is the least informative
    part of a name."""
    if len(text) <= width:
        return text
    head = (width - len(mark)) // 2
    return f"{text[:head]}{mark}{text[head + len(mark) - width :]}"


def percent(share: float) -> str:
    """A share from 0 to 1 in percent, such as "99.3%"; only exactly 0 and 1 give "0.0%" and
    "100.0%"."""
    shown = f"{share:.1%}"
    if share < 1 and shown == "100.0%":
        return "over 99.9%"
    return "under 0.1%" if share > 0 and shown == "0.0%" else shown


def short_names(names: Sequence[str], width: int) -> list[str]:
    """The names shortened to `width` characters, or more if different names would become equal."""
    step, different = width, len(set(names))
    while len(set(short := [in_the_middle(name, width) for name in names])) < different:
        width += step
    return short


def with_short_names(text: str) -> str:
    """The text with long names of global functions shortened, such as TVM's names that list all
    operators of a region. Different names stay different."""
    names = list(dict.fromkeys(_NAME.findall(text)))
    short = dict(zip(names, short_names(names, NAME_WIDTH), strict=True))
    return _NAME.sub(lambda name: short[name[0]], text)


def columns(rows: Sequence[Sequence[str]], right: Collection[int] = ()) -> list[str]:
    """The lines of a table that fits WIDTH; cells of wide columns are wrapped.

    right: the positions, from 0, of right-aligned columns.
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    gaps = 2 * (len(widths) - 1)
    while sum(widths) + gaps > WIDTH and max(widths) > MIN_WIDTH:
        widths[widths.index(max(widths))] -= 1
    lines = []
    for row in rows:
        wrapped = [_wrapped(cell, width) for cell, width in zip(row, widths, strict=True)]
        for parts in zip_longest(*wrapped, fillvalue=""):
            cells = []
            for c, (part, width) in enumerate(zip(parts, widths, strict=True)):
                last = not any(parts[c + 1 :])
                cells.append(
                    part.rjust(width) if c in right else part if last else part.ljust(width)
                )
                if last:
                    break
            lines.append("  ".join(cells))
    return lines


def _wrapped(cell: str, width: int) -> list[str]:
    return [cell] if len(cell) <= width else textwrap.wrap(cell, width)


def encodable(text: str, encoding: str) -> str:
    """The text with each character that the encoding lacks replaced by ASCII, such as -> or an
    escape."""
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate({ord(c): _in_ascii(c) for c in set(text) if not _has(encoding, c)})
    return text


def printable(to_text: Callable[[Any], str]) -> Callable[[Any], str]:
    """Decorates `__str__`: `print` of the object never raises UnicodeEncodeError.

    If standard output writes UTF-8, the text is unchanged; otherwise (cp1252 on Windows, ASCII
    under LC_ALL=C) it is made `encodable`.
    """

    @functools.wraps(to_text)
    def shown(self: Any) -> str:
        text = to_text(self)
        if text.isascii():
            return text
        return encodable(text, getattr(sys.stdout, "encoding", None) or "utf-8")

    return shown


def _has(encoding: str, character: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


def _in_ascii(character: str) -> str:
    return _ASCII.get(character) or character.encode("ascii", "backslashreplace").decode()
