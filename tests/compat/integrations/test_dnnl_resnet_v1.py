"""`rewrite_resnetv1` moves the strides of ResNet v1's stages into the previous block: equal
results, less work."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.compat.integrations.dnnl import rewrite_resnetv1
from byoc_lab.relay import IRModule, nn, structural_equal
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate
from tests.passes.framework.test_hook import _check as check_replay


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def stages(
    layout: str = "NCHW",
    pads: tuple[int, ...] = (0, 1, 0, 0, 1, 0, 0),
    strides: tuple[int, ...] = (1, 1, 1, 2, 1, 1, 2),
    bias: tuple[int, ...] | None = None,
    size: tuple[int, int] = (7, 6),
    read_twice: bool = False,
) -> IRModule:
    """The last block of a stage and the first block of the next; `bias`: the bias shape of the
    second."""
    last = layout == "NHWC"

    def conv(n: int, x: Expr, inputs: int, channels: int, kernel: int) -> Expr:
        weight = random(channels, inputs, kernel, kernel, seed=n)
        made = nn.conv2d(
            x, relay.const(weight.transpose(2, 3, 1, 0).copy() if last else weight),
            channels=channels, kernel_size=(kernel, kernel), strides=strides[n],
            padding=pads[n], data_layout=layout, kernel_layout="HWIO" if last else "OIHW",
        )  # fmt: skip
        shape = bias if bias and n == 1 else (channels,) if last else (channels, 1, 1)
        return made + relay.const(random(*shape, seed=n + 9))

    x = relay.var("x", shape=(2, *size, 4) if last else (2, 4, *size))
    inner = nn.relu(conv(1, nn.relu(conv(0, x, 4, 2, 1)), 2, 2, 3))
    block = nn.relu(conv(2, inner, 2, 4, 1) + x)
    inner = nn.relu(conv(4, nn.relu(conv(3, block, 4, 3, 1)), 3, 3, 3))
    result = nn.relu(conv(5, inner, 3, 6, 1) + conv(6, block, 4, 6, 1))
    return infer_module(IRModule.from_expr(relay.Tuple([result, block]) if read_twice else result))


def strides_of(mod: IRModule) -> list[tuple[int, ...]]:
    nodes = post_order(mod["main"])
    return [tuple(n.attrs.strides) for n in nodes if isinstance(n, Call) and n.is_op("nn.conv2d")]


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("size", [(7, 6), (8, 9)])
def test_rewritten_stages_compute_the_same_with_smaller_convolutions(
    layout: str, size: tuple[int, int]
) -> None:
    before = stages(layout, size=size)
    after = rewrite_resnetv1(before)
    assert strides_of(before)[3] == (2, 2)
    assert strides_of(after) == [(1, 1), (2, 2), *[(1, 1)] * 5]
    x = random(*before["main"].params[0].checked_type.concrete_shape, seed=3)
    old, new = (evaluate(m, [x]).value for m in (before, after))
    assert np.count_nonzero(old) > old.size / 8
    np.testing.assert_allclose(new, old, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "change",
    [
        {"pads": (0, 1, 0, 1, 1, 0, 1)},
        {"bias": (2, 7, 6)},
        {"bias": (6,)},
        {"read_twice": True},
        {"strides": (1, 1, 1, 1, 1, 1, 1)},
    ],
    ids=["pads", "a bias of places", "a bias along rows", "read elsewhere", "no strides"],
)
def test_stages_that_the_rewrite_would_change_numerically_are_left_alone(
    change: dict[str, Any],
) -> None:
    before = stages(**change)
    assert structural_equal(rewrite_resnetv1(before), before)


def test_rewrite_is_reported_as_an_event() -> None:
    trace = byoc_lab.trace(stages(), ["RewriteResNetV1"])
    check_replay(trace)
    assert [e.rule for stage in trace for e in stage.events] == ["ResNetV1Rewrite"]
