"""What PartialEvaluate knows of values, of what references hold, and of how often to go on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from byoc_lab.relay.adt import Constructor
from byoc_lab.relay.expr import Constant, Expr, Function, Op, Var
from byoc_lab.relay.types import IncompleteType, Type, replace


@dataclass(frozen=True, eq=False)
class Value:
    """A value of the program: its `name` in the result, and what is known of it, if anything.

    time: a number that is greater for values that came up later.
    """

    known: Known
    name: Expr  # a variable, a global function, an operator or a constructor
    time: int


class Env:
    """What variables stand for in one run of a function's body, and in the bodies around it."""

    def __init__(self, outer: Env | None = None, types: dict[Type, Type] | None = None):
        self.outer = outer
        self.types: dict[Type, Type] = {**(outer.types if outer else {}), **(types or {})}
        self.values: dict[Var, Value] = {}

    def find(self, var: Var) -> Value | None:
        env: Env | None = self
        while env is not None and var not in env.values:
            env = env.outer
        return env.values[var] if env is not None else None

    def type(self, ty: Any) -> Any:
        """A type, or None, with the types that type variables stand for."""
        return None if ty is None else replace(ty, self.types)


@dataclass(frozen=True, eq=False)
class Closure:
    """A function whose body is here, and what its variables from outside stand for.

    captured: the values of those, but for the function itself.
    """

    function: Function
    env: Env
    captured: tuple[Value, ...] = ()


@dataclass(frozen=True, eq=False)
class Cell:
    """A reference that the program makes. What it holds is in the store."""


@dataclass(frozen=True, eq=False)
class Data:
    """What a constructor made."""

    constructor: Constructor
    fields: tuple[Value, ...]


Known = Constant | tuple[Value, ...] | Closure | Cell | Data | Op | Constructor | None


@dataclass
class Store:
    """What references hold, as far as that is known: the last layer says it first."""

    layers: list[tuple[dict[Cell, Value], bool]] = field(default_factory=lambda: [({}, True)])

    def write(self, cell: Cell, value: Value) -> None:
        self.layers[-1][0][cell] = value

    def read(self, cell: Cell) -> Value | None:
        for held, before_too in reversed(self.layers):
            if cell in held or not before_too:
                return held.get(cell)
        return None

    def forget(self) -> None:
        """Anything may have been written."""
        self.layers.append(({}, False))

    @contextmanager
    def apart(self) -> Iterator[None]:
        """What is known inside is nothing, and nothing of it is known outside: code that runs at
        another time, or perhaps not at all."""
        layers = self.layers
        self.layers = [({}, True)]
        try:
            yield
        finally:
            self.layers = layers


@dataclass(frozen=True)
class Fuel:
    """How far calls of a function have come: for each value that it is given, as an argument or
    from outside, its time, and the number it is.

    A call inside a call goes on if it has come further: if some value is older (a part of what it
    was before) or, a number that is not negative, smaller. That ends, for both are counts.
    """

    times: tuple[int, ...]
    numbers: tuple[float, ...]

    @classmethod
    def of(cls, closure: Closure, args: Sequence[Value]) -> Fuel:
        given = (*args, *closure.captured)
        return cls(tuple(v.time for v in given), tuple(map(_number, given)))

    def meet(self, other: Fuel) -> Fuel:
        return Fuel(
            tuple(map(min, self.times, other.times)), tuple(map(min, self.numbers, other.numbers))
        )


def _number(value: Value) -> float:
    """The integer that a value is, infinity for anything else."""
    constant = value.known
    if not isinstance(constant, Constant) or constant.data.shape:
        return float("inf")
    number = constant.numpy()
    return int(number) if number.dtype.kind in "iu" and number >= 0 else float("inf")


def type_arguments(params: Sequence[Type], given: Sequence[Type]) -> dict[Type, Type]:
    """What the type parameters of a function stand for in a call; holes where that is not said."""
    holes = [IncompleteType() for _ in params[len(given) :]]
    return dict(zip(params, [*given, *holes], strict=True))
