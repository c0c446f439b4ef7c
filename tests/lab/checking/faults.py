"""Faults that tests plant in modules: each replaces one call of a function by another expression.

Each also returns the calls that a correct diagnosis may name.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from byoc_lab import relay
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.ir.expr import Call, Constant, Expr
from byoc_lab.relay.ir.visit import post_order, rebuild

Fault = Callable[[Call], "Expr | None"]


def _with(call: Call, *args: Expr | None, **attrs: object) -> Call:
    new = [a if a is not None else old for a, old in zip(args, call.args, strict=False)]
    given = [*new, *call.args[len(new) :]]
    return Call(call.op, given, call.attrs.replace(**attrs) if attrs else call.attrs)


def array(expr: Expr) -> np.ndarray:
    assert isinstance(expr, Constant)
    return expr.data.numpy().copy()


def weights(change: Callable[[np.ndarray], np.ndarray], *names: str, argument: int = 1) -> Fault:
    """A fault in the argument with this index, a constant, of the operators in `names`."""

    def fault(call: Call) -> Expr | None:
        if not any(call.is_op(n) for n in names) or not isinstance(call.args[argument], Constant):
            return None
        old = array(call.args[argument])
        new = np.array(change(old.copy()), old.dtype, order="C")
        if new.shape != old.shape or np.array_equal(new, old, equal_nan=True):
            return None
        return _with(call, *[None] * argument, relay.const(new))

    return fault


def attrs(name: str, **changed: object) -> Fault:
    def fault(call: Call) -> Expr | None:
        if not call.is_op(name) or all(getattr(call.attrs, n) == v for n, v in changed.items()):
            return None
        return _with(call, **changed)

    return fault


def instead(name: str, make: Callable[[Call], Expr | None]) -> Fault:
    return lambda call: make(call) if call.is_op(name) else None


def one_element(change: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    def fault(w: np.ndarray) -> np.ndarray:
        line = w.reshape(-1)
        largest = int(np.argmax(np.abs(line.astype(float))))
        line[largest] = change(line[largest])
        return w

    return fault


def _padding(call: Call) -> Expr | None:
    top, left, bottom, right = (int(p) for p in call.attrs.padding)
    if (top, left) != (bottom, right):
        return _with(call, padding=(bottom, right, top, left))
    strides = [int(s) for s in call.attrs.strides]
    if top < 1 or (strides == [1, 1] and top != 1):
        return None
    return _with(call, padding=(top - 1, left - 1, bottom + 1, right + 1))


def _relu_before_add(call: Call) -> Expr | None:
    inner = call.args[0]
    if not isinstance(inner, Call) or not (inner.is_op("add") or inner.is_op("nn.bias_add")):
        return None
    return _with(inner, nn.relu(inner.args[0]))


def _swapped(call: Call) -> Expr | None:
    return Call(call.op, [call.args[1], call.args[0]], call.attrs)


def _swapped_tuple(call: Call) -> Expr | None:
    fields = list(call.args[0].fields)
    return Call(call.op, [relay.Tuple(fields[::-1])], call.attrs)


def _slice(call: Call) -> Expr | None:
    begin = [int(v) for v in call.attrs.begin]
    end = [int(v) for v in call.attrs.end]
    return _with(
        call, begin=[begin[0], begin[1] + 1, *begin[2:]], end=[end[0], end[1] + 1, *end[2:]]
    )


def _transposed(w: np.ndarray) -> np.ndarray:
    return w.swapaxes(-1, -2)


def _lost(call: Call) -> Expr | None:
    return call.args[0]


def _scaled(argument: int, times: float) -> Fault:
    def change(call: Call) -> Expr | None:
        old = array(call.args[argument])
        return _with(call, *[None] * argument, relay.const((old * times).astype(old.dtype)))

    return change  # type: ignore[return-value]


def _shifted(argument: int) -> Callable[[Call], Expr | None]:
    def change(call: Call) -> Expr | None:
        return _with(
            call, *[None] * argument, relay.const(array(call.args[argument]) + np.int32(1))
        )

    return change


def _nan(w: np.ndarray) -> np.ndarray:
    if w.dtype.kind == "f":
        w.reshape(-1)[0] = np.nan
    return w


def _max_to_avg(call: Call) -> Expr:
    a = call.attrs
    return nn.avg_pool2d(call.args[0], a.pool_size, a.strides, padding=a.padding)


CONV = "nn.conv2d"
LAYERS = (CONV, "nn.dense")
FAULTS: dict[str, Fault] = {
    "epsilon 1e-5 to 1e-3": attrs("nn.batch_norm", epsilon=1e-3),
    "epsilon 1e-5 to 2e-5": attrs("nn.batch_norm", epsilon=4e-5),
    "batch norm without scale": attrs("nn.batch_norm", scale=False),
    "batch norm without center": attrs("nn.batch_norm", center=False),
    "batch norm swaps gamma and beta": instead(
        "nn.batch_norm", lambda c: _with(c, None, c.args[2], c.args[1])
    ),
    "batch norm swaps mean and variance": instead(
        "nn.batch_norm", lambda c: _with(c, None, None, None, c.args[4], c.args[3])
    ),
    "dropped bias": instead("nn.bias_add", _lost),
    "bias of another layer": weights(lambda b: b[::-1] + 0.5, "nn.bias_add"),
    "bias rolled": weights(lambda b: np.roll(b, 1), "nn.bias_add"),
    "NaN in a bias": weights(_nan, "nn.bias_add"),
    "stale constant": weights(lambda w: w * np.float32(1.5), "multiply"),
    "one weight zeroed": weights(one_element(lambda v: v * 0), *LAYERS),
    "one weight +1 %": weights(one_element(lambda v: v * np.float32(1.01)), *LAYERS),
    "one weight negated": weights(one_element(lambda v: -v), *LAYERS),
    "weights flipped": weights(lambda w: w[..., ::-1], *LAYERS),
    "weights transposed": weights(_transposed, CONV),
    "weights rolled": weights(lambda w: np.roll(w, 1, axis=0), *LAYERS),
    "weights of two inputs swapped": weights(lambda w: np.roll(w, 1, axis=1), *LAYERS),
    "weights in float16": weights(lambda w: w.astype(np.float16).astype(np.float32), *LAYERS),
    "wrong padding side": instead(CONV, _padding),
    "relu before add": instead("nn.relu", _relu_before_add),
    "relu to leaky relu": instead("nn.relu", lambda c: nn.leaky_relu(c.args[0], 0.01)),
    "dropped relu": instead("nn.relu", _lost),
    "relu of the negative": instead(
        "nn.relu", lambda c: relay.negative(nn.relu(relay.negative(c.args[0])))
    ),
    "clip 6 to 5.9": attrs("clip", a_max=5.9),
    "clip 0 to 0.1": attrs("clip", a_min=0.1),
    "leaky slope 0.1 to 0.11": attrs("nn.leaky_relu", alpha=0.11),
    "swapped operands": instead("subtract", _swapped),
    "swapped fields": instead("concatenate", _swapped_tuple),
    "slice off by one": instead("strided_slice", _slice),
    "max pooling to average": instead("nn.max_pool2d", _max_to_avg),
    "softmax to log softmax": instead("nn.softmax", lambda c: nn.log_softmax(c.args[0])),
    "add to subtract": instead("add", lambda c: relay.subtract(*c.args)),
    "lost cast": instead("qnn.quantize", lambda c: relay.cast(relay.clip(relay.floor(
        c.args[0] / relay.const(0.03) + relay.const(3.0)), -128, 127), "int8")),
    "quantize zero point +1": instead("qnn.quantize", _shifted(2)),
    "conv zero point +1": instead("qnn.conv2d", _shifted(2)),
    "requantize zero point +1": instead("qnn.requantize", _shifted(4)),
    "dequantize zero point +1": instead("qnn.dequantize", _shifted(2)),
    "quantize scale times 1.05": instead("qnn.quantize", _scaled(1, 1.05)),
    "requantize scale times 1.05": instead("qnn.requantize", _scaled(1, 1.05)),
    "dequantize scale times 1.05": instead("qnn.dequantize", _scaled(1, 1.05)),
    "requantize rounding mode": attrs("qnn.requantize", rounding="TONEAREST"),
    "int8 weight +1": weights(one_element(lambda v: v - 1), "qnn.conv2d"),
    "int8 weights flipped": weights(lambda w: w[::-1], "qnn.conv2d"),
    "int32 bias dropped": instead(
        "nn.bias_add", lambda c: _lost(c) if c.checked_type.dtype == "int32" else None
    ),
}  # fmt: skip


def places(mod: IRModule, fault: Fault) -> list[Call]:
    """The calls in which the fault can be planted."""
    calls = (n for n in post_order(mod["main"]) if isinstance(n, Call))
    return [c for c in calls if fault(c) is not None]


def planted(fault: Fault, number: int) -> Callable[[IRModule], IRModule]:
    """A pass that plants a fault in the `number`-th of the calls that the fault can change."""

    def faulty_pass(mod: IRModule) -> IRModule:
        count = -1

        def step(pre: Expr, post: Expr) -> Expr:
            nonlocal count
            # Types after the changed call are inferred again.
            new = fault(post) if isinstance(pre, Call) and count < number else None
            if new is not None:
                count += 1
            return new if new is not None and count == number else post

        out = mod.copy()
        out["main"] = rebuild(mod["main"], step)
        return out

    return faulty_pass
