"""Networks of a few random operators with random attributes. DNNL has to refuse many of them."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.errors import ByocLabError
from byoc_lab.relay import nn
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.relay.typing.infer import infer_expr
from tests.backends.dnnl.kernels.draws import DTYPES

INF, NAN = math.inf, math.nan
NUMBERS = (-INF, -1e39, -3e38, -1.5, -1.0, 0.0, 1e-46, 0.5, 1.0, 6.0, 127.0, 3e38, 1e39, INF, NAN)
FLOATS = ("float32", "float32", "float32", "bfloat16", "float16", "float64")
INTEGERS = ("int8", "uint8", "int32", "int64", "bool")
DATA_LAYOUTS = {1: ("NCW", "NWC"), 2: ("NCHW", "NHWC", "NCHW4c"), 3: ("NCDHW", "NDHWC")}
WEIGHT_LAYOUTS = {1: ("OIW", "WIO"), 2: ("OIHW", "HWIO", "OHWI"), 3: ("OIDHW", "DHWIO")}


class Network:
    """An expression, extended by one drawn operator at a time."""

    def __init__(self, draw: Callable[..., Any]) -> None:
        self.draw = draw
        self.rng = np.random.default_rng(self.int(0, 2**32 - 1))
        self.count = 0
        self.past: list[Expr] = []

    def int(self, low: int, high: int) -> int:
        return self.draw(st.integers(low, high))

    def of(self, *values: Any) -> Any:
        return self.draw(st.sampled_from(values))

    def ints(self, count: int, low: int, high: int) -> tuple[int, ...]:
        return tuple(self.int(low, high) for _ in range(count))

    def number(self) -> float:
        return self.of(*NUMBERS)

    def shape(self) -> tuple[int, ...]:
        return self.ints(self.of(0, 1, 2, 3, 4, 4, 4, 5, 6, 7), *self.of((1, 5), (1, 5), (0, 3)))

    def tensor(self, shape: tuple[int, ...], dtype: str) -> Expr:
        """A new parameter or a new constant."""
        if self.of(True, False):
            self.count += 1
            return relay.var(f"p{self.count}", shape=shape, dtype=dtype)
        return self.constant(shape, dtype)

    def constant(self, shape: tuple[int, ...], dtype: str) -> Expr:
        element = DTYPES.get(dtype) or np.dtype(dtype)
        return relay.const(np.asarray(self.rng.standard_normal(shape) * 4).astype(element), dtype)

    def earlier(self, shape: tuple[int, ...], dtype: str) -> list[Expr]:
        """The earlier values of this shape and dtype, for a residual sum."""
        types = [infer_expr(e).checked_type for e in self.past]
        return [
            e for e, t in zip(self.past, types, strict=True)
            if (t.concrete_shape, t.dtype) == (shape, dtype)
        ]  # fmt: skip

    def beside(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """A shape that broadcasts with the given shape."""
        kept = shape[self.int(0, len(shape)) :]
        return tuple(self.of(size, size, 1) for size in kept)


def convolved(net: Network, x: Expr, shape: tuple[int, ...], dtype: str) -> Expr:
    axes = len(shape) - 2
    groups = net.of(1, 1, 1, 2, shape[1] or 1)
    transposed = net.of(False, False, True)
    out, into = net.of(1, 3, 4, 6), max(shape[1] // groups, 1)
    taps = net.ints(axes, 1, 3)
    weight = (shape[1], out, *taps) if transposed else (out, into, *taps)
    attrs = dict(strides=net.ints(axes, 1, 2), padding=net.ints(net.of(axes, 2 * axes), -1, 3),
                 dilation=net.ints(axes, 1, 2), groups=groups, kernel_size=taps)  # fmt: skip
    if net.of(True, False):
        attrs["channels"] = out * (groups if transposed else 1)
    if transposed:
        attrs["output_padding"] = net.ints(axes, 0, 1)
    else:
        attrs["out_dtype"] = net.of("", "", "float32")
    attrs["data_layout"] = net.of(*DATA_LAYOUTS[axes][:1] * 3, *DATA_LAYOUTS[axes])
    if net.of(False, False, False, True):
        attrs["kernel_layout"] = net.of(*WEIGHT_LAYOUTS[axes])
    function = getattr(nn, f"conv{axes}d{'_transpose' if transposed else ''}")
    return function(x, net.tensor(weight, dtype), **attrs)


def pooled(net: Network, x: Expr, shape: tuple[int, ...], dtype: str) -> Expr:
    axes = len(shape) - 2
    if axes == 2 and net.of(False, False, True):
        return net.of(nn.global_avg_pool2d, nn.global_max_pool2d)(x)
    kind = net.of("max", "avg")
    attrs = dict(pool_size=net.ints(axes, 1, 3), strides=net.ints(axes, 1, 2),
                 padding=net.ints(net.of(axes, 2 * axes), -1, 2), dilation=net.ints(axes, 1, 2),
                 ceil_mode=net.of(False, False, True))  # fmt: skip
    attrs["layout"] = net.of(*DATA_LAYOUTS[axes])
    if kind == "avg":
        attrs["count_include_pad"] = net.of(True, False)
    return getattr(nn, f"{kind}_pool{axes}d")(x, **attrs)


def multiplied(net: Network, x: Expr, shape: tuple[int, ...], dtype: str) -> Expr:
    if len(shape) == 3:
        batch, turned = net.of(shape[0], 1), net.of(True, False)
        second = (batch, 4, shape[2]) if turned else (batch, shape[2], 4)
        return nn.batch_matmul(x, net.tensor(second, dtype), transpose_a=False, transpose_b=turned)
    return nn.dense(x, net.tensor((4, shape[-1]), dtype), units=net.of(4, None))


def normalised(net: Network, x: Expr, shape: tuple[int, ...], dtype: str) -> Expr:
    axis = net.int(-len(shape), len(shape) - 1)
    vectors = [net.tensor((shape[axis],), dtype) for _ in range(4)]
    attrs = dict(axis=axis, epsilon=net.of(1e-5, 0.5, -1.0, *NUMBERS), center=net.of(True, False),
                 scale=net.of(True, True, False))  # fmt: skip
    if net.of(True, False):
        return nn.layer_norm(x, *vectors[:2], **attrs)
    return nn.batch_norm(x, *vectors, **attrs)[0]


def softened(net: Network, x: Expr, shape: tuple[int, ...], dtype: str) -> Expr:
    return net.of(nn.softmax, nn.log_softmax)(x, axis=net.int(-len(shape), len(shape) - 1))


def biased(net: Network, x: Expr, shape: tuple[int, ...], dtype: str) -> Expr:
    axis = net.int(-len(shape), len(shape) - 1)
    return nn.bias_add(x, net.tensor((shape[axis],), dtype), axis=axis)


def paired(net: Network, x: Expr, shape: tuple[int, ...], dtype: str) -> Expr:
    function = net.of(relay.add, relay.add, relay.multiply, relay.subtract, relay.divide,
                      relay.maximum, relay.minimum)  # fmt: skip
    kept = [x, *net.earlier(shape, dtype)]
    other = net.of(*kept) if net.of(*[False] * 5, True) else net.tensor(net.beside(shape), dtype)
    return function(other, x) if net.of(True, False) else function(x, other)


def activated(net: Network, x: Expr, shape: tuple[int, ...], dtype: str) -> Expr:
    def number(value: float) -> Expr:
        return relay.const(value, dtype)

    return net.of(
        lambda: nn.relu(x),
        lambda: nn.leaky_relu(x, alpha=net.number()),
        lambda: relay.clip(x, a_min=net.number(), a_max=net.number()),
        lambda: relay.clip(x, a_min=net.of(0.0, -1.5, -INF), a_max=net.of(INF, 6.0)),
        lambda: net.of(relay.tanh, relay.sigmoid, relay.abs, relay.exp, relay.log, relay.sqrt,
                       relay.round, relay.erf)(x),
        lambda: x * (relay.erf(x / number(2**0.5)) + number(1.0)) * number(net.of(0.5, 0.25)),
        lambda: x * relay.sigmoid(x),
        lambda: x * relay.tanh(relay.log(relay.exp(x) + number(1.0))),
    )()  # fmt: skip


def moved(net: Network, x: Expr, shape: tuple[int, ...], dtype: str) -> Expr:
    size, order = math.prod(shape), tuple(net.draw(st.permutations(range(len(shape)))))
    return net.of(
        lambda: relay.transpose(x, axes=net.of(None, order)),
        lambda: relay.reshape(x, newshape=net.of((size,), (1, size), shape[::-1], (-1,))),
        lambda: relay.expand_dims(x, axis=0),
        lambda: nn.batch_flatten(x),
        lambda: relay.concatenate([x, x], axis=net.int(-len(shape), len(shape) - 1)),
    )()  # fmt: skip


def quantized(net: Network, x: Expr, shape: tuple[int, ...], dtype: str) -> Expr:
    """A product of integers, followed by some operators that may follow it."""
    real = dtype in ("float32", "float16", "float64", "bfloat16")

    def scale(count: int = 0) -> Expr:
        values = np.abs(net.rng.standard_normal((count,) if count else ())) + 0.1
        return relay.const(np.float32(net.of(1.0, 1.0, *NUMBERS)) * values.astype(np.float32))

    def zero() -> Expr:
        return relay.const(np.int32(net.of(0, 0, 0, 3, -7)))

    if real:
        return qnn.quantize(x, scale(), zero(), out_dtype=net.of("uint8", "int8", "int32"),
                            rounding=net.of("TONEAREST", "TOEVEN"))  # fmt: skip
    if len(shape) == 4 and dtype != "int32":
        weight = net.constant((4, shape[1], 2, 2), net.of("int8", "int8", "uint8"))
        x = qnn.conv2d(x, weight, zero(), zero(), scale(), scale(), kernel_size=(2, 2), channels=4,
                       padding=net.ints(2, 0, 1))  # fmt: skip
    elif len(shape) == 2 and dtype != "int32":
        weight = net.constant((4, shape[1]), "int8")
        x = qnn.dense(x, weight, zero(), zero(), scale(), scale(), units=4)
    if net.of(True, False):
        along = net.of((4, 1, 1), (1, 4, 1, 1), (4,), (1, 1), (), (4, 4))
        x = net.of(
            relay.add(x, net.tensor(along, "int32")), nn.bias_add(x, net.tensor((4,), "int32"))
        )
    if net.of(True, True, False):
        axis = net.of(1, -1, 0)
        x = qnn.requantize(x, scale(net.of(0, 4)), zero(), scale(), zero(), axis=axis,
                           rounding=net.of("None", "UPWARD", "TONEAREST", "TOEVEN"),
                           compute_dtype=net.of("None", "int64", "int64", "float32"),
                           out_dtype=net.of("int8", "uint8", "int32"))  # fmt: skip
    if net.of(True, False):
        x = relay.clip(x, a_min=net.of(0, -1000, 0.5, -INF), a_max=net.of(100, 1e12, 7.5, INF, NAN))
    if net.of(True, False):
        x = relay.cast(x, net.of("int8", "uint8", "int32", "float32"))
    if net.of(False, False, True):
        x = qnn.add(x, x, scale(), zero(), scale(), zero(), scale(), zero())
    if net.of(False, True):
        x = qnn.dequantize(x, scale(), zero())
    return x


STEPS = (convolved, convolved, pooled, multiplied, normalised, softened, biased, paired, paired,
         activated, activated, activated, moved)  # fmt: skip


@st.composite
def networks(draw: Callable[..., Any]) -> Function:
    """A typed function; operators whose attributes do not fit their operands are skipped."""
    net = Network(draw)
    quantizing = net.of(False, False, True)
    dtype = net.of("int8", "uint8", "int8", "float32") if quantizing else net.of(*FLOATS, *INTEGERS)
    shape = net.of((1, 4, 5, 5), (2, 6)) if quantizing else net.shape()
    body: Expr = relay.var("x", shape=shape, dtype=dtype)
    for step in [quantized] * 2 if quantizing else [net.of(*STEPS) for _ in range(net.int(1, 4))]:
        ty = infer_expr(body).checked_type
        try:
            longer = step(net, body, ty.concrete_shape, ty.dtype)
            infer_expr(longer)
        except (ByocLabError, ValueError, TypeError, IndexError, KeyError, ZeroDivisionError,
                AttributeError, OverflowError):  # fmt: skip
            continue
        net.past.append(body)
        body = longer
    made = infer_expr(Function(free_vars(body), body))
    assert isinstance(made, Function)
    return made
