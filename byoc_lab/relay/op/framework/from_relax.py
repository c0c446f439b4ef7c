"""Reads calls of Relax operators as calls of the Relay operators whose definitions name them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from byoc_lab.errors import ImporterError
from byoc_lab.relay.ir.expr import Expr, Op, const
from byoc_lab.relay.op.framework.registry import RELAX_NAMES, builder


@dataclass(frozen=True)
class RelaxCall:
    """A call of a Relax operator.

    name: without "relax.". attrs: Relax's. shapes: the shapes of its operands, None for operands
    that are not tensors. result, dtype: the shape and dtype of its result; None for a tuple.
    """

    name: str
    attrs: Any
    shapes: list[tuple[int, ...] | None]
    result: tuple[int, ...] | None
    dtype: str | None

    @property
    def rank(self) -> int:
        """The number of axes of the first operand."""
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
        """Non-negative axis numbers in ascending order; all axes for None."""
        found = range(self.rank) if values is None else [v % self.rank for v in ints(values)]
        return sorted(found)


def reads(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Register a function that reads calls of Relax operators without a direct equivalent in Relay:
    it writes them as several operators, or with different operands or results."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        RELAX_NAMES.update(dict.fromkeys(names, function))
        return function

    return register


def same(op: Op, call: RelaxCall, *operands: Any) -> Any:
    """The call of `op` with the Relax attributes of the same names."""
    return _with_attributes(op, call, operands, {})


def renamed(**names: Any) -> Callable[..., Any]:
    """As `same`, for renamed attributes. names: Relay's attribute name -> Relax's name, or a
    function of Relax's attributes."""
    return lambda op, call, *operands: _with_attributes(op, call, operands, names)


def _with_attributes(op: Op, call: RelaxCall, operands: Any, names: dict[str, Any]) -> Any:
    attrs = {}
    for name in op.definition.free_attributes:
        known = names.get(name, name)
        value = plain(known(call.attrs) if callable(known) else getattr(call.attrs, known, None))
        if value not in (None, ""):
            attrs[name] = value
    if attrs.get("out_layout") == attrs.get("data_layout", attrs.get("layout")):
        attrs.pop("out_layout", None)  # empty means the layout of the data
    return relay_call(op.name, *(_tensor(call, operand) for operand in operands), **attrs)


def _tensor(call: RelaxCall, operand: Any) -> Any:
    """An operand as an expression; a number becomes a constant of the result's dtype."""
    if isinstance(operand, Expr | list):
        return operand
    return const(np.asarray(number(operand), call.dtype))


def relay_call(name: str, *args: Any, **attrs: Any) -> Expr:
    """A call of a Relay operator, created by its builder; a tuple if it has several results."""
    made = builder(Op.get(name))(*args, **attrs)
    return made.astuple() if hasattr(made, "astuple") else made


def plain(value: Any) -> Any:
    """The value of a Relax attribute as a Python value."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if hasattr(value, "__iter__"):
        return [plain(each) for each in value]
    return value.value if hasattr(value, "value") else str(value)


def number(value: Any) -> float:
    """A number, possibly wrapped in an immediate of TVM. Raises ImporterError for other values."""
    found = getattr(value, "value", value)
    if not isinstance(found, int | float) and not hasattr(found, "numpy"):
        raise ImporterError(f"expected a known number, found {found}")
    return found if isinstance(found, int | float) else found.numpy().item()


def ints(values: Any) -> list[int]:
    """A list of numbers as ints; a single number becomes a list."""
    listed = values if hasattr(values, "__iter__") else [values]
    return [int(number(value)) for value in listed]
