"""Graphs with operations that move no data (views), and with branches that are concatenated."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.dnnl.graph.net import RELU, Net

pytestmark = pytest.mark.native


def test_nhwc_network_has_no_reorders_inside() -> None:
    """Channels last at the edges is a view; convolutions keep their layouts in between."""
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


def test_view_of_a_view_and_reshape_of_a_transposed_tensor_equal_reference() -> None:
    net = Net()
    data = net.input(2, 3, 4)
    turned = net.op("transpose", [data], axes=(2, 0, 1))
    again = net.op("transpose", [turned], axes=(1, 0, 2))
    flat = net.op("reshape", [turned], shape=(4, 6))
    net.check(turned, again, flat, net.op("eltwise", [again], alg="tanh"))


def test_concatenated_branches_equal_reference() -> None:
    net = Net()
    data = net.input(1, 16, 6, 6)
    branches = [
        net.op("conv2d", [data, net.const(16, 16, 1, 1)]),
        net.op("conv2d", [data, net.const(8, 16, 3, 3)], padding=[1, 1, 1, 1]),
        data,
    ]
    joined = net.op("concat", branches, [{"kind": "eltwise", "alg": "relu"}], axis=1)
    net.check(net.op("reduce", [joined], alg="mean", axis=2), net.op("sum", [joined, joined]))


def test_contiguous_slices_are_views_without_a_copy() -> None:
    """A slice is contiguous if only axes of size 1 precede its axis. The slices of an input and of
    another slice are views, too, even as outputs."""
    net = Net()
    data = net.input(1, 4, 24)
    made = net.op("eltwise", [data], alg="tanh")
    parts = [net.op("slice", [made], axis=1, begin=n, length=1) for n in range(3)]
    inner = net.op("slice", [parts[1]], axis=-1, begin=5, length=7)
    given = net.op("slice", [data], axis=1, begin=1, length=2)
    region = net.check(
        parts[0], made, net.op("sum", [parts[0], parts[2]]), inner, given,
        net.op("eltwise", [inner], alg="exp"), net.op("eltwise", [given], alg="exp"),
    )  # fmt: skip
    slices = [op for op in region.stats()["ops"] if op["kind"] == "slice"]
    assert [op["impl"] for op in slices] == ["view"] * 5


def test_no_operation_overwrites_a_slice_or_its_source() -> None:
    """Fused sums and post-ops computed in place would change data that other operations read."""
    net = Net()
    made = net.op("eltwise", [net.input(1, 32)], alg="tanh")
    left, right = (net.op("slice", [made], axis=1, begin=n, length=16) for n in (0, 16))
    weight = net.const(16, 16)
    added = net.op("dense", [left, weight], [{"kind": "binary", "alg": "add", "input": right}])
    ends = net.op("slice", [made], [RELU], axis=1, begin=8, length=16)
    whole = net.op("dense", [made, net.const(32, 32)], [{"kind": "sum", "input": made}])
    net.check(added, ends, net.op("eltwise", [right], alg="exp"), whole)


def test_non_contiguous_slices_and_slices_of_constants_are_copied() -> None:
    net = Net()
    data = net.op("eltwise", [net.input(2, 8)], alg="tanh")
    cut = [
        net.op("slice", [data], axis=1, begin=2, length=4),
        net.op("slice", [data], axis=0, begin=1, length=2, step=-1),
        net.op("slice", [net.const(2, 8)], axis=0, begin=1, length=1),
    ]
    region = net.check(*cut, net.op("sum", [cut[0], cut[0]]))
    slices = [op for op in region.stats()["ops"] if op["kind"] == "slice"]
    assert [op["impl"] for op in slices] == ["rows"] * 3


def test_slices_that_another_batch_makes_non_contiguous_give_the_same_results() -> None:
    net = Net()
    made = net.op("eltwise", [net.input(1, 24)], alg="tanh")
    cut = net.op("slice", [made], axis=1, begin=6, length=12)
    cell = net.op("lstm_cell", [made, net.op("slice", [made], axis=1, begin=0, length=6)])
    region = net.check(cut, net.op("eltwise", [cut], alg="exp"), cell)
    data = np.random.default_rng(0).standard_normal((3, 24)).astype(np.float32)
    together = region(data)
    for n in range(3):
        for found, wanted in zip(together, region(data[n : n + 1]), strict=True):
            np.testing.assert_allclose(found[n : n + 1], wanted, rtol=1e-6)
