"""Graphs for FoldScaleAxis: scales that can be folded into a weight, and ones that cannot."""

from __future__ import annotations

DATA = (1, 4, 8, 8)


def _scale(relay, np, *shape, sign=1.0):
    random = np.random.RandomState(1)
    return relay.const((sign * random.uniform(0.5, 1.5, shape)).astype("float32"))


def _weight(relay, np, *shape):
    return relay.const(np.random.RandomState(2).standard_normal(shape).astype("float32"))


def _conv(relay, np, data, groups=1, channels=4):
    weight = _weight(relay, np, channels, 4 // groups, 3, 3)
    return relay.nn.conv2d(
        data, weight, padding=(1, 1), channels=channels, kernel_size=(3, 3), groups=groups
    )


def _module(tvm, relay, body):
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


def _data(relay):
    return relay.var("data", shape=DATA)


def after_conv(tvm, relay, np):
    """conv * scale: the scale is folded into the weight."""
    body = relay.multiply(_conv(relay, np, _data(relay)), _scale(relay, np, 4, 1, 1))
    return _module(tvm, relay, body)


def after_relu(tvm, relay, np):
    """relu(conv) * positive scale: a positive factor commutes with relu."""
    body = relay.nn.relu(_conv(relay, np, _data(relay)))
    return _module(tvm, relay, relay.multiply(body, _scale(relay, np, 4, 1, 1)))


def after_relu_negative(tvm, relay, np):
    """relu(conv) * negative scale stays: a negative factor does not commute with relu."""
    body = relay.nn.relu(_conv(relay, np, _data(relay)))
    return _module(tvm, relay, relay.multiply(body, _scale(relay, np, 4, 1, 1, sign=-1.0)))


def after_bias(tvm, relay, np):
    """(conv + bias) * scale: the scale is folded into weight and bias."""
    body = relay.add(_conv(relay, np, _data(relay)), _weight(relay, np, 4, 1, 1))
    return _module(tvm, relay, relay.multiply(body, _scale(relay, np, 4, 1, 1)))


def after_bias_add(tvm, relay, np):
    """bias_add(conv, bias) * scale."""
    body = relay.nn.bias_add(_conv(relay, np, _data(relay)), _weight(relay, np, 4))
    return _module(tvm, relay, relay.multiply(body, _scale(relay, np, 4, 1, 1)))


def after_depthwise(tvm, relay, np):
    """Depthwise conv * scale: the scale is folded into the weight's first axis."""
    body = _conv(relay, np, _data(relay), groups=4)
    return _module(tvm, relay, relay.multiply(body, _scale(relay, np, 4, 1, 1)))


def after_grouped(tvm, relay, np):
    """conv with groups, but not depthwise, * scale: unchanged."""
    body = _conv(relay, np, _data(relay), groups=2)
    return _module(tvm, relay, relay.multiply(body, _scale(relay, np, 4, 1, 1)))


def after_shared(tvm, relay, np):
    """The unscaled convolution is also used elsewhere: unchanged."""
    conv = _conv(relay, np, _data(relay))
    scaled = relay.multiply(conv, _scale(relay, np, 4, 1, 1))
    return _module(tvm, relay, relay.add(scaled, conv))


def after_sum(tvm, relay, np):
    """(conv + conv) * scale: the scale is folded into both weights."""
    data = _data(relay)
    both = relay.add(_conv(relay, np, data), _conv(relay, np, relay.exp(data)))
    return _module(tvm, relay, relay.multiply(both, _scale(relay, np, 4, 1, 1)))


def after_dense(tvm, relay, np):
    """dense * scale: the scale is folded into the weight's first axis."""
    data = relay.var("data", shape=(2, 6))
    body = relay.nn.dense(data, _weight(relay, np, 4, 6), units=4)
    return _module(tvm, relay, relay.multiply(body, _scale(relay, np, 4)))


def after_conv_scalar(tvm, relay, np):
    """conv * one number: expanded and repeated for the channels."""
    body = relay.multiply(_conv(relay, np, _data(relay)), relay.const(2.0, "float32"))
    return _module(tvm, relay, body)


def after_conv_variable_weight(tvm, relay, np):
    """conv * scale with a variable weight: it becomes `weight * scale`."""
    weight = relay.var("weight", shape=(4, 4, 3, 3))
    conv = relay.nn.conv2d(_data(relay), weight, padding=(1, 1), channels=4, kernel_size=(3, 3))
    return _module(tvm, relay, relay.multiply(conv, _scale(relay, np, 4, 1, 1)))


def before_conv(tvm, relay, np):
    """conv(data * scale): the scale is folded into the weight's input axis."""
    scaled = relay.multiply(_data(relay), _scale(relay, np, 4, 1, 1))
    return _module(tvm, relay, _conv(relay, np, scaled))


def before_relu(tvm, relay, np):
    """conv(relu(data * positive scale + bias)): the bias is divided, the weight scaled."""
    scaled = relay.multiply(_data(relay), _scale(relay, np, 4, 1, 1))
    shifted = relay.add(scaled, _weight(relay, np, 4, 1, 1))
    return _module(tvm, relay, _conv(relay, np, relay.nn.relu(shifted)))


def before_two_convs(tvm, relay, np):
    """One scaled input, two convolutions: the scale is folded into both weights."""
    scaled = relay.multiply(_data(relay), _scale(relay, np, 4, 1, 1))
    body = relay.add(_conv(relay, np, scaled), _conv(relay, np, scaled))
    return _module(tvm, relay, body)


def before_conv_shared(tvm, relay, np):
    """The scaled input is also used directly: unchanged."""
    scaled = relay.multiply(_data(relay), _scale(relay, np, 4, 1, 1))
    return _module(tvm, relay, relay.add(_conv(relay, np, scaled), scaled))


def _gated(relay, np, data):
    """conv(data) * a gate computed from the data, as in squeeze-and-excitation."""
    features = _conv(relay, np, data)
    squeezed = _weight(relay, np, 4, 4, 1, 1)
    gate = relay.nn.conv2d(
        relay.nn.global_avg_pool2d(features), squeezed, channels=4, kernel_size=(1, 1)
    )
    return relay.multiply(features, relay.squeeze(relay.sigmoid(gate), axis=[0]))


def before_gates(tvm, relay, np):
    """Three convolutions, each folding the gate before it; the second gate depends on the first."""
    body = _data(relay)
    for _ in range(3):
        body = _gated(relay, np, body)
    return _module(tvm, relay, _conv(relay, np, body))


def after_gate_of_scaled(tvm, relay, np):
    """conv * a gate computed from a convolution that folds another scale."""
    first = relay.multiply(_conv(relay, np, _data(relay)), _scale(relay, np, 4, 1, 1))
    gate = relay.squeeze(relay.nn.global_avg_pool2d(first), axis=[0])
    return _module(tvm, relay, relay.multiply(_conv(relay, np, first), gate))


def before_projected(tvm, relay, np):
    """A field of a literal tuple: replaced, although there is nothing to fold."""
    pair = relay.Tuple([relay.nn.relu(_data(relay)), relay.var("other", shape=DATA)])
    return _module(tvm, relay, _conv(relay, np, relay.TupleGetItem(pair, 0)))


def _blocked(relay, np, data, *weight, **attrs):
    """A convolution with channels in blocks and a weight with this shape."""
    kernel = _weight(relay, np, *weight)
    return relay.nn.conv2d(data, kernel, kernel_size=(3, 3), padding=(1, 1), **attrs)


def _full(relay, np, data, data_layout="NCHW2c", out_layout="NCHW4c"):
    return _blocked(
        relay,
        np,
        data,
        *(2, 4, 3, 3, 2, 4),
        channels=8,
        data_layout=data_layout,
        kernel_layout="OIHW2i4o",
        out_layout=out_layout,
    )


def _in_blocks(relay):
    return relay.var("data", shape=(1, 4, 5, 5, 2))


def after_blocked(tvm, relay, np):
    """conv in blocks * scale per channel: folded into the weight's axes O and o."""
    scaled = relay.multiply(_full(relay, np, _in_blocks(relay)), _scale(relay, np, 2, 1, 1, 4))
    return _module(tvm, relay, scaled)


def after_blocked_channels_last(tvm, relay, np):
    """conv in NHWC2c to NHWC4c * scale per channel: the blocks come after the channels."""
    conv = _full(relay, np, relay.var("data", shape=(1, 5, 5, 4, 2)), "NHWC2c", "NHWC4c")
    return _module(tvm, relay, relay.multiply(conv, _scale(relay, np, 1, 1, 1, 2, 4)))


def after_blocked_relu_and_bias(tvm, relay, np):
    """relu(conv + bias) * positive scale, all in blocks."""
    conv = _full(relay, np, _in_blocks(relay))
    body = relay.nn.relu(relay.add(conv, _weight(relay, np, 1, 2, 1, 1, 4)))
    return _module(tvm, relay, relay.multiply(body, _scale(relay, np, 1, 2, 1, 1, 4)))


def after_blocked_scalar(tvm, relay, np):
    """conv * one number, with as many blocks as channels in a block."""
    weight = (2, 4, 3, 3, 2, 2)
    layouts = {"data_layout": "NCHW2c", "kernel_layout": "OIHW2i2o"}
    conv = _blocked(relay, np, _in_blocks(relay), *weight, channels=4, **layouts)
    return _module(tvm, relay, relay.multiply(conv, relay.const(2.0, "float32")))


def after_mixed_blocks(tvm, relay, np):
    """conv from a plain to a blocked layout, with a weight without input blocks: unchanged."""
    layouts = {"kernel_layout": "OIHW4o", "out_layout": "NCHW4c"}
    conv = _blocked(relay, np, _data(relay), *(2, 4, 3, 3, 4), channels=8, **layouts)
    return _module(tvm, relay, relay.multiply(conv, _scale(relay, np, 2, 1, 1, 4)))


def _depthwise_in_blocks(relay, np, data):
    return _blocked(
        relay,
        np,
        data,
        *(4, 1, 3, 3, 1, 2),
        channels=8,
        groups=8,
        data_layout="NCHW2c",
        kernel_layout="OIHW1i2o",
    )


def after_blocked_depthwise(tvm, relay, np):
    """Depthwise conv in blocks * scale."""
    conv = _depthwise_in_blocks(relay, np, _in_blocks(relay))
    return _module(tvm, relay, relay.multiply(conv, _scale(relay, np, 4, 1, 1, 2)))


def after_blocked_conv3d(tvm, relay, np):
    """conv3d in blocks * scale."""
    kernel = _weight(relay, np, 2, 2, 1, 1, 1, 2, 4)
    conv = relay.nn.conv3d(
        relay.var("data", shape=(1, 2, 3, 3, 3, 2)),
        kernel,
        channels=8,
        kernel_size=(1, 1, 1),
        data_layout="NCDHW2c",
        kernel_layout="OIDHW2i4o",
        out_layout="NCDHW4c",
    )
    return _module(tvm, relay, relay.multiply(conv, _scale(relay, np, 2, 1, 1, 1, 4)))


def before_blocked(tvm, relay, np):
    """conv in blocks of data * scale: folded into the weight's axes I and i."""
    scaled = relay.multiply(_in_blocks(relay), _scale(relay, np, 4, 1, 1, 2))
    return _module(tvm, relay, _full(relay, np, scaled))


def before_blocked_channels_last(tvm, relay, np):
    """conv in NHWC2c of data * scale: the blocks come after the channels."""
    data = relay.var("data", shape=(1, 5, 5, 4, 2))
    scaled = relay.multiply(data, _scale(relay, np, 4, 2))
    return _module(tvm, relay, _full(relay, np, scaled, "NHWC2c", "NHWC4c"))


def before_blocked_relu(tvm, relay, np):
    """conv of relu(data * positive scale + bias), all in blocks: the bias is divided."""
    scaled = relay.multiply(_in_blocks(relay), _scale(relay, np, 4, 1, 1, 2))
    shifted = relay.add(scaled, _weight(relay, np, 4, 1, 1, 2))
    return _module(tvm, relay, _full(relay, np, relay.nn.relu(shifted)))


def before_blocked_depthwise(tvm, relay, np):
    """Depthwise conv in blocks of data * scale: folded into the output axes."""
    scaled = relay.multiply(_in_blocks(relay), _scale(relay, np, 4, 1, 1, 2))
    return _module(tvm, relay, _depthwise_in_blocks(relay, np, scaled))
