"""The class of sample calls; the samples are in the files of this folder.

Operators of `byoc_lab.compat` are checked in the same way as the core operators.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

import byoc_lab.compat  # noqa: F401 (defines operators)
from byoc_lab import relay
from byoc_lab.relay import Expr, Function
from byoc_lab.relay.ir.expr import Call, Constant, Op, Tuple, TupleGetItem, Var

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Sample:
    """One call: `build(*vars)` on variables with these shapes.

    low, high: range of the random data. dtypes: one per shape, float32 by default. ranges: (low,
    high) of the first arguments, if they differ. source: the call as Python text over x0, x1, ...,
    for operators whose attributes TVM's parser lacks. relax: the error message if Relax cannot
    compute it, or empty.
    """

    op: str
    build: Callable[..., Any]
    shapes: Sequence[Shape] = ((2, 3),)
    low: float = -2.0
    high: float = 2.0
    dtypes: Sequence[str] = ()
    note: str = ""
    relax: str = ""
    ranges: Sequence[tuple[float, float]] = ()
    source: str = ""

    @property
    def label(self) -> str:
        return f"{self.op}{'-' if self.note else ''}{self.note}"

    def function(self) -> Function:
        """The call as a function over its arguments."""
        params = [relay.var(f"x{n}", shape=s, dtype=t) for n, (s, t) in enumerate(self._typed())]
        body = self.build(*params)
        return Function(params, body.tuple_value if hasattr(body, "tuple_value") else body)

    def data(self, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        return [
            rng.integers(0, 2, s).astype(t)
            if t == "bool"
            else rng.uniform(*self._range(n), s).astype(t)
            for n, (s, t) in enumerate(self._typed())
        ]

    def _range(self, n: int) -> tuple[float, float]:
        return self.ranges[n] if n < len(self.ranges) else (self.low, self.high)

    def _typed(self) -> list[tuple[Shape, str]]:
        dtypes = list(self.dtypes) + ["float32"] * (len(self.shapes) - len(self.dtypes))
        return list(zip(self.shapes, dtypes, strict=True))


def sourced(op: str, source: str, shapes: Sequence[Shape], **more: Any) -> Sample:
    """A sample whose call is Python text that TVM can evaluate, too; it may use `relay` and
    `np`."""

    def build(*args: Any) -> Any:
        names = {f"x{n}": a for n, a in enumerate(args)}
        return eval(source, {"relay": relay, "np": np}, names)

    return Sample(op, build, shapes, source=source, **more)


def unary(name: str, low: float = -2.0, **more: Any) -> Sample:
    return Sample(name, getattr(relay, name), ((2, 3, 4),), low=low, **more)


def binary(name: str, low: float = -2.0, **more: Any) -> Sample:
    return Sample(name, getattr(relay, name), ((2, 1, 4), (3, 1)), low=low, **more)


def called_op(sample: Sample) -> Expr:
    """The call of the sample's own operator (builders may call other operators first or after
    it)."""
    for node in relay.ir.visit.post_order(sample.function().body):
        if isinstance(node, relay.Call) and node.is_op(sample.op):
            return node
    raise AssertionError(f"{sample.label} calls no {sample.op}")


def call_with_arguments(sample: Sample, dtype: str) -> tuple[Any, list[Any]] | None:
    """The call of the sample's own operator and its arguments, with floats in `dtype`.

    None if other calls compute the arguments, or if the operator has no reference.
    """
    function = sample.function()
    call = function.body
    while isinstance(call, TupleGetItem):
        call = call.tuple_value
    if not (isinstance(call, Call) and call.op is Op.get(sample.op)):
        return None
    given = dict(zip(function.params, sample.data(), strict=True))

    def value(node: Expr) -> Any:
        if isinstance(node, Tuple):
            fields = [value(field) for field in node.fields]
            return None if any(field is None for field in fields) else tuple(fields)
        if not isinstance(node, Var | Constant):
            return None
        found = given[node] if isinstance(node, Var) else node.data.numpy()
        return found.astype(dtype) if found.dtype.kind == "f" else found

    found = [value(arg) for arg in call.args]
    missing = call.op.definition.reference is None or any(arg is None for arg in found)
    return None if missing else (call, found)
