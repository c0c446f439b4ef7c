"""Tolerances: the largest deviation of each element of a float32 result from the exact one.

`rounding.py` derives the rounding error of each operator, `propagation.py` propagates errors to
later results, and `uncertain.py` corrects both by samples with random errors. The tolerance of an
element is REACH * sigma + jump. The probability that any of 10 million normal numbers exceeds REACH
standard deviations is 1e-9.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from math import log, sqrt
from typing import Any

import numpy as np

from byoc_lab.errors import InputError
from byoc_lab.lab.checking.bounds.causes import Causes
from byoc_lab.lab.checking.bounds.error import Error, outlier_factor
from byoc_lab.lab.checking.bounds.samples import mean_squares, variance_ratios
from byoc_lab.lab.checking.bounds.step import Array
from byoc_lab.lab.checking.bounds.uncertain import FOLDING_ROUNDINGS, ErrorModel, Quantity, observe
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.module import IRModule

SAMPLES = 2
CHANCE = 1e-3  # probability that correctly derived errors look too small in samples


@dataclass(frozen=True)
class Bounded:
    """The float64 result of a function, flat, with the tolerances of the elements of each array.

    causes: for each array, why some of its tolerances are infinite.
    """

    outputs: tuple[Array, ...]
    tolerances: tuple[Array, ...]
    causes: tuple[Causes, ...]

    def groups(self, got: Iterable[Array]) -> Iterator[tuple[Array, Array, Array, Causes]]:
        """For each array of the float32 code: the arguments of `compare` except the name."""
        return zip(got, self.outputs, self.tolerances, self.causes, strict=True)


def bounded(
    function: Function,
    inputs: Mapping[Var, Any],
    mod: IRModule | None = None,
    *,
    exact_constants: bool = False,
    samples: int | None = None,
    seed: int = 0,
    watch: Callable[[Call, tuple[Any, ...], Any], None] | None = None,
) -> Bounded:
    """Evaluate `function` in float64, with tolerances for a float32 evaluation.

    mod: the global functions that it calls. exact_constants: whether the float32 code uses exactly
    these constants. If not, it may have computed constants from them (folded weights). samples: the
    number of samples with random errors, `SAMPLES` by default. watch: is called with each operator
    call, its arguments and its value. Raises InputError for fewer than one sample, and
    EvaluationError for an expression that has no value.
    """
    if samples is not None and samples < 1:
        raise InputError(f"samples must be at least 1, found {samples}")
    # Samples correct the propagation of errors; a single operator on exact values needs none.
    alone = exact_constants and _is_one_operator(function.body)
    model = ErrorModel(
        constants=0.0 if exact_constants else FOLDING_ROUNDINGS,
        samples=0 if alone else samples or SAMPLES,
        seed=seed,
    )
    run = observe(function, inputs, mod, model, keep=False, watch=watch)
    outputs = tuple(q.value for q in run.outputs)
    causes = tuple(q.causes for q in run.outputs)
    return Bounded(outputs, tuple(map(tolerance, run.outputs)), causes)


def _is_one_operator(body: Expr) -> bool:
    made = body.tuple_value if isinstance(body, TupleGetItem) else body
    if not (isinstance(made, Call) and isinstance(made.op, Op)):
        return False
    listed = (arg.fields if isinstance(arg, Tuple) else [arg] for arg in made.args)
    return all(isinstance(given, (Var, Constant)) for args in listed for given in args)


def tolerance(quantity: Quantity) -> Array:
    """The tolerance of each element of a result.

    If the deviations of a sample exceed the derived errors, the tolerances of all elements are
    enlarged.
    """
    value, error = quantity.value, quantity.error
    sigma = np.broadcast_to(np.asarray(error.sigma, np.float64), value.shape)
    if quantity.samples and value.dtype.kind == "f" and np.any(sigma):
        ratios = variance_ratios(mean_squares(value, error, quantity.samples), sigma)
        worst = float(np.max(ratios, initial=0))
        expected = largest_mean_square(len(quantity.samples), ratios.size)
        sigma = sigma * sqrt(max(1.0, worst / expected))
    reach: Array = np.broadcast_to(np.asarray(Error(sigma, error.jump).reach), value.shape)
    return reach


def largest_mean_square(k: int, n: int) -> float:
    """The bound that the largest of n means, each of k squared normal numbers, exceeds with
    probability CHANCE.

    The chi-squared quantile is approximated by Wilson and Hilferty, Proc. Natl. Acad. Sci. 17
    (1931) 684.
    """
    z = sqrt(2 * log(max(n, 1) / CHANCE))  # not less than the quantile of the normal distribution
    return max(1.0, (1 - 2 / (9 * k) + z * sqrt(2 / (9 * k))) ** 3)


__all__ = ["Bounded", "bounded", "largest_mean_square", "outlier_factor", "tolerance"]
