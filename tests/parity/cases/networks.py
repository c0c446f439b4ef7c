"""MobileNet v1 and a network of two of its blocks, with fixed parameters.

Parameters are drawn here, not by TVM's initializer: in the order of main's parameters, from
RandomState(0), with batch norm statistics other than 0 and 1, so that folding them has an effect.
"""

from __future__ import annotations


def fixed_parameters(np, function, skip=("data",)):
    """An array for each parameter of `function` (typed) except `skip`, by name."""
    random = np.random.RandomState(0)
    arrays = {}
    for param in function.params:
        name = param.name_hint
        if name in skip:
            continue
        shape = tuple(int(extent) for extent in param.checked_type.shape)
        if name.endswith(("gamma", "var")):
            array = random.uniform(0.5, 1.5, shape)
        elif len(shape) == 1:
            array = random.standard_normal(shape) * 0.1
        else:
            fan_in = int(np.prod(shape[1:]))
            array = random.standard_normal(shape) * np.sqrt(2.0 / fan_in)
        arrays[name] = array.astype(np.float32)
    return arrays


def with_constants(relay, np, mod):
    """`mod` with every parameter of main except `data` bound to a constant."""
    mod = relay.transform.InferType()(mod)
    main = mod["main"]
    mod["main"] = relay.build_module.bind_params_by_name(main, fixed_parameters(np, main))
    return relay.transform.InferType()(mod)


def mobilenet(tvm, relay, np):
    """MobileNet v1 for a 1x3x224x224 image, its weights as variables."""
    mod, _ = relay.testing.mobilenet.get_workload(batch_size=1)
    return mod


def mobilenet_constants(tvm, relay, np):
    return with_constants(relay, np, mobilenet(tvm, relay, np))


def small_net(tvm, relay, np):
    """Three convolutions (plain, depthwise, 1x1) with batch norm and relu; pool, dense, softmax."""

    def conv_bn_relu(name, data, weight_shape, stride=1, groups=1):
        channels, _, kernel, _ = weight_shape
        # Relay infers a convolution's weight type from its use only for a single group.
        shape = weight_shape if groups > 1 else None
        weight = relay.var(name + "_weight", shape=shape)
        statistics = [relay.var(f"{name}_bn_{part}") for part in ("gamma", "beta", "mean", "var")]
        half = (kernel - 1) // 2
        conv = relay.nn.conv2d(
            data,
            weight,
            strides=(stride, stride),
            padding=(half, half),
            channels=channels,
            kernel_size=(kernel, kernel),
            groups=groups,
        )
        return relay.nn.relu(relay.nn.batch_norm(conv, *statistics)[0])

    data = relay.var("data", shape=(1, 3, 16, 16))
    body = conv_bn_relu("stem", data, (8, 3, 3, 3), stride=2)
    body = conv_bn_relu("depthwise", body, (8, 1, 3, 3), groups=8)
    body = conv_bn_relu("pointwise", body, (16, 8, 1, 1))
    body = relay.nn.batch_flatten(relay.nn.global_avg_pool2d(body))
    body = relay.nn.dense(body, relay.var("fc_weight"), units=10)
    body = relay.nn.softmax(relay.nn.bias_add(body, relay.var("fc_bias")))
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(body), body))


def small_net_constants(tvm, relay, np):
    return with_constants(relay, np, small_net(tvm, relay, np))


def mobilenet_workload(tvm, relay, np):
    """MobileNet v1 with constant parameters drawn by `relay.testing`."""
    return _bound(relay, relay.testing.mobilenet.get_workload(batch_size=1))


def small_net_workload(tvm, relay, np):
    """The small network with constant parameters drawn by `relay.testing`."""
    return _bound(relay, relay.testing.create_workload(small_net(tvm, relay, np)["main"]))


def _bound(relay, workload):
    mod, params = workload
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    return relay.transform.InferType()(mod)


def _testing_network(tvm, relay, np, name, **options):
    mod, _ = getattr(relay.testing, name).get_workload(batch_size=1, **options)
    return with_constants(relay, np, mod)


def resnet18_constants(tvm, relay, np):
    """ResNet-18 for small images, with constant weights."""
    return _testing_network(
        tvm, relay, np, "resnet", num_layers=18, image_shape=(3, 32, 32), num_classes=10
    )


def squeezenet_constants(tvm, relay, np):
    """SqueezeNet 1.1 for small images, with constant weights."""
    return _testing_network(
        tvm, relay, np, "squeezenet", version="1.1", image_shape=(3, 64, 64), num_classes=10
    )


def mlp_constants(tvm, relay, np):
    """A perceptron with three layers and constant weights."""
    return _testing_network(tvm, relay, np, "mlp")


def dqn_constants(tvm, relay, np):
    """The network of deep Q-learning, with constant weights."""
    return _testing_network(tvm, relay, np, "dqn")


def dcgan_constants(tvm, relay, np):
    """The generator of a DCGAN (transposed convolutions), with constant weights."""
    mod, _ = relay.testing.dcgan.get_workload(batch_size=1, oshape=(3, 64, 64), ngf=8)
    return with_constants(relay, np, mod)
