"""What a sample call is; the samples are in `samples.py` and `more_samples.py`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.relay import Expr, Function

Shape = tuple[int, ...]


@dataclass(frozen=True)
class Sample:
    """One call: `build(*vars)` over variables of these shapes.

    low, high: range of the random data. dtypes: one for each shape, float32 where it is left out.
    relax: what the error says when Relax cannot do it, or empty.
    """

    op: str
    build: Callable[..., Any]
    shapes: Sequence[Shape] = ((2, 3),)
    low: float = -2.0
    high: float = 2.0
    dtypes: Sequence[str] = ()
    note: str = ""
    relax: str = ""

    @property
    def label(self) -> str:
        return f"{self.op}{'-' if self.note else ''}{self.note}"

    def function(self) -> Function:
        """The call as a function of its arguments."""
        params = [relay.var(f"x{n}", shape=s, dtype=t) for n, (s, t) in enumerate(self._typed())]
        body = self.build(*params)
        return Function(params, body.tuple_value if hasattr(body, "tuple_value") else body)

    def data(self, seed: int = 0) -> list[np.ndarray]:
        rng = np.random.default_rng(seed)
        return [
            rng.integers(0, 2, s).astype(t)
            if t == "bool"
            else rng.uniform(self.low, self.high, s).astype(t)
            for s, t in self._typed()
        ]

    def _typed(self) -> list[tuple[Shape, str]]:
        dtypes = list(self.dtypes) + ["float32"] * (len(self.shapes) - len(self.dtypes))
        return list(zip(self.shapes, dtypes, strict=True))


def unary(name: str, low: float = -2.0, **more: Any) -> Sample:
    return Sample(name, getattr(relay, name), ((2, 3, 4),), low=low, **more)


def binary(name: str, low: float = -2.0, **more: Any) -> Sample:
    return Sample(name, getattr(relay, name), ((2, 1, 4), (3, 1)), low=low, **more)


def called_op(sample: Sample) -> Expr:
    """The call of the sample's own operator (builders may wrap it or call others first)."""
    for node in relay.analysis.post_order(sample.function().body):
        if isinstance(node, relay.Call) and node.is_op(sample.op):
            return node
    raise AssertionError(f"{sample.label} calls no {sample.op}")
