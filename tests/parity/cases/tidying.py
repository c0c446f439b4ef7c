"""Modules for three small passes: known shapes, shared casts, images split into parts."""

from __future__ import annotations

from .lowering import _module


def _v(relay, name, *shape, dtype="float32"):
    return relay.var(name, shape=shape, dtype=dtype)


def shapes(tvm, relay, np):
    """Operators whose shapes are arguments; most of them can be computed."""
    x, y = _v(relay, "x", 2, 3, 4), _v(relay, "y", 6, 4)
    image = _v(relay, "image", 1, 3, 4, 4)
    shape_of = getattr(relay, "shape_of", None) or relay.op.shape_of

    def known(value, dtype="int64"):
        """An expression that FoldConstant evaluates to a constant."""
        array = np.array(value, dtype)
        return relay.add(relay.const(array), relay.const(np.zeros_like(array)))

    first = relay.squeeze(relay.strided_slice(shape_of(x), [0], [1]))
    shaped = relay.reshape(x, shape_of(y))
    two = known(2.0, "float32")
    slices = known([0, 1, 0]), shape_of(x, "int64"), known([1, 1, 1])
    calls = {
        "reshape": shaped,
        "reshaped_again": relay.reshape(shaped, shape_of(shaped)),
        "unknown": relay.reshape(x, _v(relay, "s", 2, dtype="int64")),
        "tile": relay.tile(x, shape_of(_v(relay, "z", 2, 3))),
        "broadcast_to": relay.broadcast_to(_v(relay, "b", 4), shape_of(x)),
        "zeros": relay.zeros(shape_of(x), "float32"),
        "ones": relay.add(relay.ones(shape_of(x), "float32"), x),
        "full": relay.full(_v(relay, "f"), shape_of(x), "float32"),
        "full_constant": relay.full(relay.const(2.0), known([2, 2]), "float32"),
        "one_hot": relay.one_hot(
            _v(relay, "i", 3, dtype="int32"), relay.const(1.0), relay.const(0.0), first, -1,
            "float32",
        ),
        "topk": relay.topk(x, first, -1, "both", False, "int64").astuple(),
        "squeeze": relay.squeeze(_v(relay, "q", 1, 3, 1), known([0, 2])),
        "expand_dims": relay.expand_dims(x, known(1, "int32"), 1),
        "pad": relay.nn.pad(x, known([[0, 0], [1, 1], [2, 0]]), relay.const(0.0)),
        "slice": relay.strided_slice(x, *slices),
        "upsampling": relay.nn.upsampling(image, two, two),
    }  # fmt: skip
    return _module(tvm, relay, calls)


def casts(tvm, relay, np):
    """Casts that several operators read."""
    x = _v(relay, "x", 2, 3, dtype="int8")

    def read(make, data=None, dtype="float32"):
        return relay.Tuple(make(relay.cast(x if data is None else data, dtype)))

    half = relay.cast(x, "float32")
    calls = {
        "twice": read(lambda t: [relay.exp(t), relay.log(t)]),
        "both_sides": read(lambda t: [relay.exp(t), relay.log(t), relay.add(t, t)]),
        "reduced": read(lambda t: [relay.exp(t), relay.sum(t)]),
        "returned": read(lambda t: [t, relay.exp(t)]),
        "narrower": read(lambda t: [relay.abs(t), relay.negative(t)], _v(relay, "f", 2), "int8"),
        "in_steps": read(
            lambda t: [relay.abs(t), relay.negative(t), relay.exp(half)], half, "float64"
        ),
    }
    return _module(tvm, relay, calls)


def pieces(tvm, relay, np):
    """Convolutions of images that are split into parts."""

    def atrous(paddings, crops, dtype="float32", value=0):
        data = _v(relay, "x", 1, 5, 5, 4, dtype=dtype)
        weight = _v(relay, "w", 3, 3, 4, 2, dtype=dtype)
        y = relay.nn.space_to_batch_nd(data, [2, 2], paddings, value)
        options = {
            "kernel_size": (3, 3), "channels": 2, "data_layout": "NHWC", "kernel_layout": "HWIO",
        }  # fmt: skip
        if dtype == "float32":
            y = relay.nn.conv2d(y, weight, **options)
        else:
            zeros = relay.const(value, "int32"), relay.const(0, "int32")
            scales = relay.const(0.5), relay.const(0.5)
            y = relay.qnn.op.conv2d(y, weight, *zeros, *scales, **options)
        return relay.nn.batch_to_space_nd(y, [2, 2], crops)

    same = [[2, 3], [2, 3]], [[0, 1], [0, 1]]
    calls = {
        "plain": atrous(*same),
        "quantized": atrous(*same, dtype="int8"),
        "zero_point": atrous(*same, dtype="int8", value=3),
        "behind": relay.nn.relu(atrous(*same)),
    }
    return _module(tvm, relay, calls)
