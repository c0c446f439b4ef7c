"""Operators that read one value, and the operators after each of them."""

from __future__ import annotations

from .lowering import _module


def _v(relay, name, *shape):
    return relay.var(name, shape=shape)


def _conv(relay, x, name, *shape, **options):
    layout = options.get("kernel_layout", "OIHW")
    sizes = dict(zip(layout, shape, strict=True))
    size = sizes["H"], sizes["W"]
    weight = _v(relay, name, *shape)
    return relay.nn.conv2d(x, weight, channels=sizes["O"], kernel_size=size, **options)


def convolutions(tvm, relay, np):
    """Convolutions on one image."""
    x, relu, both = _v(relay, "x", 1, 4, 8, 8), relay.nn.relu, lambda *f: relay.Tuple(list(f))
    a = _conv(relay, x, "w1", 2, 4, 3, 3, padding=(1, 1))
    b = _conv(relay, x, "w2", 3, 4, 3, 3, padding=(1, 1))
    c, d = _conv(relay, x, "w3", 4, 4, 1, 1), _conv(relay, x, "w4", 5, 4, 1, 1)

    def vector(name, length):
        return _v(relay, name, length, 1, 1)

    def chain(y, n, length):
        scaled = relay.multiply(y, vector(f"s{n}", length))
        return relu(relay.add(scaled, vector(f"b{n}", length)))

    inner = _conv(relay, relu(a), "v1", 2, 2, 3, 3), _conv(relay, relu(a), "v2", 3, 2, 3, 3)
    block = relay.concatenate([relu(a), relu(b)], 1)
    behind = _conv(relay, block, "u1", 2, 5, 3, 3), _conv(relay, block, "u2", 3, 5, 3, 3)
    last = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    y = _v(relay, "y", 1, 8, 8, 4)
    in_last = _conv(relay, y, "w1", 3, 3, 4, 2, **last), _conv(relay, y, "w2", 3, 3, 4, 3, **last)
    shared = relu(a)
    nested = _conv(relay, shared, "v1", 2, 2, 3, 3), _conv(relay, shared, "v2", 3, 2, 3, 3)
    grouped = [_conv(relay, x, f"w{n}", 4, 2, 3, 3, groups=2) for n in (1, 2)]
    calls = {
        "two_groups": both(a, b, c, d),
        "chains": both(chain(a, 1, 2), chain(b, 2, 3)),
        "scalars": both(relay.multiply(a, _v(relay, "k1")), relay.multiply(b, _v(relay, "k2"))),
        "ones": both(relay.add(a, vector("k1", 1)), relay.add(b, vector("k2", 1))),
        "apart": both(
            relay.tanh(relay.add(a, vector("b1", 2))), relu(relay.add(b, vector("b2", 3)))
        ),
        "bias": both(
            relay.nn.bias_add(a, _v(relay, "b1", 2)), relay.nn.bias_add(b, _v(relay, "b2", 3))
        ),
        "joined": relay.concatenate([relu(a), relu(b)], 1),
        "reused": both(relu(a), a, relu(b)),
        "grouped": both(*grouped),
        "last": both(
            relay.add(in_last[0], _v(relay, "b1", 2)), relay.add(in_last[1], _v(relay, "b2", 3))
        ),
        "apart_inside": both(relu(b), *inner),
        "nested": both(relu(b), *nested),
        "second": both(relay.subtract(vector("c1", 2), a), relay.subtract(vector("c2", 3), b)),
        "either": both(relay.subtract(vector("c1", 2), a), relay.subtract(b, vector("c2", 3))),
        "blocks": relay.concatenate(list(behind), 1),
    }
    return _module(tvm, relay, calls)


def dense(tvm, relay, np):
    """Dense layers on one matrix.

    (TVM refuses scalars and nn.bias_add after combined ones.)
    """
    x, relu, add = _v(relay, "x", 3, 4), relay.nn.relu, relay.add
    a, b, c = (
        relay.nn.dense(x, _v(relay, f"w{n}", units, 4), units=units)
        for n, units in enumerate((5, 5, 6))
    )
    calls = {
        "plain": relay.Tuple([a, b, c]),
        "bias": relay.Tuple([relu(add(a, _v(relay, "p", 5))), relu(add(b, _v(relay, "q", 5)))]),
        "whole": relay.Tuple([add(a, _v(relay, "p", 3, 5)), add(b, _v(relay, "q", 3, 5))]),
        "one": relay.Tuple([add(a, _v(relay, "p", 1)), add(b, _v(relay, "q", 1))]),
        "column": relay.Tuple([add(a, _v(relay, "p", 3, 1)), add(b, _v(relay, "q", 3, 1))]),
        "widths": relay.Tuple([add(a, _v(relay, "p", 5)), add(c, _v(relay, "q", 6))]),
    }
    return _module(tvm, relay, calls)


def joined_dense(tvm, relay, np):
    """Dense layers followed by operators that can be combined with only one of them."""
    x = _v(relay, "x", 3, 4)
    a, b = (relay.nn.dense(x, _v(relay, f"w{n}", 5, 4), units=5) for n in (1, 2))
    scaled = [relay.multiply(y, relay.const(s)) for y, s in ((a, 2.0), (b, 3.0))]
    arguments = [relay.multiply(y, _v(relay, name)) for y, name in ((a, "p"), (b, "q"))]
    biased = [relay.nn.bias_add(y, _v(relay, name, 5)) for y, name in ((a, "p"), (b, "q"))]
    calls = {"constants": scaled, "arguments": arguments, "bias_add": biased}
    return _module(tvm, relay, {name: relay.Tuple(found) for name, found in calls.items()})


def moved_dense(tvm, relay, np):
    """Dense layers followed by operators that move the units from the last axis."""
    x, relu = _v(relay, "x", 3, 4), relay.nn.relu
    layers = [relay.nn.dense(x, _v(relay, f"w{n}", 5 + n, 4), units=5 + n) for n in (0, 1)]
    calls = {
        "behind": [relay.expand_dims(y, axis=2) for y in layers],
        "from_end": [relay.expand_dims(y, axis=-1) for y in layers],
        "two": [relu(relay.expand_dims(y, axis=2, num_newaxis=2)) for y in layers],
        "before": [relay.expand_dims(y, axis=1) for y in layers],
        "in_front": [relay.expand_dims(y, axis=0) for y in layers],
    }
    return _module(tvm, relay, {name: relay.Tuple(found) for name, found in calls.items()})


def products(tvm, relay, np):
    """Batch matmuls with one left operand."""
    x, relu, add = _v(relay, "x", 3, 4, 5), relay.nn.relu, relay.add
    a, b = (relay.nn.batch_matmul(x, _v(relay, f"y{n}", 3, n, 5)) for n in (6, 7))
    plain = [
        relay.nn.batch_matmul(x, _v(relay, f"y{n}", 3, 5, 6), transpose_b=False) for n in (1, 2)
    ]
    calls = {
        "plain": relay.Tuple([a, b]),
        "whole": relay.Tuple(
            [relu(add(a, _v(relay, "p", 3, 4, 6))), relu(add(b, _v(relay, "q", 3, 4, 7)))]
        ),
        "bias": relay.Tuple([add(a, _v(relay, "p", 6)), add(b, _v(relay, "q", 7))]),
        "not_transposed": relay.Tuple(plain),
    }
    return _module(tvm, relay, calls)
