"""Modules for DNNL's pattern table, rewrites and pruning: one small module for each."""

from __future__ import annotations

ACTIVATIONS = ("relu", "tanh", "sigmoid", "clip", "gelu", "swish", "mish", "none")


def _constant(relay, np, *shape):
    return relay.const(np.random.RandomState(0).standard_normal(shape).astype("float32"))


def activate(relay, name, x):
    """`x` followed by an activation, decomposed as TVM's patterns require."""
    if name == "gelu":
        error = relay.erf(relay.divide(x, relay.const(1.41421356, "float32")))
        product = relay.multiply(x, relay.add(error, relay.const(1.0, "float32")))
        return relay.multiply(product, relay.const(0.5, "float32"))
    if name == "swish":
        return relay.multiply(x, relay.sigmoid(x))
    if name == "mish":
        return relay.multiply(
            x, relay.tanh(relay.log(relay.add(relay.exp(x), relay.const(1.0, "float32"))))
        )
    return {
        "relu": relay.nn.relu,
        "tanh": relay.tanh,
        "sigmoid": relay.sigmoid,
        "clip": lambda y: relay.clip(y, 0.0, 6.0),
        "none": lambda y: y,
    }[name](x)


def _module(tvm, relay, body):
    mod = tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))
    return relay.transform.InferType()(mod)


def _roots(relay, np):
    """Each operator that begins a chain: its call, and a bias for it."""
    nn = relay.nn

    def data(*shape):
        return relay.var("data", shape=shape)

    return {
        "conv1d": (
            nn.conv1d(data(1, 4, 9), _constant(relay, np, 6, 4, 3), channels=6, kernel_size=3),
            _constant(relay, np, 6, 1),
        ),
        "conv2d": (
            nn.conv2d(
                data(1, 4, 8, 8), _constant(relay, np, 6, 4, 3, 3), channels=6, kernel_size=(3, 3)
            ),
            _constant(relay, np, 6, 1, 1),
        ),
        "conv3d": (
            nn.conv3d(
                data(1, 4, 5, 6, 6),
                _constant(relay, np, 6, 4, 3, 3, 3),
                channels=6,
                kernel_size=(3, 3, 3),
            ),
            _constant(relay, np, 6, 1, 1, 1),
        ),
        "deconv2d": (
            nn.conv2d_transpose(
                data(1, 4, 8, 8), _constant(relay, np, 4, 6, 3, 3), channels=6, kernel_size=(3, 3)
            ),
            _constant(relay, np, 6, 1, 1),
        ),
        "dense": (
            nn.dense(data(2, 8), _constant(relay, np, 6, 8), units=6),
            _constant(relay, np, 6),
        ),
    }


def _chains(tvm, relay, np, root):
    """All activations after one operator, with and without a bias."""
    fields = []
    for name in ACTIVATIONS:
        call, vector = _roots(relay, np)[root]
        fields.append(activate(relay, name, relay.add(call, vector)))
        if name != "none":
            call, _ = _roots(relay, np)[root]
            fields.append(activate(relay, name, call))
    return _module(tvm, relay, relay.Tuple(fields))


def conv1d_chains(tvm, relay, np):
    """conv1d before every activation, with and without a bias."""
    return _chains(tvm, relay, np, "conv1d")


def conv2d_chains(tvm, relay, np):
    """conv2d before every activation, with and without a bias."""
    return _chains(tvm, relay, np, "conv2d")


def conv3d_chains(tvm, relay, np):
    """conv3d before every activation, with and without a bias."""
    return _chains(tvm, relay, np, "conv3d")


def deconv2d_chains(tvm, relay, np):
    """deconv2d before every activation, with and without a bias."""
    return _chains(tvm, relay, np, "deconv2d")


def dense_chains(tvm, relay, np):
    """dense before every activation, with and without a bias."""
    return _chains(tvm, relay, np, "dense")


def sums(tvm, relay, np):
    """A residual added after a bias, with and without relu; also after the bias of a dense.

    (TVM fails if the residual comes from a chain of an earlier table entry.)
    """
    residual = relay.var("residual", shape=(1, 6, 6, 6))
    fields = []
    for activation in ("relu", "none"):
        call, vector = _roots(relay, np)["conv2d"]
        added = relay.add(relay.add(call, vector), residual)
        fields.append(activate(relay, activation, added))
    call, vector = _roots(relay, np)["dense"]
    fields.append(relay.add(relay.add(call, vector), relay.var("row", shape=(2, 6))))
    return _module(tvm, relay, relay.Tuple(fields))


def residual_blocks(tvm, relay, np):
    """Two blocks whose sums read the result of an earlier chain of the same kind."""
    body = relay.var("data", shape=(1, 6, 6, 6))
    for _ in range(2):
        conv = relay.nn.conv2d(
            body, _constant(relay, np, 6, 6, 1, 1), channels=6, kernel_size=(1, 1)
        )
        body = relay.nn.relu(relay.add(relay.add(conv, _constant(relay, np, 6, 1, 1)), body))
    return _module(tvm, relay, body)


def added_from_the_left(tvm, relay, np):
    """A bias, an input residual and an operator's residual as left operands: TVM refuses them."""
    call, vector = _roots(relay, np)["conv2d"]
    residual = relay.nn.relu(relay.var("residual", shape=(1, 6, 6, 6)))
    fields = [
        relay.add(vector, call),
        relay.add(residual, relay.add(call, vector)),
        relay.nn.relu(relay.add(residual, relay.add(vector, call))),
    ]
    return _module(tvm, relay, relay.Tuple(fields))


def residual_without_bias(tvm, relay, np):
    call, _ = _roots(relay, np)["conv2d"]
    residual = relay.var("residual", shape=(1, 6, 6, 6))
    return _module(tvm, relay, relay.nn.relu(relay.add(call, residual)))


def residual_before_tanh(tvm, relay, np):
    """TVM's check looks only before relu, so this residual is matched as a "bias"."""
    call, _ = _roots(relay, np)["conv2d"]
    residual = relay.var("residual", shape=(1, 6, 6, 6))
    return _module(tvm, relay, relay.tanh(relay.add(call, residual)))


def layer_norm(tvm, relay, np):
    """A decomposed layer normalization between two dense layers."""
    data = relay.var("data", shape=(1, 4, 16))
    mean = relay.mean(data, axis=[-1], keepdims=True)
    centred = relay.subtract(data, mean)
    power = relay.power(relay.cast(centred, "float32"), relay.const(2.0, "float32"))
    variance = relay.mean(power, axis=[-1], keepdims=True)
    root = relay.sqrt(relay.add(variance, relay.const(1e-5, "float32")))
    scaled = relay.multiply(relay.divide(centred, root), _constant(relay, np, 16))
    return _module(tvm, relay, relay.add(scaled, _constant(relay, np, 16)))


def layer_norm_by_variance(tvm, relay, np):
    data = relay.var("data", shape=(1, 4, 16))
    mean = relay.mean(data, axis=[-1], keepdims=True)
    variance = relay.variance(data, axis=[-1], keepdims=True, with_mean=mean)
    shifted = relay.add(variance, relay.const(1e-5, "float32"))
    normal = relay.divide(relay.subtract(data, mean), relay.sqrt(shifted))
    scaled = relay.multiply(normal, _constant(relay, np, 16))
    return _module(tvm, relay, relay.add(scaled, _constant(relay, np, 16)))


def _reshaped_dense(relay, np):
    rows = relay.var("rows", shape=(6, 8))
    dense = relay.nn.dense(rows, _constant(relay, np, 16, 8))
    return relay.add(_constant(relay, np, 16), relay.reshape(dense, (2, 3, 16)))


def dense_reshape_bias(tvm, relay, np):
    return _module(tvm, relay, _reshaped_dense(relay, np))


def dense_reshape_bias_gelu(tvm, relay, np):
    return _module(tvm, relay, activate(relay, "gelu", _reshaped_dense(relay, np)))


def light_regions(tvm, relay, np):
    """Two regions, separated by an operator that DNNL does not support; the second is cheap."""
    call, vector = _roots(relay, np)["conv2d"]
    heavy = relay.erf(relay.nn.relu(relay.add(call, vector)))
    return _module(tvm, relay, relay.erf(relay.multiply(relay.exp(heavy), relay.tanh(heavy))))


def _resnet_conv(relay, np, x, inputs, channels, size, stride=1, pad=0):
    weight = _constant(relay, np, channels, inputs, size, size)
    made = relay.nn.conv2d(
        x, weight, channels=channels, kernel_size=(size, size), strides=(stride, stride),
        padding=(pad, pad),
    )  # fmt: skip
    return relay.add(made, _constant(relay, np, channels, 1, 1))


def resnet_v1_stages(tvm, relay, np):
    """The last block of a stage of ResNet v1, and the first block of the next."""
    relu = relay.nn.relu
    x = relay.var("data", shape=(1, 4, 7, 6))
    inner = relu(_resnet_conv(relay, np, x, 4, 2, 1))
    inner = relu(_resnet_conv(relay, np, inner, 2, 2, 3, pad=1))
    block = relu(relay.add(_resnet_conv(relay, np, inner, 2, 4, 1), x))
    inner = relu(_resnet_conv(relay, np, block, 4, 3, 1, stride=2))
    inner = relu(_resnet_conv(relay, np, inner, 3, 3, 3, pad=1))
    left = _resnet_conv(relay, np, inner, 3, 6, 1)
    right = _resnet_conv(relay, np, block, 4, 6, 1, stride=2)
    return _module(tvm, relay, relu(relay.add(left, right)))


def _quantized_chain(tvm, relay, np, kind, summed=False, layout="NCHW", point=5, dtype="uint8"):
    """product, bias, requantize, clip, cast (, qnn.add, clip), as importers produce them."""
    random = np.random.RandomState(3)

    def number(value, dtype="float32"):
        return relay.const(np.array(value, dtype))

    def zero(value):
        return number(value, "int32")

    rest = (zero(point), zero(0), number(0.5), number(0.25))
    if kind == "dense":
        x = relay.var("data", shape=(2, 8), dtype="uint8")
        weight = relay.const(random.randint(-9, 9, (6, 8)).astype("int8"))
        made, shape, axis = relay.qnn.op.dense(x, weight, *rest, units=6), (6,), 1
    else:
        nchw = layout == "NCHW"
        x = relay.var("data", shape=(1, 4, 6, 6) if nchw else (1, 6, 6, 4), dtype="uint8")
        weight = random.randint(-9, 9, (6, 4, 3, 3) if nchw else (3, 3, 4, 6)).astype("int8")
        made = relay.qnn.op.conv2d(
            x, relay.const(weight), *rest, kernel_size=(3, 3), channels=6, data_layout=layout,
            kernel_layout="OIHW" if nchw else "HWIO",
        )  # fmt: skip
        shape, axis = ((1, 6, 1, 1), 1) if nchw else ((1, 1, 1, 6), 3)
    made = relay.add(made, relay.const(random.randint(-50, 50, shape).astype("int32")))
    made = relay.qnn.op.requantize(
        made, number(0.125), zero(0), number(2.0), zero(7), axis=axis, out_dtype="int32"
    )
    made = relay.cast(relay.clip(made, 0, 255), dtype)
    if summed:
        other = relay.var("other", relay.transform.InferTypeLocal(made))
        pairs = (number(0.5), zero(1), number(0.25), zero(2), number(0.75), zero(3))
        made = relay.clip(relay.qnn.op.add(made, other, *pairs), 0, 255)
    return _module(tvm, relay, made)


def quantized_conv(tvm, relay, np):
    """A quantized convolution with a bias."""
    return _quantized_chain(tvm, relay, np, "conv2d")


def quantized_conv_sum(tvm, relay, np):
    """A quantized convolution with a bias and an added tensor."""
    return _quantized_chain(tvm, relay, np, "conv2d", summed=True)


def quantized_conv_last(tvm, relay, np):
    """A quantized convolution with channels last."""
    return _quantized_chain(tvm, relay, np, "conv2d", layout="NHWC")


def quantized_dense(tvm, relay, np):
    """A quantized dense with a bias and an added tensor."""
    return _quantized_chain(tvm, relay, np, "dense", summed=True)
