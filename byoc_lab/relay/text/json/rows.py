"""Expressions as rows of a table, the form in which a saved trace stores its nodes.

The table is a sequence of lines. A line is a JSON list of nodes. A node's position is its number
among the nodes of all lines; position 0 is "nothing". A node comes after its parts, so that one
pass over the lines reads the table. A node has one of two forms:

    ["Call", 7, [3, 5], 8, [], 2, 0]      a row: the class, then the fields that ROWS lists.
                                          Nodes are positions, in a list if there are several
    {"type_key": "relay.attrs...", ...}   a node of TVM's JSON, which `writer.py` describes: types,
                                          attributes, operators, parts of a `match`

Rows are compact, because a table of a large trace consists almost entirely of them. The data of
constants are stored separately: the field `data` is an index into a list of arrays.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from operator import attrgetter
from typing import Any

from byoc_lab.errors import ParseError
from byoc_lab.relay.ir import expr, types
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.ir.node import set_field
from byoc_lab.relay.ir.span import SequentialSpan, SourceName, Span
from byoc_lab.relay.text.json.decoding import whole_json
from byoc_lab.relay.text.json.metadata import UNREADABLE
from byoc_lab.relay.text.json.reader import ATTRS, TYPE, Kind, NoneType, SeparateArrays
from byoc_lab.relay.text.json.writer import NodeWriter

PART = 2_000
"""The number of nodes after which a line ends; it may be exceeded by the parts of the last node."""

_EXPRESSION: dict[str, Kind] = {"_checked_type": TYPE, "span": (Span, NoneType)}
_FIELDS: dict[type, dict[str, Kind]] = {
    expr.VarId: {"name_hint": str},
    expr.Var: {"name_hint": str, "type_annotation": TYPE, "vid": expr.VarId, "device": ATTRS},
    expr.GlobalVar: {"name_hint": str},
    expr.Constant: {"data": NDArray, "elided": bool},
    expr.Call: {"op": expr.Expr, "args": [expr.Expr], "attrs": ATTRS, "type_args": [types.Type]},
    expr.Tuple: {"fields": [expr.Expr]},
    expr.TupleGetItem: {"tuple_value": expr.Expr, "index": int},
    expr.Let: {"var": expr.Var, "value": expr.Expr, "body": expr.Expr},
    expr.If: {"cond": expr.Expr, "true_branch": expr.Expr, "false_branch": expr.Expr},
    expr.RefCreate: {"value": expr.Expr},
    expr.RefRead: {"ref": expr.Expr},
    expr.RefWrite: {"ref": expr.Expr, "value": expr.Expr},
    expr.Function: {
        "params": [expr.Var],
        "body": expr.Expr,
        "ret_type": TYPE,
        "type_params": [types.TypeVar],
        "attrs": Attrs,
        "device": ATTRS,
    },
}
ROWS: dict[type, dict[str, Kind]] = {
    cls: fields | _EXPRESSION if issubclass(cls, expr.Expr) else fields
    for cls, fields in _FIELDS.items()
}
"""Class -> the fields of its row and their kinds; a kind in a list means a list of values."""
_ONE, _SEVERAL, _LITERAL = range(3)  # kinds of fields in a row


def _form(kind: Kind) -> int:
    return _SEVERAL if isinstance(kind, list) else _LITERAL if kind in (str, int, bool) else _ONE


def _values_of(names: Iterable[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function that returns the values of certain fields of a node."""
    first, *others = names
    return attrgetter(first, *others) if others else lambda node: (getattr(node, first),)


_WRITTEN = {
    cls: (cls.__name__, _values_of(fields), tuple(map(_form, fields.values())))
    for cls, fields in ROWS.items()
}
_READ = {
    cls.__name__: (cls, [(n, _form(k), k[0] if isinstance(k, list) else k) for n, k in of.items()])
    for cls, of in ROWS.items()
}
_MADE: dict[str, Any] = {}  # replaces a row after it is read
_SPAN = Span.__name__  # the row of a span: the name of the text, and four numbers


class RowWriter(NodeWriter):
    """Writes a table line by line: `place` adds a node, `finish` ends the table."""

    def __init__(self, write: Callable[[str], object]):
        super().__init__()
        self.write = write
        self.written = 0  # number of nodes in the lines so far
        self.placed[id(None)] = 0
        self.separate: dict[int, NDArray] = {}  # key: id of the constant
        self.plain: dict[tuple[type, Any], int] = {}

    def place(self, node: Any) -> int:
        """The position of a node; parts that are not placed yet are placed before it.

        Raises AttributeValueError for a value that cannot be written.
        """
        at = self.placed.get(id(node))
        if at is not None:
            return at
        if len(self.nodes) >= PART:
            self._end_line()
        if type(node) in ROWS:
            if type(node) is expr.Var:
                self.place(node.vid)
            try:
                row = self._row(node)
            except KeyError:  # a part is not placed
                return self.whole(node)
            at = self.placed[id(node)] = self.reserve(row)
            self.kept.append(node)
            return at
        return self.whole(node)

    def finish(self) -> list[NDArray]:
        """Write the last line. Returns the arrays of the constants; an array shared by several
        constants occurs once."""
        self._end_line()
        return list(self.separate.values())

    def _end_line(self) -> None:
        self.write(json.dumps(self.nodes, check_circular=False, separators=(",", ":")) + "\n")
        self.written += len(self.nodes)
        self.nodes = []

    def _row(self, node: Any) -> list[Any]:
        """The row of a node. Raises KeyError if one of its parts has no row yet."""
        placed = self.placed
        name, values_of, forms = _WRITTEN[type(node)]
        row: list[Any] = [name]
        for form, value in zip(forms, values_of(node), strict=True):
            if form is _ONE:
                row.append(placed[id(value)])
            else:
                row.append([placed[id(part)] for part in value] if form is _SEVERAL else value)
        return row

    def reserve(self, node: Any) -> int:
        return self.written + super().reserve(node)

    def fields(self, node: Any) -> dict[str, Any]:
        if type(node) in ROWS:
            return {name: getattr(node, name) for name in ROWS[type(node)]}
        return super().fields(node)

    def node(self, node: Any, fields: dict[str, Any]) -> int:
        if type(node) not in ROWS:
            return super().node(node, fields)
        for value in fields.values():
            if isinstance(value, (Span, NDArray)):
                self.add(value)
        return self.reserve(self._row(node))

    def add(self, value: Any) -> int:
        """The position of any value; equal numbers, strings, shapes and lists of types share one
        node."""
        at = self.placed.get(id(value))
        if at is not None:
            return at
        if isinstance(value, (Span, NDArray)):
            at = self.placed[id(value)] = self._apart(value)
            self.kept.append(value)
            return at
        key: tuple[type, Any] = (type(value), value)
        if isinstance(value, tuple):
            if not all(isinstance(part, (int, types.Type)) for part in value):
                return super().add(value)
            key = tuple, tuple((type(p), id(p) if isinstance(p, types.Type) else p) for p in value)
        elif isinstance(value, float):
            key = float, repr(value)  # -0.0 differs from 0.0, and nan from itself
        elif not isinstance(value, (int, str)):
            return super().add(value)
        if key not in self.plain:
            self.plain[key] = super().add(value)
        return self.plain[key]

    def _apart(self, value: Span | NDArray) -> int:
        if isinstance(value, NDArray):
            self.separate[id(value)] = value
            return len(self.separate) - 1
        if isinstance(value, SequentialSpan):
            for span in value.spans:
                self.add(span)
            return super().add(value)
        name = None if value.source_name is None else str(value.source_name)
        return self.reserve([_SPAN, name, *value.numbers])


class RowReader(SeparateArrays):
    """Reads a table. made: the nodes by position."""

    def __init__(self, arrays: Sequence[NDArray]):
        super().__init__({"nodes": [], "root": 0}, arrays)
        self.parts = defaultdict(lambda: 1)
        self.names: dict[str | None, SourceName | None] = {None: None}

    def read(self, lines: Iterable[str]) -> dict[int, Any]:
        """The nodes of a table by position. Raises ParseError for other texts."""
        try:
            for line in lines:
                self._read_line(whole_json(line))
        except UNREADABLE as error:
            raise ParseError(f"the table cannot be read: {error!r}", "JSON", 1, 1) from error
        return self.made

    def _read_line(self, line: Any) -> None:
        if not isinstance(line, list):
            raise ValueError(f"a line must be a list of nodes, found {line!r:.80}")
        begin = len(self.nodes)
        self.nodes += line
        for at, node in enumerate(line, begin):
            if isinstance(node, list):
                self.made[at] = self._from_row(node)
                self.nodes[at] = _MADE
            else:
                self.value(at)

    def _from_row(self, row: list[Any]) -> Any:
        name, *values = row
        if name == _SPAN:
            return self._span(*values)
        cls, fields = _READ[name]
        made = self.made
        node: Any = object.__new__(cls)
        for (field, form, kind), value in zip(fields, values, strict=True):
            if form is _ONE:
                found = self.array(value) if kind is NDArray else made[value]
                good = isinstance(found, kind)
            elif form is _SEVERAL:
                found = tuple([made[at] for at in value])
                good = all([isinstance(part, kind) for part in found])
            else:
                found = value
                good = isinstance(found, kind)
            if not good:
                raise ValueError(f"field {field!r} of a {name} holds {found!r:.80}")
            set_field(node, field, found)
        return node

    def _span(self, name: str | None, *numbers: Any) -> Span:
        if name not in self.names:
            self.names[name] = SourceName(name)
        line, end_line, column, end_column = map(int, numbers)
        return Span(self.names[name], line, end_line, column, end_column)
