"""Networks for ToMixedPrecision with operators of different categories."""

from __future__ import annotations

from typing import Any


def network(tvm: Any, relay: Any, np: Any) -> Any:
    """conv2d, batch_norm, relu, a sum over positions, dense, softmax."""
    x = relay.var("x", shape=(1, 3, 8, 8))
    conv = relay.nn.conv2d(x, relay.var("w", shape=(4, 3, 3, 3)), padding=(1, 1), channels=4,
                           kernel_size=(3, 3))  # fmt: skip
    vectors = [relay.var(name, shape=(4,)) for name in ("gamma", "beta", "mean", "variance")]
    body = relay.nn.relu(relay.nn.batch_norm(conv, *vectors)[0])
    pooled = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(body))
    scores = relay.nn.dense(pooled, relay.const(np.ones((5, 4), "float32")))
    scores = relay.nn.bias_add(scores, relay.var("bias", shape=(5,)))
    return _module(tvm, relay, relay.nn.softmax(scores))


def tuples(tvm: Any, relay: Any, np: Any) -> Any:
    """A cast used several times is shared; tuples are cast by field; integers stay."""
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(4, 4))
    product = relay.nn.dense(x, w)
    parts = relay.split(product, 2, axis=1)
    joined = relay.concatenate([parts[1], relay.exp(parts[0]), parts[0]], axis=1)
    index = relay.argmax(product, axis=1)
    both = relay.add(product, relay.exp(product))
    fields = [joined, index, both, relay.nn.dense(both, relay.zeros((3, 4), "float32")), product]
    return _module(tvm, relay, relay.Tuple(fields))


def bound(tvm: Any, relay: Any, np: Any) -> Any:
    """A let of a narrow value, a function called in place, an operator without a category."""
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(4, 4))
    v = relay.var("v", shape=(2, 4), dtype="float32")
    p = relay.var("p", shape=(2, 4))
    ones = relay.const(np.ones((4, 4), "float32"))
    inner = relay.Function([p], relay.nn.dense(relay.nn.relu(p), ones))
    body = relay.abs(relay.Call(inner, [relay.nn.relu(v)]))
    return _module(tvm, relay, relay.Let(v, relay.nn.dense(x, w), relay.nn.relu(body)))


def clipped(tvm: Any, relay: Any, np: Any) -> Any:
    """float16 cannot represent 65505."""
    x = relay.var("x", shape=(4,))
    limits = ((-65504.0, 65504.0), (-65505.0, 0.0), (0.0, 65505.0))
    return _module(tvm, relay, relay.Tuple([relay.clip(x / x, *pair) for pair in limits]))


def _module(tvm: Any, relay: Any, body: Any) -> Any:
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


NAMES = ("network", "tuples", "bound", "clipped")
