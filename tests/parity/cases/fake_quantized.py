"""Networks that dequantize, compute in float32 and quantize: for FakeQuantizationToInteger.

Each case is made by `make(relay, q, dq)`, which returns a list of results: q and dq quantize and
dequantize with scalars.
"""

from __future__ import annotations

SIDE = (1, 3, 8, 8)


def _int8(relay, name, *shape, dtype="int8"):
    return relay.var(name, shape=shape, dtype=dtype)


def _case(make):
    def case(tvm, relay, np):
        def dq(name, *shape, scale=2.0, zero=0, dtype="int8"):
            x = _int8(relay, name, *shape, dtype=dtype)
            return relay.qnn.op.dequantize(x, relay.const(scale), relay.const(zero))

        def q(x, scale=2.0, zero=0, dtype="int8"):
            return relay.qnn.op.quantize(x, relay.const(scale), relay.const(zero), out_dtype=dtype)

        results = make(relay, q, dq)
        body = results[0] if len(results) == 1 else relay.Tuple(results)
        return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))

    case.__doc__ = make.__doc__
    return case


def _conv(relay, dq, zero=0):
    weight = dq("w", 4, 3, 3, 3, scale=0.5)
    return relay.nn.conv2d(dq("x", *SIDE, zero=zero), weight, kernel_size=(3, 3), channels=4)


def _channels(relay, name, *shape, axis=1, dtype="int8", zeros=(1, -2, 3)):
    """A tensor dequantized with three scales along `axis`."""
    x = _int8(relay, name, *shape, dtype=dtype)
    scales, offsets = relay.const([1.0, 0.5, 0.25]), relay.const(list(zeros))
    return relay.qnn.op.dequantize(x, scales, offsets, axis=axis)


@_case
def products(relay, q, dq):
    """Each product that has a quantized operator, quantized to int8 and uint8."""
    weight = dq("t", 3, 4, 3, 3, scale=0.5)
    made = (
        relay.nn.relu(_conv(relay, dq, zero=3)),
        relay.nn.conv2d_transpose(dq("y", *SIDE), weight, kernel_size=(3, 3), channels=4),
        relay.nn.dense(dq("a", 5, 6), dq("b", 4, 6, scale=0.5)),
        relay.nn.batch_matmul(dq("c", 2, 5, 6), dq("d", 2, 4, 6, scale=0.5)),
    )
    return [q(x, 3.5, 7, dtype) for x in made for dtype in ("int8", "uint8")]


@_case
def channel_weights(relay, q, dq):
    """Weights with a scale per output channel."""
    weight = _channels(relay, "w", 3, 3, 3, 3, axis=0, zeros=(0, 0, 0))
    rows = _channels(relay, "b", 3, 6, axis=0, zeros=(0, 0, 0))
    conv = relay.nn.conv2d(dq("x", *SIDE), weight, kernel_size=(3, 3), channels=3)
    return [q(conv, 9.0), q(relay.nn.dense(dq("a", 5, 6), rows, units=3))]


@_case
def biases(relay, q, dq):
    """Biases in the scale of the product, in another scale, and not quantized."""
    conv = _conv(relay, dq)
    numbers = relay.const([1.0, 2.0, -3.0, 4.5])
    same, other = (dq(f"b{n}", 4, scale=scale, dtype="int32") for n, scale in enumerate((1.0, 0.7)))
    shaped = dq("b2", 4, 1, 1, scale=1.0, dtype="int32")
    made = [relay.nn.bias_add(conv, bias) for bias in (same, other, numbers)]
    return [q(x, 8.0) for x in (*made, relay.add(conv, shaped))]


@_case
def shapes(relay, q, dq):
    """Operators that work on integers unchanged."""
    x = dq("x", *SIDE, zero=5)
    made = (
        relay.reshape(relay.transpose(x, (0, 2, 3, 1)), (8, -1)),
        relay.squeeze(relay.expand_dims(x, 1), [0]),
        relay.strided_slice(x, [0, 0, 2, 2], [1, 2, 6, 6]),
        relay.split(x, 2, axis=3)[1],
        relay.split(x, [2, 3], axis=3)[2],
        relay.nn.batch_flatten(relay.nn.max_pool2d(x, (2, 2))),
        relay.nn.depth_to_space(relay.broadcast_to(dq("y", 1, 4, 1, 1), (2, 4, 3, 3)), 2),
        relay.max(x, axis=1),
        relay.min(x, axis=[2, 3], keepdims=True),
        relay.take(x, relay.const([1, 0]), axis=1),
        relay.topk(x, 2, 3, "values", True),
    )
    return [q(y, zero=5) for y in made] + [q(made[0], 3.0)]


@_case
def averages(relay, q, dq):
    """Means in int32; pools with the scale of the region's end."""
    x = dq("x", *SIDE)
    pool = relay.nn.global_avg_pool2d(x)
    line = relay.nn.adaptive_avg_pool1d(dq("y", 1, 3, 8), output_size=(2,))
    return [q(pool), q(pool, 3.0), q(relay.nn.relu(pool), 1.5), q(line), q(relay.mean(x, [2, 3]))]


@_case
def bounds(relay, q, dq):
    """clip and nn.relu, with one scale and with a scale per channel."""
    x, y = dq("x", *SIDE, zero=114, dtype="uint8"), _channels(relay, "y", *SIDE)
    made = [q(f(x), 2.0, 114, "uint8") for f in (relay.nn.relu, lambda v: relay.clip(v, 0, 60))]
    for f in (relay.nn.relu, lambda v: relay.clip(v, -3, 6)):
        made.append(q(relay.nn.max_pool2d(f(y), (2, 2)), 0.5))
    return made


@_case
def pads(relay, q, dq):
    x, width = dq("x", 1, 3, 8, scale=1.0, zero=10), [[0, 0], [0, 1], [2, 0]]
    values = (0.0, dq("v", scale=0.5), dq("u", scale=1.0, zero=10))
    return [q(relay.nn.pad(x, width, value), 1.0, 10) for value in values]


@_case
def pairs(relay, q, dq):
    """Two operands with different scales, with a scale per channel, and a scalar operand."""
    x, y = dq("x", *SIDE, scale=0.1, zero=4), dq("y", *SIDE, scale=0.2)
    vectors = [_channels(relay, name, *SIDE) for name in "ab"]
    made = []
    for name in ("add", "subtract", "multiply", "minimum", "maximum"):
        op = getattr(relay, name)
        one = relay.const(1.0)
        made += [q(op(x, y), 0.3, 1), q(op(x, one), 0.1, 4), q(op(one, y)), q(op(*vectors), 3.0)]
    parts = [dq(f"c{n}", 1, 4, scale=n + 0.5) for n in range(3)]
    return [*made, q(relay.concatenate(parts, axis=1), 3.5)]


@_case
def functions(relay, q, dq):
    """Functions that become tables of integers."""
    x, y = dq("x", 4, 4, scale=0.05), dq("y", 4, 4, scale=0.05, zero=-128)
    made = [getattr(relay, name)(x) for name in ("exp", "erf", "sigmoid", "tanh", "abs")]
    made += [getattr(relay, name)(y) for name in ("sqrt", "rsqrt", "log")]
    return [q(f, 0.1, 3) for f in made]


@_case
def regions(relay, q, dq):
    """Consecutive regions, a product used in two regions, and values with other consumers."""
    conv = _conv(relay, dq)
    first = q(relay.nn.relu(conv))
    again = relay.qnn.op.dequantize(first, relay.const(2.0), relay.const(0))
    return [
        q(relay.nn.relu(again), 0.5),
        q(relay.nn.max_pool2d(conv, (2, 2)), 5.0),
        q(relay.cumsum(conv, 0), 5.0),
        q(relay.add(conv, relay.var("f", shape=(1,)))),
        q(relay.var("g", shape=(3,))),
        q(relay.tanh(again), 0.01),
    ]


@_case
def single(relay, q, dq):
    """Without a final quantize: for use_qat."""
    conv = _conv(relay, dq)
    matrix = relay.nn.batch_matmul(dq("c", 2, 5, 6), dq("d", 2, 4, 6, scale=0.5))
    return [
        relay.tanh(relay.nn.relu(conv)),
        relay.cumsum(relay.nn.max_pool2d(conv, (2, 2)), 0),
        relay.nn.softmax(relay.reshape(matrix, (10, 4))),
        relay.maximum(dq("e", 3), relay.const(0.5)),
        relay.nn.relu(relay.add(conv, relay.var("f", shape=(1,)))),
        q(relay.cumsum(relay.clip(conv, 0, 6), 0)),
        relay.nn.conv2d(dq("x2", *SIDE), relay.var("w2", shape=(4, 3, 1, 1))),
    ]


@_case
def quotients(relay, q, dq):
    """Quotients for DivToMul: by numbers and by variables."""
    x = relay.var("x", shape=(4,))
    return [x / relay.const(4.0), relay.const(4.0) / x, x / relay.const(0.3)]


NAMES = (
    "products", "channel_weights", "biases", "shapes", "averages", "bounds", "pads", "pairs",
    "functions", "regions",
)  # fmt: skip
