"""Source locations of nodes: a position in a text, or the name of a node of an imported model.

Source: `tvm.ir.Span`, `SourceName`, `SequentialSpan`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NoReturn

from byoc_lab.errors import InputError
from byoc_lab.printing import printable


class SourceName(str):
    """The name of a text: a string whose `.name` is the string itself, as in TVM."""

    __slots__ = ()

    @property
    def name(self) -> str:
        return str(self)


_set = object.__setattr__


class Span:
    """The source location of a node; lines and columns count from 1, the end is exclusive.

    Line 0: the node was not read from text but imported, and `source_name` is the name of the
    model's node.
    """

    # Every node has a span: two fields take a third of the memory of one field per number.
    __slots__ = ("_source", "_where")
    _source: Any  # in this class a name or None; in a TextSpan the text
    _where: Any  # in this class four numbers; in a TextSpan possibly two offsets in one number

    def __init__(
        self,
        source_name: SourceName | str | None,
        line: int,
        end_line: int,
        column: int,
        end_column: int,
    ):
        plain = isinstance(source_name, str) and not isinstance(source_name, SourceName)
        _set(self, "_source", SourceName(source_name) if plain else source_name)
        _set(self, "_where", (line, end_line, column, end_column))

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"a span is immutable: cannot set {name!r}")

    @property
    def source_name(self) -> SourceName | None:
        """The name of the text, or of the model's node."""
        return self._source

    @property
    def numbers(self) -> tuple[int, int, int, int]:
        """Line, last line, column, last column."""
        return self._where

    @property
    def line(self) -> int:
        return self.numbers[0]

    @property
    def end_line(self) -> int:
        return self.numbers[1]

    @property
    def column(self) -> int:
        return self.numbers[2]

    @property
    def end_column(self) -> int:
        return self.numbers[3]

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very span."""
        return self is other

    def _key(self) -> tuple[Any, ...]:
        return self.source_name, *self.numbers

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Span) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> tuple[Any, ...]:
        return Span, self._key()

    @printable
    def __str__(self) -> str:
        place = f":{self.line}:{self.column}" if self.is_text else ""
        return f"{self.source_name}{place}"

    @property
    def is_text(self) -> bool:
        """Whether this is a location in a text, not the name of a model's node."""
        return self.line > 0

    def __repr__(self) -> str:
        name, *numbers = self._key()
        return f"Span({name and str(name)!r}, {', '.join(map(str, numbers))})"


class SequentialSpan(Span):
    """The source locations of all nodes that a pass merged into one; used as a single location, it
    is the first of them.

    A sequence among `spans` is flattened. Raises InputError if `spans` is empty.
    """

    __slots__ = ("spans",)
    spans: tuple[Span, ...]

    def __init__(self, spans: Iterable[Span]):
        flat: list[Span] = []
        for span in spans:
            flat += span.spans if isinstance(span, SequentialSpan) else [span]
        if not flat:
            raise InputError("a sequence of spans needs at least one")
        first = flat[0]
        super().__init__(first.source_name, *first.numbers)
        _set(self, "spans", tuple(flat))

    def _key(self) -> tuple[Any, ...]:
        return self.spans

    def __reduce__(self) -> tuple[Any, ...]:
        return SequentialSpan, (self.spans,)

    @printable
    def __str__(self) -> str:
        return ", ".join(map(str, self.spans))

    def __repr__(self) -> str:
        return f"SequentialSpan({list(self.spans)!r})"
