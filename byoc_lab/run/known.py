"""What is known before a program runs: its functions, references and data, and tuples of these.

A value is an expression (a tensor, or a tuple of tensors, that the program computes when it runs),
a tuple of values, a function (`Closure`, or a Constructor or Op), a reference (`Cell`), or what a
constructor made (`Data`). Where an `if` makes one of two such things, it is a `Choice`.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from byoc_lab.errors import BuildError
from byoc_lab.relay.adt import (
    Constructor,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
)
from byoc_lab.relay.analysis import free_vars
from byoc_lab.relay.expr import Expr, Function, GlobalVar, Op, Tuple, TupleGetItem, describe
from byoc_lab.relay.types import TupleType, Type

Value = Any
Steps = Generator[Any, Any, Value]  # run by `relay.rules.run`
ABSENT = object()


class ScopeFrame:
    """The values of the nodes of one scope; `outer` is the frame that the scope stands in.

    types: what the type variables of the functions around stand for.
    """

    __slots__ = ("outer", "types", "values")

    def __init__(self, outer: ScopeFrame | None = None, types: Mapping[Type, Type] | None = None):
        self.outer = outer
        self.types: dict[Type, Type] = {**(outer.types if outer else {}), **(types or {})}
        self.values: dict[Expr, Value] = {}

    def find(self, node: Expr) -> Value:
        """The value of a node here or in an outer frame, or ABSENT."""
        frame: ScopeFrame | None = self
        while frame is not None:
            if node in frame.values:
                return frame.values[node]
            frame = frame.outer
        return ABSENT


@dataclass(frozen=True, eq=False)
class Closure:
    """A function and the frame of its free variables; `name` of a global one."""

    function: Function
    frame: ScopeFrame
    name: GlobalVar | None = None


@dataclass(frozen=True, eq=False)
class Cell:
    """A reference. What it refers to is in a store: Cell -> Value."""


@dataclass(frozen=True, eq=False)
class Data:
    """What a constructor made."""

    constructor: Constructor
    fields: tuple[Value, ...]


@dataclass(frozen=True, eq=False)
class Choice:
    """`one` where the expression `cond` is true, else `other`."""

    cond: Expr
    one: Value
    other: Value


Store = dict[Cell, Value]


def is_computed(value: Value) -> bool:
    """Whether a value is an expression: computed by the program, when it runs."""
    return isinstance(value, Expr) and not isinstance(value, (Op, Constructor))


def fields_of(value: Value) -> tuple[Value, ...]:
    """The fields of a tuple, known or computed."""
    if isinstance(value, Tuple):
        return value.fields
    if not is_computed(value):
        return tuple(value)
    ty = value.checked_type
    assert isinstance(ty, TupleType)
    return tuple(TupleGetItem(value, n).with_type(t) for n, t in enumerate(ty.fields))


@dataclass
class Copy:
    """Copies values with `leaf(expression)` in place of each expression.

    key: what is known of them: two values with one key differ in their expressions alone.
    store: what the cells among them refer to; that of their copies is in `made_store`.
    cells: each with its copy.
    """

    leaf: Callable[[Expr], Expr]
    store: Mapping[Cell, Value]
    key: list[Any] = field(default_factory=list)
    made_store: Store = field(default_factory=dict)
    cells: list[tuple[Cell, Cell]] = field(default_factory=list)
    _seen: dict[Any, tuple[int, Value]] = field(default_factory=dict)

    def of(self, value: Value) -> Steps:
        if is_computed(value):
            self.key.append(value.checked_type if value.is_typed else None)
            return self.leaf(value)
        if isinstance(value, (Op, Constructor)):
            self.key.append(value)
            return value
        if isinstance(value, tuple):
            self.key.append(len(value))
            return (yield self._each(value))
        if value in self._seen:
            number, made = self._seen[value]
            self.key.append(("again", number))
            return made
        return (yield getattr(self, f"_{type(value).__name__.lower()}")(value))

    def _each(self, values: tuple[Value, ...]) -> Steps:
        made = []
        for value in values:
            made.append((yield self.of(value)))
        return tuple(made)

    def _known(self, value: Value, made: Value) -> Value:
        self._seen[value] = (len(self._seen), made)
        return made

    def _closure(self, value: Closure) -> Steps:
        self.key.append((Closure, value.function, tuple(value.frame.types.items())))
        frame = ScopeFrame(None, value.frame.types)
        made = self._known(value, Closure(value.function, frame, value.name))
        for var in free_vars(value.function):
            found = value.frame.find(var)
            if found is not ABSENT:
                frame.values[var] = yield self.of(found)
        return made

    def _cell(self, value: Cell) -> Steps:
        self.key.append(Cell)
        made = self._known(value, Cell())
        self.cells.append((value, made))
        self.made_store[made] = yield self.of(self.store[value])
        return made

    def _data(self, value: Data) -> Steps:
        self.key.append((Data, value.constructor.identity))
        made = Data(value.constructor, (yield self._each(value.fields)))
        return self._known(value, made)

    def _choice(self, value: Choice) -> Steps:
        self.key.append(Choice)
        parts = yield self._each((value.cond, value.one, value.other))
        return self._known(value, Choice(*parts))


@dataclass
class Merge:
    """One value of the two that the branches of an `if` give: where they differ, expressions
    become `leaf(one, other)`; what cannot be one value becomes a Choice."""

    cond: Expr
    leaf: Callable[[Expr, Expr], Expr]
    _seen: dict[tuple[Any, Any], Value] = field(default_factory=dict)

    def of(self, one: Value, other: Value) -> Steps:
        if one is other:
            return one
        if is_computed(one) and is_computed(other):
            return self.leaf(one, other)
        if _is_tuple(one) and _is_tuple(other):
            return (yield self._each(fields_of(one), fields_of(other)))
        if isinstance(one, Data) and isinstance(other, Data) and _same_constructor(one, other):
            return Data(one.constructor, (yield self._each(one.fields, other.fields)))
        if isinstance(one, Closure) and isinstance(other, Closure) and _same_code(one, other):
            return (yield self._closures(one, other))
        return Choice(self.cond, one, other)

    def _each(self, ones: tuple[Value, ...], others: tuple[Value, ...]) -> Steps:
        made = []
        for one, other in zip(ones, others, strict=True):
            made.append((yield self.of(one, other)))
        return tuple(made)

    def _closures(self, one: Closure, other: Closure) -> Steps:
        if (one, other) not in self._seen:
            frame = ScopeFrame(None, one.frame.types)
            self._seen[one, other] = Closure(one.function, frame, one.name)
            for var in free_vars(one.function):
                found = one.frame.find(var), other.frame.find(var)
                if not any(f is ABSENT for f in found):
                    frame.values[var] = yield self.of(*found)
        return self._seen[one, other]


def _is_tuple(value: Value) -> bool:
    return isinstance(value, tuple) or (
        is_computed(value) and value.is_typed and isinstance(value.checked_type, TupleType)
    )


def _same_constructor(one: Data, other: Data) -> bool:
    return one.constructor.identity == other.constructor.identity


def _same_code(one: Closure, other: Closure) -> bool:
    return one.function is other.function and one.frame.types == other.frame.types


def matched(pattern: Pattern, value: Value, frame: ScopeFrame, node: Match) -> bool | list[int]:
    """Whether a pattern takes a value, its variables bound in `frame`; or, where a choice has to be
    made first, the way to it: the numbers of fields."""
    if isinstance(pattern, PatternVar):
        frame.values[pattern.var] = value
        return True
    if not isinstance(pattern, (PatternConstructor, PatternTuple)):
        return True
    if isinstance(value, Choice):
        return []
    if isinstance(pattern, PatternTuple):
        parts = fields_of(value)
    elif not isinstance(value, Data):
        raise cannot_build(node, f"the data that {describe(node)} takes apart comes from outside")
    elif pattern.constructor.identity != value.constructor.identity:
        return False
    else:
        parts = value.fields
    for n, (below, part) in enumerate(zip(pattern.patterns, parts, strict=True)):
        found = matched(below, part, frame, node)
        if isinstance(found, list):
            return [n, *found]
        if not found:
            return False
    return True


def part_at(value: Value, path: list[int]) -> Value:
    """The part of data or of a tuple that `path` leads to."""
    for n in path:
        value = (value.fields if isinstance(value, Data) else value)[n]
    return value


def with_part_at(value: Value, path: list[int], part: Value) -> Value:
    """`value` with another part where `path` leads."""
    if not path:
        return part
    fields = list(value.fields if isinstance(value, Data) else value)
    fields[path[0]] = with_part_at(fields[path[0]], path[1:], part)
    return Data(value.constructor, tuple(fields)) if isinstance(value, Data) else tuple(fields)


def cannot_build(node: Expr, reason: str) -> BuildError:
    """The error for a node that only TVM's Relay has when a program runs."""
    place = f"{node.span}: " if node.span else ""
    return BuildError(
        f"{place}{reason}: it cannot be built. byoc_lab.run.evaluate runs it with NumPy"
    )
