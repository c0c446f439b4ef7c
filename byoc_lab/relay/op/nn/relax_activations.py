"""Activations of Relax that Relay writes as several operators."""

from __future__ import annotations

from functools import partial
from math import pi, sqrt

from byoc_lab.relay.ir.expr import Expr, const
from byoc_lab.relay.op.framework.from_relax import RelaxCall, reads, relay_call


@reads("square")
def square(call: RelaxCall, x: Expr) -> Expr:
    return relay_call("multiply", x, x)


@reads("nn.silu")
def silu(call: RelaxCall, x: Expr) -> Expr:
    return relay_call("multiply", x, relay_call("sigmoid", x))


@reads("nn.gelu")
def gelu(call: RelaxCall, x: Expr) -> Expr:
    """x * Phi(x), in the form that TVM's other importers write and patterns of back ends match."""
    of = partial(_scalar, call)
    error = relay_call("erf", relay_call("divide", x, of(sqrt(2.0))))
    product = relay_call("multiply", x, relay_call("add", error, of(1.0)))
    return relay_call("multiply", product, of(0.5))


@reads("nn.gelu_tanh")
def gelu_tanh(call: RelaxCall, x: Expr) -> Expr:
    """x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))), Hendrycks and Gimpel's form."""
    of = partial(_scalar, call)
    cube = relay_call("multiply", relay_call("multiply", x, x), x)
    inner = relay_call("add", x, relay_call("multiply", cube, of(0.044715)))
    bent = relay_call("tanh", relay_call("multiply", inner, of(sqrt(2.0 / pi))))
    half = relay_call("multiply", x, of(0.5))
    return relay_call("multiply", half, relay_call("add", bent, of(1.0)))


def _scalar(call: RelaxCall, value: float) -> Expr:
    return const(value, call.dtype or "float32")
