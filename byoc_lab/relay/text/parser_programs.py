"""Finding the programs in pasted text, and normalising the text of web pages."""

from __future__ import annotations

import re

from byoc_lab.relay.ir.source_map import Source
from byoc_lab.relay.text.json.metadata import read_metadata
from byoc_lab.relay.text.json.reader import metadata_reader
from byoc_lab.relay.text.lexer import METADATA_MARKS, STRING_PATTERN, many

# Characters that web pages insert -> plain characters; one for one, so that offsets stay valid.
_WEB = str.maketrans(
    {
        "\N{LEFT DOUBLE QUOTATION MARK}": '"',
        "\N{RIGHT DOUBLE QUOTATION MARK}": '"',
        "\N{ZERO WIDTH SPACE}": " ",
        "\N{ZERO WIDTH NO-BREAK SPACE}": " ",
    }
)
_WEB_CHARACTERS = re.compile(f"[{''.join(map(chr, _WEB))}]")

_HEADER = r"v0\.0\.\d\b|\#\[version\b"
_DEFINES = r"(?:def\s+@|(?:extern\s+)?type\s+\w+\s*(?:\[[\w\s,]*\]\s*)?\{)"
_START = re.compile(rf"^[^\S\n]*({_HEADER}|{_DEFINES}|fn\s*[(\[])", re.MULTILINE)
_STOP = re.compile(rf"^[^\S\n]*(?:{_HEADER}|//\s*meta data omitted)", re.MULTILINE)
_MARK = re.compile(rf"{STRING_PATTERN}|//[^\n]*|/\*|[(){{}}\[\]]")
_BLANK = re.compile(r"\s*" + many(r"//[^\n]*\s*"))
_DEF = re.compile(_DEFINES)


def readable(text: str) -> str:
    """`text` with typographic quotation marks and spaces replaced by plain ones; 0.0.5 text is
    unchanged."""
    if text.lstrip().startswith("#[version") or not _WEB_CHARACTERS.search(text):
        return text
    return text.translate(_WEB)


def split_programs(source: Source) -> list[tuple[int, int]]:
    """The offsets of each program; the whole text when no beginning of a program is found."""
    found: list[tuple[int, int]] = []
    scan, at = _Scan(source), 0
    while start := _START.search(source.text, at):
        begin = start.start(1)
        at = scan.program_end(begin, start.end() if start[1][0] in "v#" else begin)
        found.append((begin, at))
    return found or [(0, len(source.text))]


class _Scan:
    """Finds the ends of programs in one text, scanning each part once."""

    def __init__(self, source: Source):
        self.source, self.text = source, source.text
        self.last_comment_end = source.text.rfind("*/")

    def program_end(self, begin: int, code: int) -> int:
        """The end of the program that begins at `begin`; its header ends at `code`."""
        text = self.text
        if code > begin:  # after a header, any kind of expression may follow
            newline = text.find("\n", code)
            body = self.blank(len(text) if newline < 0 else newline + 1)
            if not _START.match(text, body):
                stop = _STOP.search(text, body)
                return stop.start() if stop else len(text)
            code = body
        end = self.function_end(code)
        while _DEF.match(text, code):
            after = self.blank(end)
            if not _DEF.match(text, after) or _STOP.search(text, end, after):
                break
            code, end = after, self.function_end(after)
        after = self.blank(end)
        for mark in METADATA_MARKS:
            if text.startswith(mark, after):
                return read_metadata(self.source, after + len(mark), metadata_reader)[1]
        return end

    def function_end(self, start: int) -> int:
        """The offset after the `}` that closes a function; or the end of truncated text."""
        depth, at = 0, start
        while mark := _MARK.search(self.text, at):
            at = mark.end()
            if mark.group() == "/*":
                at = self.comment_end(at)
            elif mark.group() in "({[":
                depth += 1
            elif mark.group() in ")}]":
                depth -= 1
                if depth <= 0 and mark.group() == "}":
                    return at
        return len(self.text)

    def blank(self, at: int) -> int:
        """The offset after blanks and comments."""
        while True:
            at = _BLANK.match(self.text, at).end()  # type: ignore[union-attr]
            if not self.text.startswith("/*", at):
                return at
            at = self.comment_end(at)

    def comment_end(self, at: int) -> int:
        return len(self.text) if at > self.last_comment_end else self.text.find("*/", at) + 2
