"""Modules with symbolic shapes, for InferType and later passes."""

from __future__ import annotations


def _symbol(tvm, name):
    """A symbolic size, created by the API of each side."""
    return tvm.te.var(name) if hasattr(tvm, "te") else tvm.relay.symbol(name)


def _case(build):
    """The case of `build(relay, n, m, var)`; `var(name, *shape)` creates a variable."""

    def case(tvm, relay, np):
        def var(name, *shape, dtype="float32"):
            return relay.var(name, shape=shape, dtype=dtype)

        made = build(relay, _symbol(tvm, "n"), _symbol(tvm, "m"), var)
        if not isinstance(made, relay.Function):
            made = relay.Function(relay.analysis.free_vars(made), made)
        return tvm.IRModule.from_expr(made)

    return case


def _call(*lengths):
    """A function on (n, 3) that is called with data of these sizes."""

    def build(relay, n, m, var):
        x = var("x", n, 3)
        function = relay.Function([x], relay.nn.relu(x))
        given = [
            var(f"a{k}", m if length == "m" else length, 3) for k, length in enumerate(lengths)
        ]
        return relay.Tuple([relay.Call(function, [a]) for a in given])

    return _case(build)


def _conv(relay, data, weight, **options):
    return relay.nn.conv2d(data, weight, **options)


def _network(relay, n, m, var):
    data, weight = var("data", n, 3, 8, 8), var("weight", 4, 3, 3, 3)
    for part in (1, 2):
        data = _conv(relay, data, weight, padding=(1, 1), kernel_size=(3, 3), channels=4)
        data = relay.nn.relu(relay.nn.bias_add(data, var(f"bias{part}", 4)))
        weight = var("second", 4, 4, 3, 3)
    return relay.nn.softmax(relay.nn.dense(relay.nn.batch_flatten(data), var("out", 10, 256)))


network = _case(_network)
both_names = _case(lambda relay, n, m, var: relay.add(var("x", n, 1), var("y", 1, m)))
one_unknown = _case(lambda relay, n, m, var: relay.add(var("x", n, 3), var("y", relay.Any(), 3)))
other_names = _case(lambda relay, n, m, var: relay.add(var("x", n, 3), var("y", m, 3)))
name_and_number = _case(lambda relay, n, m, var: relay.add(var("x", n, 3), var("y", 4, 3)))
same_sum = _case(lambda relay, n, m, var: relay.add(var("x", n + 1, 3), var("y", 1 + n, 3)))
strided = _case(
    lambda relay, n, m, var: _conv(
        relay, var("x", 1, 3, n, m), var("w", 4, 3, 3, 3), strides=(2, 2), padding=(1, 1)
    )
)
channels = _case(
    lambda relay, n, m, var: _conv(
        relay, var("x", 1, n, 8, 8), relay.var("w"), kernel_size=(3, 3), channels=4
    )
)
columns = _case(lambda relay, n, m, var: relay.nn.dense(var("x", 2, n), relay.var("w"), units=4))
joined = _case(lambda relay, n, m, var: relay.concatenate([var("x", n, 3), var("y", m, 3)], 0))
joined_otherwise = _case(
    lambda relay, n, m, var: relay.concatenate([var("x", n, 3), var("y", m, 4)], 1)
)
flat = _case(lambda relay, n, m, var: relay.reshape(var("x", n, 3, m), (-1,)))
inferred = _case(lambda relay, n, m, var: relay.reshape(var("x", n, 3, 4), (-1, 12)))
merged = _case(lambda relay, n, m, var: relay.reshape(var("x", n, m, 4), (-3, 0)))
halves = _case(lambda relay, n, m, var: relay.split(var("x", n, 4), 2, axis=0).astuple())
pooled = _case(
    lambda relay, n, m, var: relay.nn.max_pool2d(
        var("x", n, 3, m, 9), (2, 2), (2, 2), ceil_mode=True
    )
)
products = _case(
    lambda relay, n, m, var: relay.nn.batch_matmul(var("x", n, 8, m), var("y", n, 9, m))
)
batches = _case(
    lambda relay, n, m, var: relay.nn.batch_matmul(var("x", n, 8, 4), var("y", m, 9, 4))
)
repeated = _case(lambda relay, n, m, var: relay.repeat(var("x", n, 8), 2, axis=0))
tiled = _case(lambda relay, n, m, var: relay.tile(var("x", n, 8), (2, 1)))
cut = _case(lambda relay, n, m, var: relay.strided_slice(var("x", n, 8), [0, 2], [2, 6]))
padded = _case(lambda relay, n, m, var: relay.nn.pad(var("x", n, 8), ((1, 1), (0, 0))))
widened = _case(lambda relay, n, m, var: relay.broadcast_to(var("x", n, 1), (4, 3)))
laid_out = _case(
    lambda relay, n, m, var: relay.layout_transform(var("x", n, 16, m, 4), "NCHW", "NCHW4c")
)
chosen = _case(
    lambda relay, n, m, var: relay.where(
        var("c", n, 1, dtype="bool"), var("x", n, 8), var("y", n, 8)
    )
)
branches = _case(
    lambda relay, n, m, var: relay.If(
        relay.var("c", shape=(), dtype="bool"), var("x", n, 3), var("y", 4, 3)
    )
)
stated = _case(
    lambda relay, n, m, var: relay.Function(
        [x := var("x", n, 3)], relay.nn.relu(x), relay.TensorType((4, 3))
    )
)
called = _call(5)
called_twice = _call(5, 5)
called_otherwise = _call(5, 6)
called_by_name = _call("m")


NAMES = tuple(name for name, made in vars().copy().items() if callable(made) and name[0] != "_")
