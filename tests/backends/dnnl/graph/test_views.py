"""Ops that move nothing by themselves, and branches that are joined, in graphs."""

from __future__ import annotations

import pytest

from tests.backends.dnnl.graph.net import Net

pytestmark = pytest.mark.native


def test_a_network_in_nhwc_moves_nothing_inside() -> None:
    """Channels last at the edges are a view; convolutions keep their layouts between."""
    net = Net()
    rows = net.input(1, 8, 9, 32)
    tensor = net.op("transpose", [rows], axes=(0, 3, 1, 2))
    for _ in range(2):
        tensor = net.op("conv2d", [tensor, net.const(32, 32, 3, 3)], padding=[1, 1, 1, 1])
        tensor = net.op("transpose", [tensor], axes=(0, 2, 3, 1))
        tensor = net.op("transpose", [tensor], axes=(0, 3, 1, 2))
    region = net.check(net.op("transpose", [tensor], axes=(0, 2, 3, 1)), tensor)
    convolutions = [op for op in region.stats()["ops"] if op["kind"] == "conv2d"]
    assert sum(op["reorders"] for op in convolutions) <= 3  # the input, the two outputs
    assert convolutions[1]["input_layouts"]["data"] == convolutions[0]["dst_layout"]


def test_a_view_of_a_view_and_a_reshape_of_a_transposed_tensor() -> None:
    net = Net()
    data = net.input(2, 3, 4)
    turned = net.op("transpose", [data], axes=(2, 0, 1))
    again = net.op("transpose", [turned], axes=(1, 0, 2))
    flat = net.op("reshape", [turned], shape=(4, 6))
    net.check(turned, again, flat, net.op("eltwise", [again], alg="tanh"))


def test_branches_are_joined() -> None:
    net = Net()
    data = net.input(1, 16, 6, 6)
    branches = [
        net.op("conv2d", [data, net.const(16, 16, 1, 1)]),
        net.op("conv2d", [data, net.const(8, 16, 3, 3)], padding=[1, 1, 1, 1]),
        data,
    ]
    joined = net.op("concat", branches, [{"kind": "eltwise", "alg": "relu"}], axis=1)
    net.check(net.op("reduce", [joined], alg="mean", axis=2), net.op("sum", [joined, joined]))
