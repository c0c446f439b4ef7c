"""Abstract values, known before a program runs: functions, references, data, and their tuples.

An abstract value is an expression (a tensor, or a tuple of tensors, that the program computes when
it runs), a tuple of values, a function (`Closure`, or a Constructor or Op), a reference (`Cell`),
or what a constructor made (`ConstructorValue`). If the two branches of an `if` result in different
values that are not tensors, the value is a `Choice`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeGuard

from byoc_lab.errors import BuildError
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.expr import Expr, Op, Tuple, TupleGetItem
from byoc_lab.relay.ir.types import TupleType
from byoc_lab.run.interpreter import ABSENT, Closure, ScopeFrame, Steps, Value
from byoc_lab.run.values import ConstructorValue


@dataclass(frozen=True, eq=False)
class Cell:
    """A reference. A store (a dict from Cell to Value) holds its content."""


@dataclass(frozen=True, eq=False)
class Choice:
    """`one` if the expression `cond` is true, else `other`."""

    cond: Expr
    one: Value
    other: Value


Store = dict[Cell, Value]


def is_computed(value: Value) -> TypeGuard[Expr]:
    """Whether a value is an expression, which the program computes at run time."""
    return isinstance(value, Expr) and not isinstance(value, (Op, Constructor))


def fields_of(value: Value) -> tuple[Value, ...]:
    """The fields of a tuple of values, or of a tuple that is an expression."""
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

    key: the structure of the values without the expressions; values with equal keys differ in their
    expressions only. store: the contents of the cells among the values. made_store: the contents of
    the copied cells.
    cells: pairs of a cell and its copy.
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
        return (yield self._COPIES[type(value)](self, value))

    def _each(self, values: tuple[Value, ...]) -> Steps:
        made = []
        for value in values:
            made.append((yield self.of(value)))
        return tuple(made)

    def _made(self, value: Value, made: Value) -> Value:
        self._seen[value] = (len(self._seen), made)
        return made

    def _closure(self, value: Closure) -> Steps:
        self.key.append((Closure, value.function, tuple(value.frame.types.items())))
        frame = ScopeFrame(None, value.frame.types)
        made = self._made(value, Closure(value.function, frame, value.name))
        for var in free_vars(value.function):
            found = value.frame.find(var)
            if found is not ABSENT:
                frame.values[var] = yield self.of(found)
        return made

    def _cell(self, value: Cell) -> Steps:
        self.key.append(Cell)
        made = self._made(value, Cell())
        self.cells.append((value, made))
        self.made_store[made] = yield self.of(self.store[value])
        return made

    def _data(self, value: ConstructorValue) -> Steps:
        self.key.append((ConstructorValue, value.constructor.identity))
        made = ConstructorValue(value.constructor, (yield self._each(value.fields)))
        return self._made(value, made)

    def _choice(self, value: Choice) -> Steps:
        self.key.append(Choice)
        parts = yield self._each((value.cond, value.one, value.other))
        return self._made(value, Choice(*parts))

    _COPIES: ClassVar[dict[type, Callable[[Copy, Any], Steps]]] = {
        Closure: _closure,
        Cell: _cell,
        ConstructorValue: _data,
        Choice: _choice,
    }


@dataclass
class Merge:
    """Merges the two values of an `if`'s branches into one: differing expressions become `leaf(one,
    other)`; values that cannot be merged become a Choice."""

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
        if _same_constructor(one, other):
            return ConstructorValue(one.constructor, (yield self._each(one.fields, other.fields)))
        if _same_code(one, other):
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


def _same_constructor(one: Value, other: Value) -> bool:
    both = isinstance(one, ConstructorValue) and isinstance(other, ConstructorValue)
    return both and one.constructor.identity == other.constructor.identity


def _same_code(one: Value, other: Value) -> bool:
    both = isinstance(one, Closure) and isinstance(other, Closure)
    return both and one.function is other.function and one.frame.types == other.frame.types


def part_at(value: Value, path: list[int]) -> Value:
    """The part of a data value or tuple at `path` (field numbers from the outside in)."""
    for n in path:
        value = (value.fields if isinstance(value, ConstructorValue) else value)[n]
    return value


def with_part_at(value: Value, path: list[int], part: Value) -> Value:
    """`value` with its part at `path` replaced by `part`."""
    if not path:
        return part
    data = isinstance(value, ConstructorValue)
    fields = list(value.fields if data else value)
    fields[path[0]] = with_part_at(fields[path[0]], path[1:], part)
    return ConstructorValue(value.constructor, tuple(fields)) if data else tuple(fields)


def cannot_build(node: Expr, reason: str) -> BuildError:
    """The error for a node that only TVM's Relay has when a program runs."""
    place = f"{node.span}: " if node.span else ""
    return BuildError(
        f"{place}{reason}: it cannot be built. byoc_lab.run.evaluate runs it with NumPy"
    )
