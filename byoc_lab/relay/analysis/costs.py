"""Costs of calls: floating-point operations, and bytes across the boundary of a region."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

import numpy as np

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.ndarray import numpy_dtype
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_above


@dataclass(frozen=True)
class Cost:
    """The cost of some operator calls.

    flops: floating-point operations (a multiplication and an addition are two) of the calls whose
    cost is known. calls: the number of operator calls. unknown: the number of calls of unknown
    cost, because a shape is unknown or the operator declares no cost.
    """

    flops: int = 0
    calls: int = 0
    unknown: int = 0

    def __add__(self, other: Cost) -> Cost:
        return Cost(
            self.flops + other.flops, self.calls + other.calls, self.unknown + other.unknown
        )

    def __mul__(self, times: int) -> Cost:
        return Cost(self.flops * times, self.calls * times, self.unknown * times)


def call_flops(call: Call) -> int | None:
    """Floating-point operations of one typed call of an operator; None if they are unknown.

    The formula is the operator's (`OpDef.flops`). An operator that only moves numbers has 0. The
    types and attributes of a saved trace are not inferred again: if they contradict each other, the
    result is None.
    """
    assert isinstance(call.op, Op)
    formula = call.op.definition.flops
    types = [a.checked_type for a in call.args]
    if formula is None or not all(map(_is_static, [*types, call.checked_type])):
        return None
    try:
        return int(formula(call.op.definition.attributes(call.attrs), types, call.checked_type))
    except (ArithmeticError, LookupError, TypeError, ValueError):
        if _is_well_typed(call):
            raise
        return None


def _is_well_typed(call: Call) -> bool:
    try:
        again = infer_above(Call(call.op, call.args, call.attrs))
    except TypeInferenceError:
        return False
    return again.checked_type == call.checked_type


def operator_calls(expr: Expr) -> Iterator[Call]:
    """The calls of operators in an expression, including calls inside functions, without
    annotations."""
    for node in post_order(expr):
        if isinstance(node, Call) and isinstance(node.op, Op) and not is_annotation(node):
            yield node


def cost(expr: Expr) -> Cost:
    """The cost of a typed expression, including functions (composites) in it."""
    return sum(map(cost_of, operator_calls(expr)), Cost())


def cost_of(call: Call) -> Cost:
    """The cost of one typed call of an operator."""
    count = call_flops(call)
    return Cost(count or 0, 1, int(count is None))


def main_dtype(expr: Expr) -> str | None:
    """The data dtype of the most expensive operator call in a typed expression; None if no cost is
    known."""
    costs = [(call_flops(call) or 0, call) for call in operator_calls(expr)]
    if not any(flops for flops, _ in costs):
        return None
    _, call = max(costs, key=lambda found: found[0])
    return next((ty.dtype for arg in call.args for ty in tensor_types(arg.checked_type)), None)


def tensor_types(ty: Type) -> Iterator[TensorType]:
    """All tensor types in a type: the type itself, or the types in a (nested) tuple."""
    todo = [ty]
    while todo:
        part = todo.pop()
        if isinstance(part, TupleType):
            todo.extend(reversed(part.fields))
        elif isinstance(part, TensorType):
            yield part


def type_bytes(ty: Type) -> int | None:
    """The bytes of the tensors of a type; None if a shape is unknown."""
    if not _is_static(ty):
        return None
    return sum(
        prod(t.concrete_shape) * np.dtype(numpy_dtype(t.dtype)).itemsize for t in tensor_types(ty)
    )


def boundary_bytes(function: Function) -> int | None:
    """The bytes that cross the boundary of a typed function in one call: its parameters and its
    result. None if a shape is unknown."""
    sizes = [type_bytes(p.checked_type) for p in function.params]
    sizes.append(type_bytes(function.body.checked_type))
    return None if None in sizes else sum(s for s in sizes if s is not None)


def _is_static(ty: Type) -> bool:
    return all(t.is_static for t in tensor_types(ty))
