"""The texts that a module was parsed from, and positions in them.

Source: `tvm.ir.SourceMap`, `tvm.ir.Source` of TVM 0.16.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from byoc_lab.errors import ParseError
from byoc_lab.relay.ir.span import SourceName, Span

_BEFORE_LINE = re.compile(r"\A|\n")
_set = object.__setattr__
# Bits of an offset: in Python, a 60-bit number takes no more memory than a 31-bit number.
_OFFSET = 30
_LAST = (1 << _OFFSET) - 1


@dataclass(frozen=True)
class Source:
    """A text with a name; converts between offsets and lines and columns."""

    text: str
    name: str = "from_string"

    @cached_property
    def starts(self) -> Sequence[int]:
        """The offset of the start of each line."""
        return array("L", (found.end() for found in _BEFORE_LINE.finditer(self.text)))

    @property
    def source(self) -> str:
        """The text, under TVM's name."""
        return self.text

    @property
    def source_name(self) -> SourceName:
        """The name, under TVM's name."""
        return SourceName(self.name)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The reverse of `place`; a column beyond the line means its end."""
        start = self.starts[min(line, len(self.starts)) - 1]
        return start + min(column - 1, len(self.line(line)))

    def span(self, start: int, end: int) -> Span:
        return TextSpan(self, start, end)

    def error(self, reason: str, offset: int) -> ParseError:
        """A ParseError that shows the line at `offset`."""
        line, column = self.place(offset)
        return ParseError(reason, self.name, line, column, self.line(line))

    def line(self, number: int) -> str:
        """The text of a line, counted from 1; "" for a number out of range."""
        if not 1 <= number <= len(self.starts):
            return ""
        start = self.starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : None if end < 0 else end].rstrip("\r")


class TextSpan(Span):
    """A span stored as two offsets in one number. Lines are counted on demand, which is rare."""

    __slots__ = ()

    def __init__(self, text: Source, start: int, end: int):
        _set(self, "_source", text)
        _set(self, "_where", start << _OFFSET | end)

    @property
    def source_name(self) -> SourceName:
        return SourceName(self._source.name)

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        where = self._where
        if isinstance(where, int):
            places = self._source.place(where >> _OFFSET), self._source.place(where & _LAST)
            (line, column), (end_line, end_column) = places
            where = line, end_line, column, end_column
            _set(self, "_where", where)
        return where


class SourceMap:
    """Texts by name: `.source_map[span.source_name].source` is the text that a span refers to."""

    def __init__(self) -> None:
        self.source_map: dict[SourceName, Source] = {}

    def add(self, name: str, content: str) -> None:
        """Add a text under `name`."""
        self.source_map[SourceName(name)] = Source(content, name)

    def copy(self) -> SourceMap:
        copy = SourceMap()
        copy.source_map = dict(self.source_map)
        return copy
