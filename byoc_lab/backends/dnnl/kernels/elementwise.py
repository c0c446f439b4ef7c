"""Element-wise kernels; the functions are listed in native/README.md."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab.backends.dnnl.kernels.running import PostOps, named, run


def eltwise(
    alg: str,
    data: Any,
    *,
    alpha: float = 0.0,
    beta: float = 0.0,
    post_ops: PostOps = (),
    out: Any = None,
) -> Any:
    """The function that native/README.md lists as `alg`, element by element; any shape."""
    attrs = {"alg": alg, "alpha": alpha, "beta": beta}
    return run("eltwise", "eltwise", {"data": data}, attrs, out, post_ops)


def binary(alg: str, a: Any, b: Any, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """a (alg) b for add, sub, mul, div, max or min; shapes broadcast as NumPy's do."""
    return run("binary", "binary", {"a": a, "b": b}, {"alg": alg}, out, post_ops)


def add(a: Any, b: Any, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """a + b; shapes broadcast as NumPy's do."""
    return run("add", "binary", {"a": a, "b": b}, {"alg": "add"}, out, post_ops)


def multiply(a: Any, b: Any, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """a * b, element by element; shapes broadcast as NumPy's do."""
    return run("multiply", "binary", {"a": a, "b": b}, {"alg": "mul"}, out, post_ops)


def sum(*data: Any, post_ops: PostOps = (), out: Any = None) -> Any:
    """The sum of arrays of one shape."""
    terms = {f"data{n}": d for n, d in enumerate(data)}
    return run("sum", "sum", terms, {}, out, post_ops)


def clip(data: Any, low: float, high: float, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """min(max(data, low), high), element by element; any shape."""
    for name, value in (("low", low), ("high", high)):
        number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        if not number or not np.isfinite(np.float32(value)):
            raise (ValueError if number else TypeError)(
                f"byoc_lab.dnnl.clip: {name}: expected a number that is finite in float32, "
                f"found {value!r}"
            )
    return _run("clip", "clip", data, post_ops, out, alpha=low, beta=high)


def elu(data: Any, alpha: float = 1.0, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """data where it is positive, alpha * (exp(data) - 1) elsewhere."""
    return _run("elu", "elu", data, post_ops, out, alpha=alpha)


def leaky_relu(data: Any, alpha: float = 0.01, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """data where it is positive, alpha * data elsewhere."""
    return _run("leaky_relu", "relu", data, post_ops, out, alpha=alpha)


def swish(data: Any, alpha: float = 1.0, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """data / (1 + exp(-alpha * data))."""
    return _run("swish", "swish", data, post_ops, out, alpha=alpha)


def _run(name: str, alg: str, data: Any, post_ops: PostOps, out: Any, **parameters: float) -> Any:
    return run(name, "eltwise", {"data": data}, {"alg": alg, **parameters}, out, post_ops)


def _function(alg: str, what: str) -> Callable[..., Any]:
    def function(data: Any, *, post_ops: PostOps = (), out: Any = None) -> Any:
        return _run(alg, alg, data, post_ops, out)

    return named(function, alg, f"{what}, element by element; any shape.")


abs = _function("abs", "|data|")
exp = _function("exp", "The exponential of data")
gelu = _function("gelu", "data / 2 * (1 + erf(data / sqrt(2)))")
gelu_tanh = _function("gelu_tanh", "gelu with its erf approximated by a tanh")
log = _function("log", "The natural logarithm of data")
mish = _function("mish", "data * tanh(log(1 + exp(data)))")
relu = _function("relu", "max(data, 0)")
round = _function("round", "data rounded to the nearest integer, halves to even")
sigmoid = _function("sigmoid", "1 / (1 + exp(-data))")
sqrt = _function("sqrt", "The square root of data")
tanh = _function("tanh", "The hyperbolic tangent of data")
