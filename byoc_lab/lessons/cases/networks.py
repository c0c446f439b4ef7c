"""Small networks that several cases start from."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay.ir.expr import Constant, Expr
from byoc_lab.relay.ir.module import IRModule

CHANNELS = 8
SIZE = 16


def image(channels: int = CHANNELS) -> Expr:
    """The variable %data with shape (1, channels, SIZE, SIZE)."""
    return relay.var("data", shape=(1, channels, SIZE, SIZE))


def numbers(*shape: int, seed: int = 0) -> Constant:
    """A float32 constant of numbers from 0.5 to 1.5, the same in every run."""
    random = np.random.RandomState(seed + 7 * len(shape))
    return relay.const(random.uniform(0.5, 1.5, shape).astype("float32"))


def conv(data: Expr, weight: Expr | None = None, inputs: int = CHANNELS, size: int = 3) -> Expr:
    """A convolution that keeps the height and width, to CHANNELS channels."""
    return relay.nn.conv2d(
        data,
        weight if weight is not None else numbers(CHANNELS, inputs, size, size),
        channels=CHANNELS,
        kernel_size=(size, size),
        padding=(size // 2, size // 2),
    )


def batch_norm(data: Expr) -> Expr:
    """A batch norm with constant statistics; its first result."""
    return relay.nn.batch_norm(data, *(numbers(CHANNELS, seed=n) for n in range(4)))[0]


def typed(body: Expr) -> IRModule:
    """A typed module with one function, whose parameters are the free variables of `body`."""
    return InferType()(IRModule.from_expr(body))
