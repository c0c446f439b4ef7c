"""Integer convolutions computed band by band with the operator after them: bit for bit the
reference, for each number of bands and threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl import native
from byoc_lab.relay import nn
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.run.reference import evaluate
from tests.backends.dnnl.test_quantized import function, integers, number, zero

pytestmark = pytest.mark.native


@pytest.mark.parametrize("each", [True, False])
@pytest.mark.parametrize("threads", [1, 2, 3])
@pytest.mark.parametrize(
    ("batch", "size", "channels"), [(1, 7, 1024), (2, 5, 20), (1, 1, 64), (1, 67, 128)]
)
def test_product_and_its_requantize_are_computed_in_bands(
    each: bool, threads: int, batch: int, size: int, channels: int
) -> None:
    """One band and several, of equal or different heights, more threads than rows; one scale or
    one for each channel."""
    rng = np.random.default_rng(size)
    data = relay.var("x", shape=(batch, 16, size, size), dtype="uint8")
    weight = relay.const(integers(rng, "int8", channels, 16, 1, 1))
    scales = relay.const(rng.uniform(0.001, 0.02, channels).astype(np.float32))
    product = qnn.conv2d(data, weight, zero(7), zero(), number(1), scales, kernel_size=(1, 1),
                         channels=channels)  # fmt: skip
    input_scale, axis = (scales, 1) if each else (number(0.007), -1)
    func = function(
        nn.relu(qnn.dequantize(
            qnn.requantize(product, input_scale, zero(), number(3), zero(-5), axis=axis,
                           out_dtype="int8"),
            number(0.1), zero(-5),
        ))
    )  # fmt: skip
    x = integers(rng, "uint8", batch, 16, size, size)
    with native.using_threads(threads):
        region = dnnl.compile_region(func, "r")
        for _ in range(2):
            np.testing.assert_array_equal(region(x)[0], evaluate(func, [x]).value)
    product_op, requantize_op = region.stats()["ops"][:2]
    assert requantize_op["impl"] == f"in bands of {product_op['name']}"


# Windows that overlap bands, images and padding: data, weight, attributes of the convolution.
WINDOWS = {
    "two bands of 3x3": ((1, 5, 65, 65), (33, 5, 3, 3), {"padding": (1, 1)}),
    "two images": ((2, 3, 50, 47), (32, 3, 3, 3), {"strides": (2, 1), "padding": (1, 0, 0, 2)}),
    "depthwise": ((1, 70, 60, 50), (70, 1, 3, 3), {"groups": 70, "padding": (1, 1)}),
    "dilated groups": ((1, 32, 49, 49), (64, 8, 2, 2), {"groups": 4, "dilation": (2, 2)}),
    "strided 1x1": ((1, 40, 99, 99), (70, 40, 1, 1), {"strides": (2, 2)}),
    "more channels than a band holds": ((1, 9, 2, 3), (2100, 9, 1, 1), {}),
}


def region_of(case: str, real: bool) -> Any:
    """A convolution with a requantize, or with a dequantize and post-ops; both end in float32."""
    shape, weight_shape, window = WINDOWS[case]
    rng = np.random.default_rng(len(case))
    channels = weight_shape[0]
    data = relay.var("x", shape=shape, dtype="uint8")
    scales = relay.const(rng.uniform(0.001, 0.02, channels).astype(np.float32))
    weight = relay.const(integers(rng, "int8", *weight_shape))
    product = qnn.conv2d(data, weight, zero(7), zero(), number(1), scales, channels=channels,
                         kernel_size=weight_shape[2:], **window)  # fmt: skip
    result: Expr
    if real:
        result = qnn.dequantize(product, scales, zero(), axis=1)
        result = nn.relu(
            relay.add(result, relay.const(rng.standard_normal((channels, 1, 1)).astype(np.float32)))
        )
    else:
        narrow = qnn.requantize(
            product, scales, zero(), number(3), zero(5), axis=1, out_dtype="uint8"
        )
        result = nn.relu(qnn.dequantize(narrow, number(0.1), zero(5)))
    return function(result)


@pytest.mark.parametrize("real", [True, False], ids=["dequantize", "requantize"])
@pytest.mark.parametrize("case", WINDOWS)
def test_convolution_in_bands_equals_reference(case: str, real: bool) -> None:
    func = region_of(case, real)
    x = integers(np.random.default_rng(3), "uint8", *WINDOWS[case][0])
    want = evaluate(func, [x]).value
    for threads in (1, 3):
        with native.using_threads(threads):
            region = dnnl.compile_region(func, "r")
        np.testing.assert_array_equal(region(x)[0], want)


def test_dequantize_with_post_ops_is_computed_in_bands_of_its_convolution() -> None:
    ops = dnnl.compile_region(region_of("more channels than a band holds", True), "r").stats()[
        "ops"
    ]
    assert ops[1]["impl"] == f"in bands of {ops[0]['name']}"
    assert ops[1]["post_ops_separate"] == ["add", "relu"]
