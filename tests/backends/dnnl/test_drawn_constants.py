"""Rewrites of the DNNL pipelines, on constants of every shape that broadcasts.

Whatever shape a scale, a bias or a number has: partitioning raises nothing, the result has the type
that the network had, and it computes the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.compat.integrations.dnnl import partition_for_dnnl as partition_as_tvm
from byoc_lab.passes import PassContext, Sequential, named_pipeline
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.typing.infer import infer_expr, infer_module
from byoc_lab.run import evaluate


class Constants:
    """Draws constants: of any shape that broadcasts with another, its own rank or more or less."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw
        self.rng = np.random.default_rng(0)

    def of(self, *values: Any) -> Any:
        return self.draw(st.sampled_from(values))

    def full(self, *shape: int) -> Expr:
        return relay.const(self.rng.uniform(0.5, 1.5, shape).astype(np.float32))

    def beside(self, value: Expr) -> Expr:
        shape = infer_expr(value).checked_type.concrete_shape
        kept = shape[self.draw(st.integers(0, len(shape))) :]
        sizes = [self.of(size, size, 1) for size in kept]
        if len(sizes) == len(shape):
            sizes = self.of(*[[]] * 3, [1], [2], [2, 1]) + sizes
        return self.full(*sizes)

    def number(self, value: float) -> Expr:
        """A number as a constant of one element; sometimes another number."""
        shape = self.of((), (), (), (1,), (1, 1), (1, 1, 1, 1))
        return relay.const(np.full(shape, value * self.of(1, 1, 1, 1, 1.5), np.float32))

    def either(self, function: Callable[[Expr, Expr], Expr], a: Expr, b: Expr) -> Expr:
        return function(a, b) if self.of(True, False) else function(b, a)


def layer_norm(draw: Constants) -> Expr:
    shape = draw.of((2, 3, 4), (3, 4), (2, 1), (1, 1, 4), (4,))
    x = relay.var("x", shape=shape)
    axis = draw.of(-1, -1, len(shape) - 1, 0)
    if draw.of(True, False):
        made = nn.layer_norm(x, draw.full(shape[axis]), draw.full(shape[axis]), axis=axis)
    else:
        mean = relay.mean(x, axis=axis, keepdims=True)
        centred = relay.subtract(x, mean)
        squares = relay.power(centred, draw.number(2.0))
        variance = relay.mean(squares, axis=axis, keepdims=True)
        shifted = relay.add(variance, draw.number(1e-5))
        made = draw.of(
            lambda: relay.divide(centred, relay.sqrt(shifted)),
            lambda: relay.multiply(centred, relay.rsqrt(shifted)),
        )()
    made = draw.either(relay.multiply, made, draw.beside(made))
    return draw.either(relay.add, made, draw.beside(made))


def gelu(draw: Constants, x: Expr) -> Expr:
    error = relay.erf(relay.divide(x, draw.number(2**0.5)))
    product = draw.either(relay.multiply, x, draw.either(relay.add, error, draw.number(1.0)))
    return draw.either(relay.multiply, product, draw.number(0.5))


def dense(draw: Constants) -> Expr:
    x = relay.var("x", shape=(6, 5))
    made = nn.dense(x, draw.full(4, 5), units=draw.of(None, 4))
    if draw.of(True, True, False):
        made = relay.reshape(made, draw.of((2, 3, 4), (1, 6, 4), (24,), (6, 2, 2), (6, 4, 1)))
    made = draw.either(relay.add, made, draw.beside(made))
    if draw.of(True, False):
        made = draw.either(draw.of(relay.add, relay.multiply), made, draw.beside(made))
    return activated(draw, made)


def convolution(draw: Constants) -> Expr:
    axes = draw.of(1, 2, 2, 3)
    layout = draw.of(True, True, True, False) or axes != 2
    x = relay.var("x", shape=(2, 4, *[5] * axes) if layout else (2, 5, 5, 4))
    function = {1: nn.conv1d, 2: nn.conv2d, 3: nn.conv3d}[axes]
    attrs: dict[str, Any] = dict(kernel_size=(1,) * axes, channels=draw.of(None, 4))
    weight = draw.full(4, 4, *[1] * axes)
    if not layout:
        weight, attrs = draw.full(1, 1, 4, 4), {**attrs, "data_layout": "NHWC",
                                               "kernel_layout": "HWIO"}  # fmt: skip
    before = draw.either(relay.multiply, x, draw.beside(x)) if draw.of(True, False) else x
    if infer_expr(before).checked_type != infer_expr(x).checked_type:
        before = x
    made = function(before, weight, **attrs)
    for _ in range(draw.of(1, 2, 3)):
        made = draw.of(
            lambda made=made: draw.either(relay.multiply, made, draw.beside(made)),
            lambda made=made: draw.either(relay.add, made, draw.beside(made)),
            lambda made=made: relay.subtract(made, draw.beside(made)),
            lambda made=made: relay.divide(made, draw.beside(made)),
            lambda made=made: nn.relu(made),
            lambda made=made: nn.bias_add(made, draw.full(4), axis=1 if layout else -1),
        )()
        rank = len(infer_expr(made).checked_type.shape)
        if rank != axes + 2:
            break
    return activated(draw, made)


def activated(draw: Constants, x: Expr) -> Expr:
    return draw.of(
        lambda: x,
        lambda: nn.relu(x),
        lambda: gelu(draw, x),
        lambda: gelu(draw, x),
        lambda: draw.either(relay.multiply, x, relay.sigmoid(x)),
        lambda: relay.multiply(
            x, relay.tanh(relay.log(draw.either(relay.add, relay.exp(x), draw.number(1.0))))
        ),
        lambda: relay.clip(x, 0.0, 6.0),
    )()


@st.composite
def networks(draw: Callable[..., Any]) -> IRModule:
    constants = Constants(draw)
    body = constants.of(layer_norm, dense, dense, convolution, convolution)(constants)
    return infer_module(IRModule.from_expr(body))


def check(mod: IRModule) -> None:
    (x,) = mod["main"].params
    data = np.random.default_rng(1).uniform(-1, 1, x.checked_type.concrete_shape)
    inputs = [data.astype(np.float32)]
    (wanted,) = evaluate(mod, inputs).outputs
    with PassContext(opt_level=3):
        stepwise = Sequential(named_pipeline("dnnl"))(mod)
    for made in (stepwise, dnnl.partition_for_dnnl(mod), partition_as_tvm(mod)):
        typed = infer_module(made)
        assert typed["main"].ret_type == mod["main"].ret_type
        (found,) = evaluate(typed, inputs).outputs
        np.testing.assert_allclose(found, wanted, rtol=2e-4, atol=2e-5)


@settings(max_examples=60)
@given(mod=networks())
def test_a_constant_of_any_shape_changes_neither_type_nor_numbers(mod: IRModule) -> None:
    check(mod)


@pytest.mark.slow
@settings(max_examples=800)
@given(mod=networks())
def test_a_constant_of_any_shape_changes_neither_widely(mod: IRModule) -> None:
    check(mod)
