"""oneDNN's element-wise functions in float64, from the formulas in native/README.md.

`apply` propagates a running error bound (reference.py) through them. oneDNN computes them as short
polynomials: `noise` is the error of a polynomial, in units in the last place of 1 + |x| + |f(x)|.
It is a property of oneDNN's kernels, measured over their whole range.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tests.backends.dnnl import reference as ref
from tests.backends.dnnl.reference import Bounded, U

Array = np.ndarray


@dataclass(frozen=True)
class Function:
    """parameters: an (alpha, beta) to test with. positive: defined only above 0."""

    formula: Callable[[Array, float, float], Array]
    noise: float = 8
    parameters: tuple[float, float] = (0.0, 0.0)
    positive: bool = False


def unit(x: Array) -> Array:
    return np.clip(x, 0, 1)


def tanh_argument(x: Array) -> Array:
    return math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)


def softplus(x: Array) -> Array:
    return np.logaddexp(0, x)


SIXTH = float(np.float32(1 / 6))
erf = np.vectorize(math.erf, otypes=[np.float64])
FUNCTIONS = {
    "abs": Function(lambda x, a, b: np.abs(x), 0),
    "clip": Function(lambda x, a, b: np.clip(x, a, b), 0, (-0.5, 1.5)),
    "elu": Function(
        lambda x, a, b: np.where(x > 0, x, a * np.expm1(np.minimum(x, 0))), 8, (0.5, 0)
    ),
    "exp": Function(lambda x, a, b: np.exp(x)),
    "gelu": Function(lambda x, a, b: x / 2 * (1 + erf(x / math.sqrt(2)))),
    "gelu_tanh": Function(lambda x, a, b: x / 2 * (1 + np.tanh(tanh_argument(x)))),
    "hard_sigmoid": Function(lambda x, a, b: unit(a * x + b), 8, (SIXTH, 0.5)),
    "hard_swish": Function(lambda x, a, b: x * unit(a * x + b), 8, (SIXTH, 0.5)),
    "linear": Function(lambda x, a, b: a * x + b, 8, (2.0, -1.0)),
    # 115 units at most, on SSE4.1.
    "log": Function(lambda x, a, b: np.log(x), 60, positive=True),
    "mish": Function(lambda x, a, b: x * np.tanh(softplus(x))),
    "pow": Function(lambda x, a, b: a * x**b, 8, (2.0, 0.5), positive=True),
    "relu": Function(lambda x, a, b: np.where(x > 0, x, a * x), 1, (0.25, 0)),
    "round": Function(lambda x, a, b: np.rint(x), 0),
    "sigmoid": Function(lambda x, a, b: np.exp(-softplus(-x))),
    "softplus": Function(lambda x, a, b: softplus(a * x) / a, 8, (2.0, 0)),
    "sqrt": Function(lambda x, a, b: np.sqrt(x), 1, positive=True),
    "square": Function(lambda x, a, b: x * x, 1),
    "swish": Function(lambda x, a, b: x * np.exp(-softplus(-a * x)), 8, (1.5, 0)),
    "tanh": Function(lambda x, a, b: np.tanh(x)),
}


BINARY = {
    "add": ref.add,
    "div": ref.divide,
    "max": ref.maximum,
    "min": ref.minimum,
    "mul": ref.multiply,
    "sub": ref.subtract,
}


def apply(alg: str, x: Bounded, alpha: float = 0.0, beta: float = 0.0) -> Bounded:
    """f(x); its error is the error of x propagated through f, plus the error of f itself."""
    function = FUNCTIONS[alg]
    value = function.formula(x.value, alpha, beta)
    ends = (function.formula(x.value + side * x.error, alpha, beta) for side in (-1, 1))
    # The square covers an extremum inside the interval; |f''| is at most 2 there.
    carried = np.max([np.abs(end - value) for end in ends], axis=0) + x.error**2
    own = function.noise * U * (1 + x.magnitude + np.abs(value))
    return Bounded(value, carried + own)
