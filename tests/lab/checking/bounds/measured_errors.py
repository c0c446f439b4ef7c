"""Measures errors of the approximated functions as oneDNN computes them on one instruction set.

    ONEDNN_MAX_CPU_ISA=SSE41 python -m tests.lab.checking.bounds.measured_errors

prints JSON: for each function, the largest error as a share of the kernel error in
`bounds/functions.py` ("table"), and as a share of the tolerance derived for Relay's expression
("bounds"). oneDNN reads the variable when it is loaded, so each instruction set needs a separate
process.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.backends.dnnl import kernels
from byoc_lab.lab.checking.bounds.functions import MARGIN, MEASURED, exponent_error, log_error
from byoc_lab.lab.checking.bounds.step import UNIT_ROUNDOFF
from byoc_lab.lab.checking.comparison import compare
from byoc_lab.lab.checking.tolerances import bounded
from byoc_lab.relay import Function, nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.typing.infer import infer_expr

U = UNIT_ROUNDOFF["float32"]
SMALLEST = 2.0**-124  # kernels may flush smaller numbers to zero


def values() -> np.ndarray:
    """Mantissas of every exponent, numbers where the functions vary, steps of log's table."""
    draw = np.random.default_rng(7)
    exponents = np.repeat(np.arange(1, 255, dtype=np.uint32), 24)
    bits = (exponents << 23) | draw.integers(0, 2**23, exponents.size, dtype=np.uint32)
    every = bits.view(np.float32)
    ranges = [(-88, 88), (-20, 20), (-4, 4), (0.5, 2), (0.9, 1.1)]
    drawn = [draw.uniform(low, high, 6000).astype(np.float32) for low, high in ranges]
    steps = np.float32([0.0067090914, 0.52617365, 0.53054655, 1.04969978, 1.06143928, 1 - 2.0**-24])
    found = np.concatenate([steps, *drawn, every, -every])
    return np.resize(found, -(-found.size // 160) * 160)  # 160: `paths` shapes it into rows


def paths(alg: str, x: np.ndarray) -> Iterator[tuple[str, np.ndarray]]:
    """The results of one native function: alone, on short arrays, and fused into several
    kernels."""
    post_ops = [{"kind": "eltwise", "alg": alg, **({"alpha": 1.0} if alg == "swish" else {})}]
    attrs = {"alpha": 1.0} if alg == "swish" else {}
    yield "alone", kernels.eltwise(alg, x, **attrs)
    one, each = (np.ones((n, 1, 1, 1), np.float32) for n in (1, 16))
    rows = x.reshape(1, 1, -1, 16)
    yield "conv of one channel", kernels.conv2d(rows, one, post_ops=post_ops)
    blocks = x.reshape(1, 16, -1, 10)
    yield "depthwise", kernels.conv2d(blocks, each, groups=16, post_ops=post_ops)
    yield "dense", kernels.dense(x.reshape(-1, 1), np.ones((1, 1), np.float32), post_ops=post_ops)
    yield "pool", kernels.max_pool2d(blocks, (1, 1), post_ops=post_ops)
    yield (
        "in pieces of three",
        np.concatenate([kernels.eltwise(alg, piece, **attrs) for piece in np.split(x[:90], 30)]),
    )


def _const(value: float) -> Expr:
    return relay.const(np.float32(value))


def _gelu(x: Expr) -> Expr:
    error = relay.erf(x / _const(2**0.5))
    return x * (error + _const(1)) * _const(0.5)


SPELLED: dict[str, Callable[[Expr], Expr]] = {
    "exp": relay.exp,
    "log": relay.log,
    "tanh": relay.tanh,
    "sigmoid": relay.sigmoid,
    "sqrt": relay.sqrt,
    "gelu": _gelu,
    "swish": lambda x: x * relay.sigmoid(x),
    "mish": lambda x: x * relay.tanh(relay.log(relay.exp(x) + _const(1))),
}


def share_of_bounds(expr: Expr, x: np.ndarray, got: Any) -> Iterator[float]:
    """For each array of kernel results: the largest error as a share of the tolerance of `expr`."""
    function = infer_expr(Function(free_vars(expr), expr))
    assert isinstance(function, Function)
    known = bounded(function, {function.params[0]: x}, exact_constants=True)
    wanted, tolerance = known.outputs[0], known.tolerances[0]
    for array in got:
        flat = (a.reshape(-1)[: array.size] for a in (array, wanted, tolerance))
        yield compare("x", *flat).share


EXACT: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "log": np.log,
    "tanh": np.tanh,
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "sqrt": np.sqrt,
}


def share_of_table(name: str, x: np.ndarray, got: np.ndarray) -> float:
    """The largest error of a kernel, divided by the table's bound."""
    got = got.reshape(-1)
    x = x[: got.size].astype(np.float64)
    with np.errstate(all="ignore"):
        wanted = EXACT[name](x)
        if name == "log":
            said = log_error(x) / MARGIN + 3 * np.abs(wanted)
        else:
            said = MEASURED[Arithmetic[name.upper()]].largest(wanted)
        if name in ("exp", "sigmoid"):
            said = said + np.abs(wanted) * exponent_error(x)
        size = np.abs(wanted)
        known = (size > SMALLEST) & (size < np.finfo(np.float32).max)
        share = np.abs(got - wanted) / (U * said)
    return float(np.max(share[known], initial=0))


def softmaxes() -> Iterator[tuple[str, float]]:
    draw = np.random.default_rng(3)
    for classes in (2, 100):
        scales = np.resize([0.1, 1, 3, 10, 40], (6000 // classes, 1))
        x = (scales * draw.standard_normal((len(scales), classes))).astype(np.float32)
        turned = np.ascontiguousarray(x.T)
        var = relay.var("x", shape=x.shape)
        for name in ("softmax", "log_softmax"):
            kernel = getattr(kernels, name)
            got = [kernel(x), np.ascontiguousarray(kernel(turned, axis=0).T)]
            shares = share_of_bounds(getattr(nn, name)(var), x, got)
            yield f"{name} of {classes}", max(shares)


def normalizations() -> Iterator[tuple[str, float]]:
    """Rows with different spreads and means: small numbers, and numbers far from 0 whose squares
    cancel."""
    draw = np.random.default_rng(5)
    for channels in (3, 64, 768):
        rows = 12_000 // channels
        spread, mean = (
            np.resize(values, (rows, 1)) for values in ([1e-3, 0.1, 1, 30], [0, 1, -5, 40, 0.01])
        )
        x = (mean + spread * draw.standard_normal((rows, channels))).astype(np.float32)
        gamma, beta, shift = draw.standard_normal((3, channels)).astype(np.float32)
        variance = draw.uniform(1e-4, 10, channels).astype(np.float32)
        var = relay.var("x", shape=x.shape)
        params = [relay.const(value) for value in (gamma, beta)]
        got = [kernels.layer_norm(x, gamma, beta, epsilon=1e-5)]
        shares = share_of_bounds(nn.layer_norm(var, *params, epsilon=1e-5), x, got)
        yield f"layer_norm of {channels}", max(shares)
        params += [relay.const(value) for value in (shift, variance)]
        got = [kernels.batch_norm(x, gamma, beta, shift, variance, epsilon=1e-5)]
        shares = share_of_bounds(nn.batch_norm(var, *params, epsilon=1e-5)[0], x, got)
        yield f"batch_norm of {channels}", max(shares)


def measured() -> dict[str, dict[str, float]]:
    x = values()
    var = relay.var("x", shape=x.shape)
    table: dict[str, float] = {}
    bounds: dict[str, float] = dict([*softmaxes(), *normalizations()])
    for name, spelled in SPELLED.items():
        got = dict(paths(name, x))
        shares = share_of_bounds(spelled(var), x, got.values())
        bounds.update(zip((f"{name}, {path}" for path in got), shares, strict=True))
        if name in EXACT:
            table[name] = max(share_of_table(name, x, array) for array in got.values())
    return {"table": table, "bounds": bounds}


if __name__ == "__main__":
    print(json.dumps(measured()))
