"""One step of an optimizer: new parameters from gradients."""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab import relay
from byoc_lab.importers.onnx.converters import converts
from byoc_lab.importers.onnx.node import Node
from byoc_lab.relay.ir.expr import Expr

DOMAIN = "ai.onnx.preview.training"


def _groups(node: Node, kinds: int) -> list[tuple[Expr, ...]]:
    """(parameter, gradient, states...) for each parameter; the inputs are grouped by kind."""
    count = (len(node.inputs) - 2) // kinds
    if len(node.inputs) != 2 + count * kinds:
        node.fail(f"{len(node.inputs)} inputs are not a rate, a time and {kinds} of each parameter")
    return [tuple(node[2 + kind * count + i] for kind in range(kinds)) for i in range(count)]


def _results(rows: Sequence[tuple[Expr, ...]]) -> tuple[Expr, ...]:
    return tuple(x for kind in zip(*rows, strict=True) for x in kind)


def _number(node: Node, name: str, default: float = 0.0) -> float:
    return float(node.attr(name, default))


def _scaled(node: Node, x: Expr, factor: float) -> Expr:
    return x * relay.const(factor, node.dtype(x))


def _gradient(node: Node, x: Expr, gradient: Expr) -> Expr:
    """The gradient plus the gradient of the regularization term."""
    return _scaled(node, x, _number(node, "norm_coefficient")) + gradient


def _time(node: Node) -> Expr:
    return relay.cast(node[1], node.dtype(node[0]))


@converts("Adagrad", domain=DOMAIN)
def adagrad(node: Node) -> tuple[Expr, ...]:
    one = relay.const(1.0, node.dtype(node[0]))
    rate = node[0] / (one + _scaled(node, _time(node), _number(node, "decay_factor")))
    rows = []
    for x, gradient, squares in _groups(node, 3):
        gradient = _gradient(node, x, gradient)
        squares = squares + gradient * gradient
        least = relay.const(_number(node, "epsilon", 1e-6), node.dtype(x))
        rows.append((x - rate * gradient / (relay.sqrt(squares) + least), squares))
    return _results(rows)


@converts("Momentum", domain=DOMAIN)
def momentum(node: Node) -> tuple[Expr, ...]:
    """With mode "nesterov", the gradient is taken at the position after the momentum step."""
    dtype = node.dtype(node[0])
    first = relay.equal(node[1], relay.const(0, node.dtype(node[1])))
    beta = relay.const(_number(node, "beta"), dtype)
    share = relay.where(first, relay.const(1.0, dtype), beta)
    alpha = _number(node, "alpha")
    rows = []
    for x, gradient, moving in _groups(node, 3):
        gradient = _gradient(node, x, gradient)
        moving = _scaled(node, moving, alpha) + share * gradient
        step = gradient + _scaled(node, moving, alpha)
        rows.append((x - node[0] * (step if node.attr("mode") == "nesterov" else moving), moving))
    return _results(rows)


@converts("Adam", domain=DOMAIN)
def adam(node: Node) -> tuple[Expr, ...]:
    dtype, time = node.dtype(node[0]), _time(node)
    alpha, beta = _number(node, "alpha", 0.9), _number(node, "beta", 0.999)
    one = relay.const(1.0, dtype)
    bias = relay.sqrt(one - relay.power(relay.const(beta, dtype), time))
    bias = bias / (one - relay.power(relay.const(alpha, dtype), time))
    later = relay.greater(time, relay.const(0.0, dtype))
    rate = node[0] * relay.where(later, bias, one)
    rows = []
    for x, gradient, mean, squares in _groups(node, 4):
        gradient = _gradient(node, x, gradient)
        mean = _scaled(node, mean, alpha) + _scaled(node, gradient, 1 - alpha)
        squares = _scaled(node, squares, beta) + _scaled(node, gradient * gradient, 1 - beta)
        least = relay.const(_number(node, "epsilon", 1e-6), dtype)
        moved = x - rate * mean / (relay.sqrt(squares) + least)
        kept = 1 - _number(node, "norm_coefficient_post")
        rows.append((_scaled(node, moved, kept), mean, squares))
    return _results(rows)
