"""The text of messages in logs, without line prefixes, colours and escapes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

CLOCK = r"\d\d:\d\d:\d\d(?:[.,]\d+)?"
TIMES = "|".join((
    rf"\[?\d{{4}}[-/]\d\d[-/]\d\d[T ,]+{CLOCK}(?:Z|[+-]\d\d:?\d\d| UTC)?\]?:? ",
    rf"\[{CLOCK}\] |{CLOCK} ",
    rf"[IWEFD]\d{{4}} {CLOCK} +\d+ ",
    rf"[A-Z][a-z]{{2}} +\d+ {CLOCK} [\w.-]{{1,80}} [\w.-]{{1,80}}(?:\[\d+\])?: ",
))  # fmt: skip
AFTER_TIMES = "|".join((
    r"- (?:[\w.]+ - )?",
    r"(?:DEBUG|INFO|WARN(?:ING)?|ERROR|CRITICAL|FATAL|[IWEFD])(?: -|:)? ",
    r"(?:\{[\w./-]{1,200}:\d+\}|[\w./-]{1,200}:\d+[:\]]) ",
))  # fmt: skip
CONTAINER = r"(?=\d{0,9}[a-zA-Z])[\w.-]{1,80} {0,80}[|\u2502] "
AROUND_LINES = re.compile(
    rf"^(?:> )*(?:{CONTAINER})?(?:(?:{TIMES})(?:{AFTER_TIMES})*)?"
    r"(?:E {3,}|(?: {2}| {4})\| )?|\r(?=\n)|\x1b\[[\d;]*m",
    re.MULTILINE,
)
"""Parts of a log that do not belong to a message: prefixes of quotes, containers, loggers, pytest
and exception groups, CR, colours."""
ESCAPED = re.compile(r"(\\+)([nt\"'])")
LITERAL = re.compile(r"([\"'])((?:\\.|(?!\1)[^\\\n])*)\1")
WINDOWS_PATH = re.compile(r"\b[A-Za-z]:\\")
PLAIN = {"n": "\n", "t": "\t"}


def plain(text: str) -> tuple[str, Callable[[int], int]]:
    """A text without the log parts around messages, and a function that maps its positions to
    positions in `text`."""
    text, escapes = _unescaped(text)
    cuts = [m.span() for m in AROUND_LINES.finditer(text) if m[0]]

    def given(place: int) -> int:
        return _before_cuts(_before_cuts(place, cuts), escapes)

    return AROUND_LINES.sub("", text), given


def _unescaped(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A text with the escape sequences of literals (as in `repr` and JSON) replaced by line ends,
    and the positions of the removed backslashes."""
    lines: list[str] = []
    cuts: list[tuple[int, int]] = []
    start = 0
    for line in text.splitlines(keepends=True):
        length = len(line)
        first = ESCAPED.search(line)
        quoted = first and re.search(r"[\"']", line[: first.start()])
        if quoted and not WINDOWS_PATH.search(line):
            cuts += [(start + m.start(), start + m.end(1)) for m in ESCAPED.finditer(line)]
            line = LITERAL.sub(lambda m: f"{m[1]}{m[2]}\n" if ESCAPED.search(m[2]) else m[0], line)
            line = ESCAPED.sub(lambda m: PLAIN.get(m[2], m[2]), line)
        lines.append(line)
        start += length
    return "".join(lines), cuts


def _before_cuts(place: int, cuts: Sequence[tuple[int, int]]) -> int:
    """Maps a position in the cut text to the position in the given text."""
    for start, end in cuts:
        if start > place:
            break
        place += end - start
    return place
