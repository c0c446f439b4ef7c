"""Results of a region or function that it does not compute: inputs, constants, one value twice."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping

from byoc_lab.relay.ir.expr import Constant, Expr, Function, Let, Tuple, TupleGetItem


def uncomputed_of(func: Function) -> list[str]:
    """What a function returns and does not compute, in words, each once."""
    inputs: dict[Expr, str] = {p: f"its input %{p.name_hint}" for p in func.params}
    return list(dict.fromkeys(told for _, told in uncomputed([func.body], inputs)))


def uncomputed(results: Iterable[Expr], inputs: Mapping[Expr, str]) -> Iterator[tuple[Expr, str]]:
    """The results that are not computed, each with the value that it is, in words.

    A tuple is as many results as it has fields, as in TVM's graphs in JSON.
    """
    bound: dict[Expr, Expr] = {}
    seen: set[tuple[Expr, tuple[int, ...]]] = set()
    around: set[tuple[Expr, tuple[int, ...]]] = set()  # those, and the tuples that they are in
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
    """Where a value is made, behind lets and literal tuples, and the path of fields to it there.

    `bound` has the variables of lets, and gets those of the lets that are passed.
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
