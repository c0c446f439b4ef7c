"""Values of an input that make a condition true or false, found by computing the condition."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from byoc_lab.importers.expr_normalizer import ExprNormalizer
from byoc_lab.relay.ir.expr import Constant, Expr, Var, bind
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order

MOST = 64  # maximum number of constants of a condition that are tried, each with its neighbours


def value_that_gives(
    wanted: bool, condition: Expr, variable: Var, normalizer: ExprNormalizer
) -> int | bool | None:
    """A value of an integer or boolean input that makes a condition equal `wanted`; None if none of
    the tried values does."""
    ty = variable.checked_type
    if not isinstance(ty, TensorType) or "float" in ty.dtype:
        return None
    lengths = [n if isinstance(n, int) else 1 for n in ty.shape]
    for value in _candidates(condition, ty.dtype):
        constant = Constant(np.full(lengths, value, ty.dtype))
        found = normalizer(bind(condition, {variable: constant}))
        if isinstance(found, Constant) and bool(found.numpy().all()) == wanted:
            return value
    return None


def _candidates(condition: Expr, dtype: str) -> Iterator[int | bool]:
    """The constants in comparisons of a condition, their neighbours, then 1 and 0."""
    if dtype == "bool":
        yield from (True, False)
        return
    limits = np.iinfo(dtype)
    constants = [n for n in post_order(condition) if isinstance(n, Constant)]
    numbers = [int(n.numpy().item()) for n in constants if n.numpy().size == 1][:MOST]
    near = (n + step for step in (0, 1, -1) for n in numbers)
    yield from (n for n in dict.fromkeys((*near, 1, 0)) if limits.min <= n <= limits.max)
