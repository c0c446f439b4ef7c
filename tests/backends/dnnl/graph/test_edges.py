"""Values that cross a region's boundary: weights given at run time, several outputs, inputs as
outputs."""

from __future__ import annotations

import numpy as np
import pytest

from tests.backends.dnnl.graph.net import RELU, Net

pytestmark = pytest.mark.native
IMAGE = (2, 8, 6, 6)

# kind -> shapes of its operands, attributes
OPERANDS = {
    "conv1d": ([(2, 8, 9), (16, 8, 3), (16,)], {"padding": [1, 1]}),
    "conv2d": ([IMAGE, (16, 4, 3, 3), (16, 1, 1)], {"groups": 2}),
    "conv3d": ([(1, 3, 4, 5, 6), (2, 3, 3, 2, 1), (2,)], {}),
    "conv1d_transpose": ([(2, 8, 9), (4, 8, 3), (4,)], {"strides": [2]}),
    "conv2d_transpose": ([IMAGE, (16, 8, 3, 3), (16,)], {}),
    "conv3d_transpose": ([(1, 3, 4, 5, 6), (2, 3, 2, 2, 2), (2,)], {}),
    "dense": ([(3, 20), (7, 20), (7,)], {}),
    "matmul": ([(2, 3, 20), (20, 7), (7,)], {}),
    "batch_norm": ([IMAGE, (8,), (8,), (8,), (8,)], {"epsilon": 1e-3}),
    "layer_norm": ([(2, 5, 8), (8,), (8,)], {"epsilon": 1e-3}),
    "binary": ([IMAGE, (8, 1, 1)], {"alg": "mul"}),
    "sum": ([IMAGE, IMAGE, IMAGE], {}),
    "concat": ([IMAGE, (2, 3, 6, 6)], {"axis": 1}),
    "lstm_cell": ([(3, 20), (3, 5)], {}),
}


@pytest.mark.parametrize("kind", OPERANDS)
@pytest.mark.parametrize("runtime", ["all", "weights"])
def test_weights_given_at_run_time_are_read_in_each_call(kind: str, runtime: str) -> None:
    """First every operand is an input; then the first is a constant and only its weights are
    inputs."""
    shapes, attrs = OPERANDS[kind]
    net = Net()
    positive = kind == "batch_norm"
    operands = [
        net.given(
            "constants" if n == 0 and runtime == "weights" else "inputs",
            *shape,
            positive=positive and n == len(shapes) - 1,
        )
        for n, shape in enumerate(shapes)
    ]
    region = net.check(net.op(kind, operands, [RELU], **attrs))
    # Weights of one call must not remain for the next one.
    (output,) = region.graph["outputs"]
    first = region(*net.arrays["inputs"])[0]
    other = [np.abs(value) + np.float32(0.25) for value in net.arrays["inputs"]]
    assert not np.array_equal(region(*other)[0], first)
    np.testing.assert_array_equal(region(*net.arrays["inputs"])[0], first)
    assert first.shape == tuple(region.graph["tensors"][output]["shape"])


def test_output_that_is_also_read_inside_is_right() -> None:
    net = Net()
    first = net.op("conv2d", [net.input(*IMAGE), net.const(8, 8, 3, 3)], padding=[1, 1, 1, 1])
    second = net.op(
        "conv2d",
        [first, net.const(8, 8, 3, 3)],
        [{"kind": "sum", "input": first}, RELU],
        padding=[1, 1, 1, 1],
    )
    third = net.op("binary", [first, second], alg="mul")
    net.check(first, second, third)
    net.check(third, first)


def test_sum_into_an_output_leaves_the_output_unchanged() -> None:
    net = Net()
    kept = net.op("eltwise", [net.input(4, 6)], alg="tanh")
    summed = net.op(
        "dense", [net.input(4, 6), net.const(6, 6)], [{"kind": "sum", "input": kept, "scale": 0.5}]
    )
    net.check(summed, kept)


@pytest.mark.parametrize("times", [2, 3])
def test_one_tensor_may_be_several_outputs(times: int) -> None:
    net = Net()
    data = net.input(3, 5)
    result = net.op("eltwise", [data], alg="tanh")
    net.check(*[result] * times)
    net.check(*[data] * times, result)


def test_inputs_constants_and_views_may_be_outputs() -> None:
    net = Net()
    data, unused, constant = net.input(2, 6), net.input(7), net.const(3)
    turned = net.op("transpose", [data], axes=(1, 0))
    flat = net.op("reshape", [turned], shape=(12,))
    net.check(data, constant, turned, flat, unused, constant)


def test_region_without_operations_returns_inputs_and_constants() -> None:
    net = Net()
    net.check(net.input(2, 3), net.const(4), net.const())


def test_scalar_input_gives_scalar_output() -> None:
    net = Net()
    number = net.input()
    net.check(net.op("eltwise", [number], alg="tanh"), number)


def test_operation_whose_result_is_not_read_changes_nothing() -> None:
    net = Net()
    data = net.input(2, 3)
    net.op("dense", [data, net.const(4, 3)])
    net.check(net.op("eltwise", [data], alg="relu"))


def test_one_tensor_may_be_all_operands() -> None:
    net = Net()
    data = net.input(4, 4)
    product = net.op("matmul", [data, data], [{"kind": "binary", "alg": "add", "input": data}])
    again = net.op("binary", [product, product], [{"kind": "sum", "input": product}], alg="mul")
    net.check(again, net.op("sum", [again, again, data]), net.op("concat", [data] * 5, axis=0))
