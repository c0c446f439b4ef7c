"""Quantized operators whose arguments are all constants."""

from __future__ import annotations


def _constants(relay, np):
    random = np.random.RandomState(5)

    def ints(shape, dtype="int8", low=-100, high=100):
        return relay.const(random.randint(low, high, shape).astype(dtype))

    def scale(*values):
        return relay.const(np.array(values if len(values) > 1 else values[0], "float32"))

    def zero(*values):
        return relay.const(np.array(values if len(values) > 1 else values[0], "int32"))

    return ints, scale, zero


def _module(tvm, relay, value, shape, dtype="float32"):
    """The value and a variable, so that some computation remains."""
    y = relay.var("y", shape=shape, dtype=dtype)
    return tvm.IRModule.from_expr(relay.Function([y], relay.add(value, y)))


def quantize(tvm, relay, np):
    """float32 to int8, one scale."""
    _, scale, zero = _constants(relay, np)
    data = relay.const(np.linspace(-3, 3, 12, dtype="float32").reshape(3, 4))
    value = relay.qnn.op.quantize(data, scale(0.037), zero(3), out_dtype="int8")
    return _module(tvm, relay, value, (3, 4), "int8")


def quantize_channels(tvm, relay, np):
    """float32 to uint8, with a scale per channel."""
    _, scale, zero = _constants(relay, np)
    data = relay.const(np.linspace(-3, 3, 12, dtype="float32").reshape(3, 4))
    value = relay.qnn.op.quantize(
        data, scale(0.1, 0.05, 0.02), zero(0, 128, 7), axis=0, out_dtype="uint8"
    )
    return _module(tvm, relay, value, (3, 4), "uint8")


def dequantize(tvm, relay, np):
    """int8 to float32, with a scale per channel."""
    ints, scale, zero = _constants(relay, np)
    value = relay.qnn.op.dequantize(ints((3, 4)), scale(0.1, 0.05, 0.02), zero(0, 8, -7), axis=0)
    return _module(tvm, relay, value, (3, 4))


def requantize(tvm, relay, np):
    """int32 to int8."""
    ints, scale, zero = _constants(relay, np)
    data = ints((3, 40), "int32", -5000, 5000)
    value = relay.qnn.op.requantize(
        data, scale(0.017), zero(5), scale(0.71), zero(-3), out_dtype="int8"
    )
    return _module(tvm, relay, value, (3, 40), "int8")


def convolution(tvm, relay, np):
    """qnn.conv2d of constant data and weights."""
    ints, scale, zero = _constants(relay, np)
    value = relay.qnn.op.conv2d(
        ints((1, 2, 5, 5)), ints((3, 2, 3, 3)), zero(4), zero(-2), scale(0.5), scale(0.25),
        kernel_size=(3, 3), channels=3, padding=(1, 1),
    )  # fmt: skip
    return _module(tvm, relay, value, (1, 3, 5, 5), "int32")


def dense(tvm, relay, np):
    """qnn.dense of constant data and weights."""
    ints, scale, zero = _constants(relay, np)
    value = relay.qnn.op.dense(
        ints((2, 6)), ints((3, 6)), zero(4), zero(-2), scale(0.5), scale(0.25), units=3
    )
    return _module(tvm, relay, value, (2, 3), "int32")


def add(tvm, relay, np):
    """qnn.add of two constants with different scales."""
    ints, scale, zero = _constants(relay, np)
    value = relay.qnn.op.add(
        ints((3, 4)), ints((3, 4)), scale(0.5), zero(1), scale(0.3), zero(-4), scale(0.9), zero(2)
    )
    return _module(tvm, relay, value, (3, 4), "int8")


def mul(tvm, relay, np):
    """qnn.mul of two constants with different scales."""
    ints, scale, zero = _constants(relay, np)
    value = relay.qnn.op.mul(
        ints((3, 4)), ints((3, 4)), scale(0.5), zero(1), scale(0.3), zero(-4), scale(9.9), zero(2)
    )
    return _module(tvm, relay, value, (3, 4), "int8")


def concatenate(tvm, relay, np):
    """qnn.concatenate of constants with different scales."""
    ints, scale, zero = _constants(relay, np)
    value = relay.qnn.op.concatenate(
        relay.Tuple([ints((3, 4)), ints((3, 2))]),
        relay.Tuple([scale(0.5), scale(0.3)]),
        relay.Tuple([zero(1), zero(-4)]),
        scale(0.7),
        zero(2),
        1,
    )
    return _module(tvm, relay, value, (3, 6), "int8")


def weights(tvm, relay, np):
    """Weights that are quantized at their use: only they are constants."""
    _, scale, zero = _constants(relay, np)
    x = relay.var("x", shape=(2, 6), dtype="int8")
    numbers = np.random.RandomState(5).uniform(-1, 1, (3, 6)).astype("float32")
    weight = relay.qnn.op.quantize(relay.const(numbers), scale(0.01), zero(0), out_dtype="int8")
    product = relay.qnn.op.dense(x, weight, zero(4), zero(0), scale(0.5), scale(0.01), units=3)
    value = relay.qnn.op.requantize(product, scale(0.005), zero(0), scale(0.5), zero(3), axis=1)
    return tvm.IRModule.from_expr(relay.Function([x], value))
