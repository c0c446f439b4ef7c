"""The networks of the partitioning threads: blocks of conv2d, batch norm and relu."""

from __future__ import annotations

IMAGE = (1, 3, 224, 224)
CHANNELS = 16


def block(relay, prefix, data):
    """One block whose parameters are variables; their types are inferred."""
    weight = relay.var(prefix + "weight")
    statistics = [relay.var(prefix + "bn_" + name) for name in ("gamma", "beta", "mean", "var")]
    conv = relay.nn.conv2d(
        data=data, weight=weight, kernel_size=(3, 3), channels=CHANNELS, padding=(1, 1)
    )
    return relay.nn.relu(relay.nn.batch_norm(conv, *statistics)[0])


def constant_block(relay, np, random, data, in_channels):
    """One block whose parameters are constants. Variances are positive, so there is no NaN."""

    def normal(*shape):
        return relay.const(random.standard_normal(shape).astype(np.float32))

    weight = normal(CHANNELS, in_channels, 3, 3)
    gamma, beta, mean = normal(CHANNELS), normal(CHANNELS), normal(CHANNELS)
    variance = relay.const(random.uniform(0.5, 1.5, CHANNELS).astype(np.float32))
    conv = relay.nn.conv2d(
        data=data, weight=weight, kernel_size=(3, 3), channels=CHANNELS, padding=(1, 1)
    )
    return relay.nn.relu(relay.nn.batch_norm(conv, gamma, beta, mean, variance)[0])


def chain(tvm, relay, blocks):
    result = relay.var("data", relay.TensorType(IMAGE, "float32"))
    for number in range(1, blocks + 1):
        result = block(relay, f"layer{number}_", result)
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(result), result))


def constant_chain(relay, np, blocks):
    random = np.random.RandomState(0)
    result = relay.var("data", relay.TensorType(IMAGE, "float32"))
    for number in range(blocks):
        result = constant_block(relay, np, random, result, CHANNELS if number else IMAGE[1])
    net = relay.Function(relay.analysis.free_vars(result), result)
    return relay.testing.create_workload(net)[0]


def one_block(tvm, relay, np):
    return chain(tvm, relay, 1)


def two_blocks(tvm, relay, np):
    return chain(tvm, relay, 2)


def three_blocks(tvm, relay, np):
    return chain(tvm, relay, 3)


def parallel_blocks(tvm, relay, np):
    """Two blocks on one image, side by side, concatenated along the channels."""
    data = relay.var("data", relay.TensorType(IMAGE, "float32"))
    branches = (block(relay, "layer1_", data), block(relay, "layer1_2_", data))
    result = relay.concatenate(branches, axis=1)
    return tvm.IRModule.from_expr(relay.Function(relay.analysis.free_vars(result), result))


def one_block_constants(tvm, relay, np):
    return constant_chain(relay, np, 1)


def two_blocks_constants(tvm, relay, np):
    return constant_chain(relay, np, 2)
