"""The table of converters: how a call of each Relax operator is written in Relay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import ImporterError
from byoc_lab.relay.ir.expr import Expr, Op
from byoc_lab.relay.op import builder

Converter = Callable[..., Any]  # (RelaxCall, its operands) -> Relay


@dataclass(frozen=True)
class RelaxCall:
    """A call of a Relax operator.

    name: without "relax.". attrs: Relax's. shapes: of its operands that are tensors, else None.
    result, dtype: the shape and dtype of what it computes; None for a tuple.
    """

    name: str
    attrs: Any
    shapes: list[tuple[int, ...] | None]
    result: tuple[int, ...] | None
    dtype: str | None

    @property
    def rank(self) -> int:
        """How many axes the first operand has."""
        return len(self.shape)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the first operand."""
        first = self.shapes[0]
        if first is None:
            raise self.error("its first operand must be a tensor of known shape")
        return first

    def error(self, reason: str) -> ImporterError:
        return ImporterError(f"relax.{self.name}: {reason}")

    def axes(self, values: Any) -> list[int]:
        """Axes counted from the first one, in order; all for None."""
        found = range(self.rank) if values is None else [v % self.rank for v in ints(values)]
        return sorted(found)


_converters: dict[str, Converter] = {}


def converts(*names: str) -> Callable[[Converter], Converter]:
    """Register a function as the converter of these operators."""

    def register(function: Converter) -> Converter:
        _converters.update(dict.fromkeys(names, function))
        return function

    return register


def converter(name: str) -> Converter | None:
    return _converters.get(name)


def supported() -> list[str]:
    """The names of the Relax operators that can be converted."""
    return sorted(_converters)


def relay_call(name: str, *args: Any, **attrs: Any) -> Expr:
    """A call of a Relay operator by its builder; of several results, the tuple of them."""
    made = builder(Op.get(name))(*args, **attrs)
    return made.astuple() if hasattr(made, "astuple") else made


def number(value: Any) -> float:
    """A number that may be wrapped in an immediate of TVM."""
    found = getattr(value, "value", value)
    return found if isinstance(found, int | float) else found.numpy().item()


def ints(values: Any) -> list[int]:
    """The numbers of a list, or one number as a list."""
    listed = values if hasattr(values, "__iter__") else [values]
    return [int(number(value)) for value in listed]
