"""The texts that a module was read from, and where in them something stands.

Source: `tvm.ir.SourceMap`, `tvm.ir.Source` of TVM 0.16.
"""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import Any

from byoc_lab.errors import ParseError
from byoc_lab.relay.ir.span import SourceName, Span

_set = object.__setattr__


@dataclass(frozen=True)
class Source:
    """A text with a name, and the way from an offset to line and column."""

    text: str
    name: str = "from_string"

    @cached_property
    def starts(self) -> list[int]:
        """Where each line starts."""
        lengths = [len(line) + 1 for line in self.text.split("\n")]
        return [0, *accumulate(lengths)][:-1]

    @property
    def source(self) -> str:
        """The text, by TVM's name for it."""
        return self.text

    @property
    def source_name(self) -> SourceName:
        """The name, by TVM's name for it."""
        return SourceName(self.name)

    def place(self, offset: int) -> tuple[int, int]:
        """Line and column, both from 1."""
        line = bisect_right(self.starts, offset)
        return line, offset - self.starts[line - 1] + 1

    def offset(self, line: int, column: int) -> int:
        """The reverse of `place`; a column behind the line means its end."""
        start = self.starts[min(line, len(self.starts)) - 1]
        return start + min(column - 1, len(self.line(line)))

    def span(self, start: int, end: int) -> Span:
        return TextSpan(self, start, end)

    def error(self, reason: str, offset: int) -> ParseError:
        """A ParseError that shows the line at `offset`."""
        line, column = self.place(offset)
        return ParseError(reason, self.name, line, column, printable(self.line(line)))

    def line(self, number: int) -> str:
        """The text of a line, counted from 1; "" when there is no such line."""
        if not 1 <= number <= len(self.starts):
            return ""
        start = self.starts[number - 1]
        end = self.text.find("\n", start)
        return self.text[start : None if end < 0 else end].rstrip("\r")


class TextSpan(Span):
    """A span as two offsets. Lines are counted when somebody asks, which of most nobody does."""

    __slots__ = ("_end", "_start", "_text")

    def __init__(self, text: Source, start: int, end: int):
        _set(self, "_text", text)
        _set(self, "_start", start)
        _set(self, "_end", end)

    def __getattr__(self, name: str) -> Any:
        """A field that was not asked for before."""
        if name not in Span.__slots__:
            raise AttributeError(f"a span has no {name!r}", name=name, obj=self)
        (line, column), (end_line, end_column) = map(self._text.place, (self._start, self._end))
        super().__init__(SourceName(self._text.name), line, end_line, column, end_column)
        return getattr(self, name)


def printable(line: str) -> str:
    """`line` with what a terminal cannot show replaced, character by character."""
    return "".join(c if c.isprintable() or c == "\t" else "\N{REPLACEMENT CHARACTER}" for c in line)


class SourceMap:
    """Texts by name: `source_map[span.source_name].source` is what a span counts in."""

    def __init__(self) -> None:
        self.source_map: dict[SourceName, Source] = {}

    def add(self, name: str, content: str) -> None:
        """Keep a text under `name`."""
        self.source_map[SourceName(name)] = Source(content, name)

    def copy(self) -> SourceMap:
        twin = SourceMap()
        twin.source_map = dict(self.source_map)
        return twin
