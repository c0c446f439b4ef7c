"""What DNNL's pattern table, rewrites and pruning are for: one small module for each."""

from __future__ import annotations

ACTIVATIONS = ("relu", "tanh", "sigmoid", "clip", "gelu", "swish", "mish", "none")


def _constant(relay, np, *shape):
    return relay.const(np.random.RandomState(0).standard_normal(shape).astype("float32"))


def activate(relay, name, x):
    """`x` under an activation, spelled as TVM's patterns want it."""
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
    """Each operator that chains begin with: its call, and a bias for it."""
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
    """All activations behind one operator, with and without a bias."""
    fields = []
    for name in ACTIVATIONS:
        call, vector = _roots(relay, np)[root]
        fields.append(activate(relay, name, relay.add(call, vector)))
        if name != "none":
            call, _ = _roots(relay, np)[root]
            fields.append(activate(relay, name, call))
    return _module(tvm, relay, relay.Tuple(fields))


def conv1d_chains(tvm, relay, np):
    """conv1d under every activation, with and without a bias."""
    return _chains(tvm, relay, np, "conv1d")


def conv2d_chains(tvm, relay, np):
    """conv2d under every activation, with and without a bias."""
    return _chains(tvm, relay, np, "conv2d")


def conv3d_chains(tvm, relay, np):
    """conv3d under every activation, with and without a bias."""
    return _chains(tvm, relay, np, "conv3d")


def deconv2d_chains(tvm, relay, np):
    """deconv2d under every activation, with and without a bias."""
    return _chains(tvm, relay, np, "deconv2d")


def dense_chains(tvm, relay, np):
    """dense under every activation, with and without a bias."""
    return _chains(tvm, relay, np, "dense")


def sums(tvm, relay, np):
    """A residual behind a bias, with relu and without, and one behind the bias of a dense.

    (TVM fails where a residual was made by a chain of an earlier entry of the table.)
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
    """Two blocks whose sums read what an earlier chain of the same kind made."""
    body = relay.var("data", shape=(1, 6, 6, 6))
    for _ in range(2):
        conv = relay.nn.conv2d(
            body, _constant(relay, np, 6, 6, 1, 1), channels=6, kernel_size=(1, 1)
        )
        body = relay.nn.relu(relay.add(relay.add(conv, _constant(relay, np, 6, 1, 1)), body))
    return _module(tvm, relay, body)


def residual_without_bias(tvm, relay, np):
    call, _ = _roots(relay, np)["conv2d"]
    residual = relay.var("residual", shape=(1, 6, 6, 6))
    return _module(tvm, relay, relay.nn.relu(relay.add(call, residual)))


def residual_before_tanh(tvm, relay, np):
    """TVM's check looks before relu alone, so this becomes a "bias"."""
    call, _ = _roots(relay, np)["conv2d"]
    residual = relay.var("residual", shape=(1, 6, 6, 6))
    return _module(tvm, relay, relay.tanh(relay.add(call, residual)))


def layer_norm(tvm, relay, np):
    """A layer normalisation that is spelled out, between two dense layers."""
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
    """Two regions, parted by an operator that DNNL does not take; the second one is light."""
    call, vector = _roots(relay, np)["conv2d"]
    heavy = relay.erf(relay.nn.relu(relay.add(call, vector)))
    return _module(tvm, relay, relay.erf(relay.multiply(relay.exp(heavy), relay.tanh(heavy))))
