"""Pads before operators with padding, for FoldExplicitPadding."""

from __future__ import annotations


def _case(
    make, width=((0, 0), (0, 0), (1, 2), (0, 1)), value=0.0, mode="constant", dtype="float32"
):
    """The case of `make(relay, padded)` for a padded image (1, 4, 6, 6)."""

    def case(tvm, relay, np):
        data = relay.var("data", shape=(1, 4, 6, 6), dtype=dtype)
        body = make(relay, relay.nn.pad(data, width, value, mode))
        return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))

    return case


def _conv(relay, x, padding=(0, 0)):
    return relay.nn.conv2d(x, relay.var("weight", shape=(4, 4, 3, 3)), padding=padding)


def _volume(tvm, relay, np):
    data = relay.var("data", shape=(1, 4, 4, 4, 2))
    padded = relay.nn.pad(data, ((0, 0), (1, 1), (0, 2), (1, 0), (0, 0)))
    weight = relay.var("weight", shape=(3, 3, 3, 2, 2))
    options = {"data_layout": "NDHWC", "kernel_layout": "DHWIO"}
    body = relay.nn.conv3d(padded, weight, **options)
    return tvm.IRModule.from_expr(relay.Function([data, weight], body))


LOWEST = -3.4028234663852886e38
convolution = _case(_conv)
convolution_padded = _case(lambda relay, x: _conv(relay, x, (1, 2)))
convolution_twice = _case(lambda relay, x: _conv(relay, relay.nn.pad(x, ((0, 0),) * 3 + ((1, 1),))))
volume = _volume
channels = _case(
    lambda relay, x: relay.nn.conv2d(x, relay.var("weight", shape=(4, 5, 3, 3))),
    ((0, 0), (0, 1), (1, 1), (1, 1)),
)
ones = _case(_conv, value=1.0)
edges = _case(_conv, mode="edge")
used_twice = _case(lambda relay, x: relay.Tuple([_conv(relay, x), x]))
max_pool = _case(lambda relay, x: relay.nn.max_pool2d(x, (3, 3)), value=LOWEST)
max_pool_of_zeros = _case(lambda relay, x: relay.nn.max_pool2d(x, (2, 2)))
max_pool_integers = _case(lambda relay, x: relay.nn.max_pool2d(x, (3, 3)), value=-128, dtype="int8")
avg_pool = _case(lambda relay, x: relay.nn.avg_pool2d(x, (2, 2)))
avg_pool_padded = _case(lambda relay, x: relay.nn.avg_pool2d(x, (2, 2), padding=(1, 1)))
avg_pool_counting = _case(
    lambda relay, x: relay.nn.avg_pool2d(x, (2, 2), padding=(1, 1), count_include_pad=True)
)


def quantized(tvm, relay, np):
    data = relay.var("data", shape=(1, 4, 6, 6), dtype="int8")
    weight = relay.var("weight", shape=(4, 4, 3, 3), dtype="int8")
    zero, scale = relay.const(3, "int32"), relay.const(0.5)
    padded = relay.nn.pad(data, ((0, 0), (0, 0), (1, 1), (1, 1)), zero)
    rest = (relay.const(0, "int32"), scale, scale)
    body = relay.qnn.op.conv2d(padded, weight, zero, *rest, kernel_size=(3, 3), channels=4)
    return tvm.IRModule.from_expr(relay.Function([data, weight], body))


NAMES = tuple(name for name, made in vars().copy().items() if callable(made) and name[0] != "_")
