"""Element-wise kernels; the functions are listed in native/README.md."""

from __future__ import annotations

from typing import Any

from byoc_lab.dnnl.kernels.running import PostOps, run


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
    return run(alg, "eltwise", {"data": data}, attrs, out, post_ops)


def binary(alg: str, a: Any, b: Any, *, post_ops: PostOps = (), out: Any = None) -> Any:
    """a (alg) b for add, sub, mul, div, max or min; shapes broadcast as NumPy's do."""
    return run(alg, "binary", {"a": a, "b": b}, {"alg": alg}, out, post_ops)


def add(a: Any, b: Any, *, out: Any = None) -> Any:
    """a + b; shapes broadcast as NumPy's do."""
    return run("add", "binary", {"a": a, "b": b}, {"alg": "add"}, out)


def multiply(a: Any, b: Any, *, out: Any = None) -> Any:
    """a * b, element by element; shapes broadcast as NumPy's do."""
    return run("multiply", "binary", {"a": a, "b": b}, {"alg": "mul"}, out)


def sum(*data: Any, out: Any = None) -> Any:
    """The sum of arrays of one shape."""
    return run("sum", "sum", {f"data{n}": d for n, d in enumerate(data)}, {}, out)


def clip(data: Any, low: float, high: float, *, out: Any = None) -> Any:
    """min(max(data, low), high), element by element; any shape."""
    return eltwise("clip", data, alpha=low, beta=high, out=out)


def elu(data: Any, alpha: float = 1.0, *, out: Any = None) -> Any:
    """data where it is positive, alpha * (exp(data) - 1) elsewhere."""
    return eltwise("elu", data, alpha=alpha, out=out)


def leaky_relu(data: Any, alpha: float = 0.01, *, out: Any = None) -> Any:
    """data where it is positive, alpha * data elsewhere."""
    return run("leaky_relu", "eltwise", {"data": data}, {"alg": "relu", "alpha": alpha}, out)


def swish(data: Any, alpha: float = 1.0, *, out: Any = None) -> Any:
    """data / (1 + exp(-alpha * data))."""
    return eltwise("swish", data, alpha=alpha, out=out)


def abs(data: Any, *, out: Any = None) -> Any:
    """|data|, element by element; any shape."""
    return eltwise("abs", data, out=out)


def exp(data: Any, *, out: Any = None) -> Any:
    """The exponential of data, element by element; any shape."""
    return eltwise("exp", data, out=out)


def gelu(data: Any, *, out: Any = None) -> Any:
    """data / 2 * (1 + erf(data / sqrt(2))), element by element; any shape."""
    return eltwise("gelu", data, out=out)


def gelu_tanh(data: Any, *, out: Any = None) -> Any:
    """gelu with its erf approximated by a tanh, element by element; any shape."""
    return eltwise("gelu_tanh", data, out=out)


def log(data: Any, *, out: Any = None) -> Any:
    """The natural logarithm of data, element by element; any shape."""
    return eltwise("log", data, out=out)


def mish(data: Any, *, out: Any = None) -> Any:
    """data * tanh(log(1 + exp(data))), element by element; any shape."""
    return eltwise("mish", data, out=out)


def relu(data: Any, *, out: Any = None) -> Any:
    """max(data, 0), element by element; any shape."""
    return eltwise("relu", data, out=out)


def round(data: Any, *, out: Any = None) -> Any:
    """data to the nearest whole number, halves to the even one, element by element; any shape."""
    return eltwise("round", data, out=out)


def sigmoid(data: Any, *, out: Any = None) -> Any:
    """1 / (1 + exp(-data)), element by element; any shape."""
    return eltwise("sigmoid", data, out=out)


def sqrt(data: Any, *, out: Any = None) -> Any:
    """The square root of data, element by element; any shape."""
    return eltwise("sqrt", data, out=out)


def tanh(data: Any, *, out: Any = None) -> Any:
    """The hyperbolic tangent of data, element by element; any shape."""
    return eltwise("tanh", data, out=out)
