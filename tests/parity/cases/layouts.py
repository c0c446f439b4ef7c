"""Operators around a convolution whose layout is changed: for the layout passes.

In most cases a convolution in NHWC returns (1, 6, 6, 8), which another operator reads.
"""

from __future__ import annotations


def _module(tvm, relay, body):
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


def _conv(relay, name="", data=None, outputs=8, **options):
    """A 3 x 3 convolution in NHWC."""
    data = relay.var(f"data{name}", shape=(1, 6, 6, 8)) if data is None else data
    weight = relay.var(f"weight{name}", shape=(3, 3, 8, outputs))
    chosen = {"data_layout": "NHWC", "kernel_layout": "HWIO", "padding": (1, 1), **options}
    return relay.nn.conv2d(data, weight, channels=outputs, kernel_size=(3, 3), **chosen)


def _after(make, **options):
    """The case of a convolution followed by `make(relay, convolution)`."""

    def case(tvm, relay, np):
        return _module(tvm, relay, make(relay, _conv(relay, **options)))

    return case


def _v(relay, name, *shape):
    return relay.var(name, shape=shape)


relu = _after(lambda relay, y: relay.nn.relu(y))
chain = _after(lambda relay, y: relay.tanh(_conv(relay, "1", relay.nn.relu(y))))
flattened = _after(lambda relay, y: relay.nn.batch_flatten(relay.cast(y, "float64")))
bias_add = _after(lambda relay, y: relay.nn.relu(relay.nn.bias_add(y, _v(relay, "b", 8), axis=3)))
channels = _after(lambda relay, y: relay.nn.relu(relay.add(y, _v(relay, "b", 8))))
scalar = _after(lambda relay, y: relay.multiply(relay.const(2.0), y))
scalar_variable = _after(lambda relay, y: relay.multiply(y, _v(relay, "s")))
numbers = _after(
    lambda relay, y: relay.multiply(_v(relay, "s", 1), relay.multiply(y, _v(relay, "t", 1, 1)))
)
bits = _after(
    lambda relay, y: relay.tanh(relay.reinterpret(relay.reinterpret(y, "int32"), "float32"))
)
fixed_point = _after(
    lambda relay, y: relay.fixed_point_multiply(relay.cast(y, "int32"), 1 << 30, 1)
)
one_channel = _after(lambda relay, y: relay.add(y, _v(relay, "b", 1, 6, 6, 1)))
other_operand = _after(lambda relay, y: relay.add(_v(relay, "b", 1, 6, 6, 8), y))
wider_operand = _after(lambda relay, y: relay.add(y, _v(relay, "b", 2, 1, 6, 6, 8)))
residual = _after(lambda relay, y: relay.add(relay.nn.relu(y), relay.tanh(y)))
two_users = _after(lambda relay, y: relay.Tuple([relay.nn.relu(y), relay.nn.batch_flatten(y)]))
pooled = _after(lambda relay, y: relay.nn.max_pool2d(y, (2, 2), layout="NHWC"))
pooled_out = _after(
    lambda relay, y: relay.nn.avg_pool2d(y, (2, 2), layout="NHWC", out_layout="NHWC")
)
global_pool = _after(lambda relay, y: relay.nn.global_avg_pool2d(y, layout="NHWC"))
adaptive_pool = _after(lambda relay, y: relay.nn.adaptive_avg_pool2d(y, (2, 2), layout="NHWC"))
upsampled = _after(lambda relay, y: relay.nn.upsampling(y, 2, 2, layout="NHWC"))
resized = _after(lambda relay, y: relay.image.resize2d(y, (4, 4), layout="NHWC"))
mean = _after(lambda relay, y: relay.mean(y, axis=[1, 2]))
mean_kept = _after(lambda relay, y: relay.mean(y, axis=[-1], keepdims=True))
mean_others = _after(lambda relay, y: relay.mean(y, axis=[3], exclude=True))
sum_of_all = _after(lambda relay, y: relay.sum(relay.nn.relu(y)))
argmax = _after(lambda relay, y: relay.argmax(y, axis=3))
variance = _after(lambda relay, y: relay.variance(y, axis=[1, 2]))
transposed = _after(lambda relay, y: relay.nn.relu(relay.transpose(y, (0, 3, 1, 2))))
transposed_default = _after(lambda relay, y: relay.transpose(y))
squeezed = _after(lambda relay, y: relay.tanh(relay.squeeze(y, axis=[0])))
squeezed_all = _after(lambda relay, y: relay.tanh(relay.squeeze(y)))
sliced = _after(lambda relay, y: relay.strided_slice(y, [0, 1, 2, 0], [1, 5, 6, 4], [1, 2, 1, 1]))
sliced_axes = _after(lambda relay, y: relay.strided_slice(y, [0], [4], axes=[3]))
sliced_front = _after(lambda relay, y: relay.strided_slice(y, [0, 1], [1, 4]))
sliced_size = _after(
    lambda relay, y: relay.strided_slice(y, [0, 1, 2, 0], [1, 3, 2, 4], slice_mode="size")
)
padded = _after(lambda relay, y: relay.nn.pad(y, ((0, 0), (1, 1), (2, 0), (0, 0))))
concatenated = _after(
    lambda relay, y: relay.concatenate([y, _conv(relay, "1", y, outputs=4)], axis=3)
)
concatenated_other = _after(
    lambda relay, y: relay.concatenate([y, _v(relay, "z", 1, 6, 6, 2)], axis=-1)
)
tuple_field = _after(lambda relay, y: relay.nn.relu(relay.Tuple([y, relay.tanh(y)])[1]))
nested_tuple = _after(lambda relay, y: relay.Tuple([relay.Tuple([y]), relay.const(1.0)]))
top = _after(lambda relay, y: relay.topk(y, k=2, axis=3).astuple())
norm_l2 = _after(lambda relay, y: relay.nn.l2_normalize(y, 1e-5, [3]))
prelu = _after(lambda relay, y: relay.nn.prelu(y, _v(relay, "a", 8), axis=3))
softmax = _after(lambda relay, y: relay.nn.softmax(y, axis=3))
layer_norm = _after(
    lambda relay, y: relay.nn.layer_norm(y, _v(relay, "g", 8), _v(relay, "b", 8), axis=3)
)
sliced_like = _after(
    lambda relay, y: relay.slice_like(y, relay.nn.max_pool2d(y, (2, 2), layout="NHWC"), axes=[1, 2])
)
reshaped = _after(lambda relay, y: relay.nn.relu(relay.reshape(y, (1, -1))))
where = _after(lambda relay, y: relay.where(relay.greater(y, relay.const(0.0)), y, relay.abs(y)))


def batch_norm(tvm, relay, np):
    y = _conv(relay)
    norm = relay.nn.batch_norm(y, *[_v(relay, n, 8) for n in ("g", "b", "m", "v")], axis=3)
    return _module(tvm, relay, relay.nn.relu(norm[0]))


def depthwise(tvm, relay, np):
    weight = _v(relay, "weight", 8, 1, 3, 3)
    y = relay.nn.conv2d(_v(relay, "data", 1, 8, 6, 6), weight, groups=8, channels=8)
    return _module(tvm, relay, relay.nn.relu(y))


def channels_first(tvm, relay, np):
    y = relay.nn.conv2d(_v(relay, "data", 1, 8, 6, 6), _v(relay, "weight", 4, 8, 3, 3))
    y = relay.add(y, _v(relay, "b", 4, 1, 1))
    y = relay.nn.relu(relay.nn.max_pool2d(y, (2, 2)))
    return _module(tvm, relay, relay.nn.batch_flatten(y))


def shared_data(tvm, relay, np):
    """Both convolutions read one transform of the data."""
    data = _v(relay, "data", 1, 6, 6, 8)
    both = [_conv(relay, "1", data), _conv(relay, "2", data)]
    return _module(tvm, relay, relay.add(*both))


def mixed(tvm, relay, np):
    """The operands have different layouts."""
    y = _conv(relay)
    first = relay.nn.conv2d(
        _v(relay, "other", 1, 8, 6, 6), _v(relay, "w2", 8, 8, 3, 3), padding=(1, 1)
    )
    first = relay.transpose(first, (0, 2, 3, 1))
    return _module(tvm, relay, relay.concatenate([y, first], axis=3))


def transposed_conv(tvm, relay, np):
    y = relay.nn.conv2d_transpose(
        _v(relay, "data", 1, 6, 6, 8),
        _v(relay, "weight", 3, 3, 8, 8),
        channels=8,
        kernel_size=(3, 3),
        data_layout="NHWC",
        kernel_layout="HWIO",
    )
    return _module(tvm, relay, relay.nn.relu(y))


def volume(tvm, relay, np):
    y = relay.nn.conv3d(
        _v(relay, "data", 1, 4, 4, 4, 8),
        _v(relay, "weight", 3, 3, 3, 8, 8),
        channels=8,
        kernel_size=(3, 3, 3),
        data_layout="NDHWC",
        kernel_layout="DHWIO",
    )
    y = relay.nn.max_pool3d(relay.nn.relu(y), (2, 2, 2), layout="NDHWC")
    return _module(tvm, relay, y)


def dense_of_rank_3(tvm, relay, np):
    """The layout NC with three axes: a matrix is indexed from the front, a vector is unchanged."""
    y = relay.nn.dense(_v(relay, "data", 2, 3, 8), _v(relay, "weight", 8, 8))
    return _module(tvm, relay, relay.add(relay.add(y, _v(relay, "m", 3, 8)), _v(relay, "b", 8)))


def let(tvm, relay, np):
    """A variable has an unknown layout, so its value keeps the original one."""
    name = relay.var("y", shape=(1, 6, 6, 8))
    return _module(tvm, relay, relay.Let(name, _conv(relay), relay.nn.relu(name)))


def function(tvm, relay, np):
    """Layouts are not propagated into or out of a function."""
    param = relay.var("p", shape=(1, 6, 6, 8))
    inner = relay.Function([param], relay.nn.relu(param))
    return _module(tvm, relay, relay.tanh(relay.Call(inner, [_conv(relay)])))


def annotated(tvm, relay, np):
    y = relay.annotation.compiler_begin(_conv(relay), "dnnl")
    return _module(tvm, relay, relay.annotation.compiler_end(relay.nn.relu(y), "dnnl"))


def quantized(tvm, relay, np):
    data = relay.var("data", shape=(1, 6, 6, 8), dtype="int8")
    weight = relay.var("weight", shape=(3, 3, 8, 8), dtype="int8")
    zero, scale = relay.const(0, "int32"), relay.const(0.5, "float32")
    y = relay.qnn.op.conv2d(
        data,
        weight,
        zero,
        zero,
        scale,
        scale,
        kernel_size=(3, 3),
        channels=8,
        data_layout="NHWC",
        kernel_layout="HWIO",
    )
    y = relay.nn.bias_add(y, relay.var("b", shape=(8,), dtype="int32"), axis=3)
    y = relay.qnn.op.requantize(y, scale, zero, scale, zero, axis=3, out_dtype="int8")
    return _module(tvm, relay, relay.nn.relu(y))


def quantized_transposed(tvm, relay, np):
    data = relay.var("data", shape=(1, 6, 6, 8), dtype="int8")
    weight = relay.var("weight", shape=(3, 3, 8, 8), dtype="int8")
    numbers = [relay.const(0, "int32")] * 2 + [relay.const(0.5, "float32")] * 2
    sizes = {"kernel_size": (3, 3), "channels": 8, "out_dtype": "int32"}
    layouts = {"data_layout": "NHWC", "kernel_layout": "HWIO"}
    y = relay.qnn.op.conv2d_transpose(data, weight, *numbers, **sizes, **layouts)
    return _module(tvm, relay, relay.nn.relu(y))


def narrow(tvm, relay, np):
    """Operands with one channel and without a channel axis: blocks of 1 are broadcast."""
    y = relay.nn.conv2d(_v(relay, "data", 1, 8, 6, 6), _v(relay, "weight", 8, 8, 3, 3))
    y = relay.add(y, _v(relay, "a", 1, 1, 4, 4))
    return _module(tvm, relay, relay.add(_v(relay, "b", 4), y))


def blocks(tvm, relay, np):
    """An NCHW network, for layouts with blocks of channels."""
    y = relay.nn.conv2d(_v(relay, "data", 1, 8, 6, 6), _v(relay, "weight", 8, 8, 3, 3))
    y = relay.add(y, _v(relay, "b", 8, 1, 1))
    y = relay.nn.relu(relay.nn.max_pool2d(y, (2, 2)))
    cut = relay.strided_slice(y, [0, 4], [1, 8])
    kept = relay.mean(y, axis=[1], keepdims=True)
    return _module(
        tvm, relay, relay.Tuple([cut, relay.add(y, kept), relay.nn.pad(y, [[0, 1]] * 4)])
    )


def _biased_in_blocks(tvm, relay, blocks):
    """A convolution with channels in blocks of 4, and a bias in as many blocks."""
    layouts = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o"}
    data = _v(relay, "data", 1, 2, 6, 6, 4)
    weight = _v(relay, "weight", blocks, 2, 3, 3, 4, 4)
    y = relay.nn.conv2d(data, weight, channels=4 * blocks, kernel_size=(3, 3), **layouts)
    return _module(tvm, relay, relay.nn.relu(relay.add(y, _v(relay, "b", 1, blocks, 1, 1, 4))))


def blocked_bias(tvm, relay, np):
    """Conversion from blocks, with a bias in blocks."""
    return _biased_in_blocks(tvm, relay, 3)


def one_blocked_bias(tvm, relay, np):
    """Conversion from a single block, with a bias in this block."""
    return _biased_in_blocks(tvm, relay, 1)


NAMES = tuple(name for name, made in vars().copy().items() if callable(made) and name[0] != "_")
