"""Results that a region or function returns without computing them: inputs, constants, repeated
values."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from byoc_lab.relay.ir.expr import Constant, Expr, Function, Let, Tuple, TupleGetItem


def uncomputed_of(func: Function) -> list[str]:
    """The results that a function does not compute, in words, without duplicates."""
    inputs: dict[Expr, str] = {p: f"its input %{p.name_hint}" for p in func.params}
    return list(dict.fromkeys(told for _, told in uncomputed([func.body], inputs)))


def uncomputed(results: Iterable[Expr], inputs: Mapping[Expr, str]) -> Iterator[tuple[Expr, str]]:
    """The results that are not computed, each with a description of its value.

    A tuple counts as one result per field, as in TVM's JSON graphs.
    """
    bound: dict[Expr, Expr] = {}
    seen: set[tuple[Expr, tuple[int, ...]]] = set()
    around: set[tuple[Expr, tuple[int, ...]]] = set()  # input tuples, and the fields of these
    pending = deque((result, result) for result in results)
    while pending:
        result, value = pending.popleft()
        value, path = _source(value, bound)
        places = [(value, path[:depth]) for depth in range(len(path) + 1)]
        if isinstance(value, Tuple):
            pending.extendleft((result, field) for field in reversed(value.fields))
        elif isinstance(value, Constant):
            yield result, "a constant"
        elif value in inputs:
            field = f"field {'.'.join(map(str, path))} of " if path else ""
            yield result, f"{field}{inputs[value]} as it is"
        elif places[-1] in around or not seen.isdisjoint(places):
            yield result, "one value twice"
        seen.add(places[-1])
        around.update(places)


def _source(value: Expr, bound: dict[Expr, Expr]) -> tuple[Expr, tuple[int, ...]]:
    """The producer of a value, looking through lets and literal tuples, and the path of tuple
    fields to the value.

    `bound` maps `let` variables to values; the function adds the lets that it passes.
    """
    path: list[int] = []
    while True:
        if value in bound:
            value = bound[value]
        elif isinstance(value, Let):
            bound[value.var] = value.value
            value = value.body
        elif isinstance(value, TupleGetItem):
            path.insert(0, value.index)
            value = value.tuple_value
        elif isinstance(value, Tuple) and path:
            value = value.fields[path.pop(0)]
        else:
            return value, tuple(path)
