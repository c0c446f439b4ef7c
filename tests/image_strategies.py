"""Random modules of operators on images, for the passes that change layouts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.relay import IRModule

SHAPE = (1, 4, 4, 4)  # in NHWC; square, so only values show a wrong layout
TYPE = relay.TensorType(SHAPE, "float32")


def _weight(seed: int, *shape: int) -> relay.Expr:
    values = np.random.RandomState(seed).uniform(-0.5, 0.5, shape)
    return relay.const(values.astype("float32"))


def conv(x: relay.Expr, seed: int, layout: str = "NHWC", **options: int) -> relay.Call:
    """A convolution from 4 channels to 4, of an image in `layout`."""
    groups = options.pop("groups", 1)
    kernel, shape = {
        "NHWC": ("HWIO", (3, 3, 4 // groups, 4)),
        "NCHW": ("OIHW", (4, 4 // groups, 3, 3)),
    }[layout]
    return relay.nn.conv2d(
        x,
        _weight(seed, *shape),
        padding=(1, 1),
        channels=4,
        kernel_size=(3, 3),
        groups=groups,
        data_layout=layout,
        kernel_layout=kernel,
    )


def _bridge(x: relay.Expr, seed: int) -> relay.Expr:
    """A convolution in the other layout, between two transposes."""
    y = relay.nn.relu(conv(relay.transpose(x, (0, 3, 1, 2)), seed, "NCHW"))
    return relay.transpose(y, (0, 2, 3, 1))


def _normed(x: relay.Expr, seed: int) -> relay.Expr:
    vectors = [relay.abs(_weight(seed + n, 4)) for n in range(4)]
    return relay.nn.batch_norm(x, *vectors, axis=3)[0]


def _cut_and_joined(x: relay.Expr, seed: int) -> relay.Expr:
    halves = [relay.strided_slice(x, [at], [at + 2], axes=[3]) for at in (2, 0)]
    return relay.concatenate(halves, axis=-1)


def split(x: relay.Expr, seed: int) -> relay.Expr:
    """Splits an image into halves, and concatenates them in reverse order."""
    halves = relay.split(x, 2, axis=3)
    return relay.concatenate([halves[1], relay.tanh(halves[0])], axis=3)


def _padded(x: relay.Expr, seed: int) -> relay.Expr:
    y = relay.nn.pad(x, ((0, 0), (1, 0), (0, 1), (0, 0)))
    return relay.strided_slice(y, [0, 1, 0, 0], [1, 5, 4, 4], [1, 1, 1, 1])


STEPS: tuple[Callable[[relay.Expr, int], relay.Expr], ...] = (
    conv,
    conv,
    lambda x, seed: conv(x, seed, groups=4),
    _bridge,
    _normed,
    _cut_and_joined,
    _padded,
    lambda x, seed: relay.nn.relu(x),
    lambda x, seed: relay.tanh(x),
    lambda x, seed: relay.add(x, _weight(seed, 4)),
    lambda x, seed: relay.multiply(_weight(seed, 1, 4, 1), x),
    lambda x, seed: relay.multiply(x, relay.const(0.5)),
    lambda x, seed: relay.nn.bias_add(x, _weight(seed, 4), axis=3),
    lambda x, seed: relay.nn.max_pool2d(x, (3, 3), padding=(1, 1), layout="NHWC"),
    lambda x, seed: relay.nn.upsampling(
        relay.nn.avg_pool2d(x, (2, 2), (2, 2), layout="NHWC"), 2, 2, layout="NHWC"
    ),
    lambda x, seed: relay.add(x, relay.nn.global_avg_pool2d(x, layout="NHWC")),
    lambda x, seed: relay.subtract(x, relay.mean(x, axis=[3], keepdims=True)),
    lambda x, seed: relay.add(x, relay.sum(x, axis=[1, 2])),
    lambda x, seed: relay.add(x, relay.expand_dims(relay.squeeze(relay.tanh(x), [0]), 0)),
    lambda x, seed: relay.nn.softmax(x, axis=3),
    lambda x, seed: relay.reshape(relay.nn.relu(relay.reshape(x, (8, 8))), SHAPE),
)


@st.composite
def modules(draw: st.DrawFn, more: tuple = (), lets: bool = True) -> IRModule:
    """A typed module whose @main takes two images, `x` and `y`, and returns one.

    more: additional functions, from an image and a seed to an image, drawn together with STEPS.
    """
    params = [relay.var(name, TYPE) for name in ("x", "y")]
    pool: list[relay.Expr] = list(params)
    for _ in range(draw(st.integers(2, 9))):
        step = draw(st.sampled_from((*STEPS, *more, "binary", "tuple")))
        a, b = draw(st.sampled_from(pool)), draw(st.sampled_from(pool))
        if step == "binary":
            pool.append(draw(st.sampled_from([relay.add, relay.maximum, relay.multiply]))(a, b))
        elif step == "tuple":
            pool.append(relay.TupleGetItem(relay.Tuple([a, relay.Tuple([b])]), 0))
        else:
            pool.append(step(pool[-1], draw(st.integers(0, 9))))
    body = pool[-1]
    if lets and draw(st.booleans()):
        name = relay.var("v", TYPE)
        body = relay.Let(name, body, relay.add(name, conv(name, 3)))
    mod = IRModule()
    mod["main"] = relay.Function(params, body)
    return relay.transform.InferType()(mod)


def inputs() -> dict[str, np.ndarray]:
    """Values for the parameters of a module from `modules`."""
    random = np.random.RandomState(7)
    return {n: random.uniform(-1, 1, SHAPE).astype("float32") for n in ("x", "y")}
