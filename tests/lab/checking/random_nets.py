"""Random networks with special values, for the search for false alarms."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.typing.infer import infer_module

SPECIAL = np.float32(
    [0, -0.0, 0.5, 1.5, -2.5, 1e-38, -1e-40, 3e38, 88.8, -104, 100, -100, np.inf, -np.inf, np.nan]
)
SHAPE = (2, 4, 6, 6)


def _conv(x: Expr, draw: Any) -> Expr:
    w = relay.const(_values(draw, (4, 4, 3, 3)) / np.float32(6))
    return nn.conv2d(x, w, padding=(1, 1))


def _norm(x: Expr, draw: Any) -> Expr:
    gamma, beta, mean = (relay.const(_values(draw, (4,))) for _ in range(3))
    variance = relay.const(np.abs(_values(draw, (4,))) + np.float32(0.01))
    return nn.batch_norm(x, gamma, beta, mean, variance)[0]


def _dense(x: Expr, draw: Any) -> Expr:
    flat = relay.reshape(x, (8, 36))
    made = nn.dense(flat, relay.const(_values(draw, (36, 36)) / np.float32(6)))
    return relay.reshape(made, SHAPE)


def _steps(x: Expr, draw: Any) -> Expr:
    whole = relay.cast(relay.clip(relay.round(x * relay.const(2.0)), -100, 100), "int32")
    return relay.cast(whole, "float32") * relay.const(0.5)


def _quantized(x: Expr, draw: Any) -> Expr:
    scale, zero = relay.const(np.float32(0.05)), relay.const(3, "int32")
    clipped = relay.clip(x, -100, 100)
    q = relay.qnn.op.quantize(clipped, scale, zero, out_dtype="int8")
    return relay.qnn.op.dequantize(q, scale, zero)


def _requantized(x: Expr, draw: Any) -> Expr:
    """An int8 convolution."""
    q, point = relay.qnn.op, relay.const(3, "int32")
    scale, zero, one = relay.const(np.float32(0.04)), relay.const(0, "int32"), relay.const
    w = relay.const(draw.integers(-60, 61, (4, 4, 3, 3)).astype("int8"))
    data = q.quantize(relay.clip(x, -100, 100), scale, point, out_dtype="int8")
    conv = q.conv2d(data, w, point, zero, scale, one(np.float32(0.02)), (3, 3), 4, padding=(1, 1))
    bias = nn.bias_add(conv, relay.const(draw.integers(-900, 900, 4).astype("int32")))
    mode = str(draw.choice(["UPWARD", "TONEAREST", "TOEVEN"]))
    wide, narrow = one(np.float32(0.04 * 0.02)), one(np.float32(0.3))
    made = q.requantize(bias, wide, zero, narrow, point, rounding=mode, out_dtype="int8")
    return q.dequantize(made, narrow, point)


def _arg(x: Expr, draw: Any) -> Expr:
    """The index of the largest or smallest channel; data are rounded, so that there are ties."""
    name = relay.argmax if draw.random() < 0.5 else relay.argmin
    values = relay.round(x * relay.const(np.float32(4))) if draw.random() < 0.5 else x
    return x + relay.cast(name(values, axis=1, keepdims=True), "float32")


def _masked(x: Expr, draw: Any) -> Expr:
    """Softmax of scores; some are -inf, and one row consists of -inf."""
    mask = draw.random((2, 4, 6, 6)) < 0.3
    mask[0, :, 0, 0] = True
    minus = relay.const(np.float32(-np.inf))
    scores = relay.where(relay.const(mask), minus, x)
    return nn.softmax(scores, axis=1) if draw.random() < 0.7 else nn.log_softmax(scores, axis=1)


def _hard_swish(x: Expr, draw: Any) -> Expr:
    three, six = relay.const(np.float32(3)), relay.const(np.float32(6))
    return x * (relay.clip(x + three, 0.0, 6.0) / six)


def _depthwise(x: Expr, draw: Any) -> Expr:
    w = relay.const(_values(draw, (4, 1, 3, 3)) / np.float32(3))
    conv = nn.conv2d(x, w, padding=(1, 1), groups=4)
    return nn.bias_add(conv, relay.const(_values(draw, (4,)) * np.float32(draw.choice([1, 30]))))


def _transposed(x: Expr, draw: Any) -> Expr:
    w = relay.const(_values(draw, (4, 4, 3, 3)) / np.float32(6))
    return nn.conv2d_transpose(x, w, channels=4, kernel_size=(3, 3), padding=(1, 1))


def _attention(x: Expr, draw: Any) -> Expr:
    rows = relay.reshape(x, (2, 4, 36))
    scores = nn.batch_matmul(rows, rows) * relay.const(np.float32(1 / 6))
    shares = nn.softmax(scores, axis=-1)
    mixed = nn.batch_matmul(shares, relay.transpose(rows, (0, 2, 1)))
    return relay.reshape(mixed, SHAPE)


def _layer_norm(x: Expr, draw: Any) -> Expr:
    gamma, beta = (relay.const(_values(draw, (6,))) for _ in range(2))
    return nn.layer_norm(x, gamma, beta)


OPERATORS: list[Any] = [
    _conv, _conv, _norm, _dense, _steps, _quantized, _requantized, _arg, _masked, _hard_swish,
    _depthwise, _transposed, _attention, _layer_norm,
    lambda x, d: nn.relu(x),
    lambda x, d: nn.leaky_relu(x, 0.1),
    lambda x, d: nn.prelu(x, relay.const(_values(d, (4,)))),
    lambda x, d: relay.clip(x, -1.0, 6.0),
    lambda x, d: relay.sigmoid(x),
    lambda x, d: relay.tanh(x),
    lambda x, d: relay.exp(x),
    lambda x, d: relay.erf(x),
    lambda x, d: x * relay.sigmoid(x),
    lambda x, d: relay.log(relay.abs(x)),
    lambda x, d: relay.sqrt(relay.abs(x)),
    lambda x, d: relay.rsqrt(relay.abs(x) + relay.const(np.float32(1e-3))),
    lambda x, d: relay.divide(x, relay.abs(x) + relay.const(np.float32(0.5))),
    lambda x, d: relay.abs(x),
    lambda x, d: relay.floor(x * relay.const(np.float32(2.5))),
    lambda x, d: relay.cast(relay.cast(relay.clip(x, -1000, 1000), "int8"), "float32"),
    lambda x, d: nn.softmax(x, axis=1),
    lambda x, d: relay.reshape(nn.softmax(relay.reshape(x, (2, 144))), SHAPE),
    lambda x, d: relay.reshape(nn.log_softmax(relay.reshape(x, (2, 144))), SHAPE),
    lambda x, d: nn.bias_add(x, relay.const(_values(d, (4,)))),
    lambda x, d: relay.add(x, relay.const(_values(d, (4, 1, 1)))),
    lambda x, d: relay.multiply(x, relay.const(_values(d, (1,)))),
    lambda x, d: relay.maximum(x, relay.const(np.float32(0.25))),
    lambda x, d: nn.max_pool2d(x, (3, 3), (1, 1), padding=(1, 1)),
    lambda x, d: nn.avg_pool2d(x, (3, 3), (1, 1), padding=(1, 1), count_include_pad=True),
    lambda x, d: nn.avg_pool2d(x, (3, 3), (1, 1), padding=(1, 1)),
    lambda x, d: relay.add(x, nn.global_avg_pool2d(x)),
    lambda x, d: relay.subtract(x, relay.mean(x, axis=[1], keepdims=True)),
    lambda x, d: relay.add(x, relay.sum(x, axis=[2, 3], keepdims=True)),
    lambda x, d: relay.maximum(x, relay.max(x, axis=[3], keepdims=True) * relay.const(0.5)),
    lambda x, d: relay.concatenate(relay.split(x, 2, axis=1).astuple(), axis=1),
    lambda x, d: relay.strided_slice(
        relay.concatenate([nn.relu(x), x], axis=1), [0, 1, 0, 0], [2, 5, 6, 6]),
    lambda x, d: relay.transpose(x, (0, 1, 3, 2)),
    lambda x, d: relay.where(relay.greater(x, relay.const(np.float32(0.5))), x, relay.negative(x)),
]  # fmt: skip


def _values(draw: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
    return draw.standard_normal(shape).astype(np.float32)


def random_net(seed: int) -> tuple[IRModule, list[np.ndarray]]:
    """A module of one to eight operators, some with two operands, and an input for it."""
    draw = np.random.default_rng(seed)
    x = relay.var("x", shape=SHAPE)
    pool: list[Expr] = [x]
    for _ in range(int(draw.integers(1, 9))):
        operand = pool[int(draw.integers(max(0, len(pool) - 3), len(pool)))]
        if draw.random() < 0.2:
            other = pool[int(draw.integers(len(pool)))]
            kind = [relay.add, relay.subtract, relay.multiply, relay.maximum][int(draw.integers(4))]
            pool.append(kind(operand, other))
        else:
            pool.append(OPERATORS[int(draw.integers(len(OPERATORS)))](operand, draw))
    values = _values(draw, SHAPE) * np.float32(draw.choice([1, 0.01, 30]))
    if draw.random() < 0.5:
        places = draw.integers(0, values.size, 6)
        values.reshape(-1)[places] = draw.choice(SPECIAL, 6)
    return infer_module(IRModule.from_expr(Function([x], pool[-1]))), [values]
