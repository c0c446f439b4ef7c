"""Small graphs for MergeComposite: matches, refusals, embedded constants and lifted ones."""

from __future__ import annotations

DATA = (1, 4, 8, 8)


def _inputs(relay):
    data = relay.var("data", shape=DATA)
    weight = relay.var("weight", shape=(4, 4, 3, 3))
    bias = relay.var("bias", shape=(4, 1, 1))
    return data, weight, bias


def _conv(relay, data, weight):
    return relay.nn.conv2d(data, weight, padding=(1, 1), channels=4, kernel_size=(3, 3))


def _module(tvm, relay, body):
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


def chain(tvm, relay, np):
    """conv2d + bias + relu, then conv2d + relu, then dense + bias: three entries of one table."""
    data, weight, bias = _inputs(relay)
    first = relay.nn.relu(relay.add(_conv(relay, data, weight), bias))
    second = relay.nn.relu(_conv(relay, first, relay.var("weight2", shape=(4, 4, 3, 3))))
    dense = relay.nn.dense(
        relay.nn.batch_flatten(second), relay.var("fc_weight", shape=(10, 256)), units=10
    )
    return _module(tvm, relay, relay.add(dense, relay.var("fc_bias", shape=(10,))))


def external_use(tvm, relay, np):
    """The convolution is also used outside the chain: longer patterns must not match."""
    data, weight, bias = _inputs(relay)
    conv = _conv(relay, data, weight)
    fused = relay.nn.relu(relay.add(conv, bias))
    return _module(tvm, relay, relay.multiply(fused, relay.exp(conv)))


def rejected(tvm, relay, np):
    """The first sum adds a whole image, which the check refuses; the second adds a bias."""
    data, weight, bias = _inputs(relay)
    whole = relay.var("whole", shape=DATA)
    first = relay.nn.relu(relay.add(_conv(relay, data, weight), whole))
    second = relay.nn.relu(relay.add(_conv(relay, first, weight), bias))
    return _module(tvm, relay, second)


def commuted(tvm, relay, np):
    """bias + conv2d: `add` matches with swapped operands, which the check refuses."""
    data, weight, bias = _inputs(relay)
    return _module(tvm, relay, relay.nn.relu(relay.add(bias, _conv(relay, data, weight))))


def constants(tvm, relay, np):
    """Constants for weight and bias: `is_constant()` embeds them, a wildcard lifts them."""
    random = np.random.RandomState(0)
    data, _, _ = _inputs(relay)
    weight = relay.const(random.standard_normal((4, 4, 3, 3)).astype("float32"))
    bias = relay.const(random.standard_normal((4, 1, 1)).astype("float32"))
    return _module(tvm, relay, relay.nn.relu(relay.add(_conv(relay, data, weight), bias)))


def diamonds(tvm, relay, np):
    """exp(x) + abs(x), twice nested, and exp(x) + abs(y), which is not a diamond."""
    x, y = relay.var("x", shape=(4, 4)), relay.var("y", shape=(4, 4))
    first = relay.add(relay.exp(x), relay.abs(x))
    second = relay.add(relay.abs(first), relay.exp(first))
    other = relay.add(relay.exp(second), relay.abs(y))
    return _module(tvm, relay, other)


def kernels(tvm, relay, np):
    """A 3x3 and a 1x1 convolution, distinguished by an attribute."""
    data, weight, _ = _inputs(relay)
    pointwise = relay.var("pointwise", shape=(4, 4, 1, 1))
    body = relay.nn.conv2d(_conv(relay, data, weight), pointwise, channels=4, kernel_size=(1, 1))
    return _module(tvm, relay, body)
