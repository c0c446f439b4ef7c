"""Products by kernels of this library: of one row, and transposed convolutions whose windows do not
overlap."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab.backends.dnnl.native import DnnlRegion
from tests.backends.dnnl.graph.net import RELU, Net

pytestmark = pytest.mark.native


@pytest.mark.parametrize("depth", [1, 15, 48, 257])
@pytest.mark.parametrize("width", [31, 32, 64, 65, 200])
@pytest.mark.parametrize("biased", [False, True])
def test_dense_of_one_row_equals_reference(depth: int, width: int, biased: bool) -> None:
    net = Net()
    operands = [net.input(1, depth), net.const(width, depth)]
    net.check(net.op("dense", [*operands, *([net.const(width)] if biased else [])], [RELU]))


@pytest.mark.parametrize("width", [32, 67])
@pytest.mark.parametrize("row", [True, False])
def test_post_ops_of_a_dense_of_one_row_equal_reference(width: int, row: bool) -> None:
    """The library's kernel lacks relu, so oneDNN computes the second dense."""
    net = Net()
    data, other = net.input(1, 20), net.input(*([1, width] if row else [1]))
    post_ops = [
        {"kind": "binary", "alg": "mul", "input": other},
        {"kind": "eltwise", "alg": "linear", "alpha": 0.5, "beta": -0.25},
        {"kind": "eltwise", "alg": "tanh"},
        {"kind": "binary", "alg": "add", "input": other},
        {"kind": "eltwise", "alg": "sigmoid"},
    ]
    made = [
        net.op("dense", [data, net.const(width, 20), net.const(width)], [*post_ops, *more])
        for more in ([], [RELU])
    ]
    region = net.check(*made)
    assert [len(op["post_ops_fused"]) for op in region.stats()["ops"]] == [5, 6]


@pytest.mark.parametrize("scale", [1.0, 0.5])
def test_sum_after_a_dense_of_one_row_equals_reference(scale: float) -> None:
    net = Net()
    data, weight = net.input(1, 40), net.const(40, 40)
    first = net.op("dense", [data, weight], [{"kind": "eltwise", "alg": "tanh"}])
    net.check(net.op("dense", [data, weight], [{"kind": "sum", "input": first, "scale": scale}]))


def test_dense_of_one_row_after_another_with_the_same_weight_equals_reference() -> None:
    """Every second dense reads the weight backwards."""
    net = Net()
    made, weight, bias = net.input(1, 130), net.const(130, 130), net.const(130)
    for _ in range(3):
        made = net.op("dense", [made, weight, bias], [{"kind": "eltwise", "alg": "tanh"}])
    net.check(made)


DISJOINT = [
    ((2, 3, 9), (4, 3, 3)),
    ((2, 5, 6, 7), (3, 5, 2, 2)),
    ((1, 4, 3, 5), (1, 4, 3, 2)),
    ((2, 3, 37, 40), (24, 3, 2, 2)),  # bands of rows, the last one overlaps
    ((1, 2, 3, 4, 5), (3, 2, 2, 1, 2)),
    ((1, 128, 6, 6), (8, 128, 2, 2)),
]


@pytest.mark.parametrize(("data", "weight"), DISJOINT)
@pytest.mark.parametrize("role", ["inputs", "constants"])
def test_transposed_convolution_with_disjoint_windows_equals_reference(
    data: tuple[int, ...], weight: tuple[int, ...], role: str
) -> None:
    net = Net()
    operands = [net.input(*data), net.given(role, *weight), net.const(weight[0])]
    kind = f"conv{len(data) - 2}d_transpose"
    made = net.op(kind, operands, [RELU], strides=list(weight[2:]))
    (op,) = net.check(made).stats()["ops"]
    assert op["impl"] == "blocks"


@pytest.mark.parametrize("threads", [2, 3])
def test_number_of_threads_does_not_change_the_results_bits(threads: int) -> None:
    net = Net()
    image = net.input(2, 16, 37, 40)
    net.graph["outputs"] = [
        net.op("conv2d_transpose", [image, net.const(24, 16, 2, 2)], strides=[2, 2]),
        net.op("dense", [net.input(1, 1000), net.const(1000, 1000)]),
    ]
    regions = [
        DnnlRegion(net.graph, net.arrays["constants"], threads=count) for count in (1, threads)
    ]
    one, several = (region(*net.arrays["inputs"]) for region in regions)
    for first, second in zip(one, several, strict=True):
        np.testing.assert_array_equal(first, second)
