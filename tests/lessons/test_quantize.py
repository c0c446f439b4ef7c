"""The lessons' quantizer: int8 MobileNet is exact on DNNL and close to float32."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl.partition import partition_for_dnnl
from byoc_lab.errors import ArgumentError
from byoc_lab.lessons.quantize import quantize, quantized_weight
from byoc_lab.relay import nn, testing
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.inline import inlined
from byoc_lab.run.reference import evaluate


def test_each_channel_has_a_separate_scale() -> None:
    weight = np.random.default_rng(0).standard_normal((4, 3, 2, 2)).astype(np.float32)
    weight *= np.float32([1, 10, 100, 0]).reshape(4, 1, 1, 1)
    whole, scale = quantized_weight(weight)
    assert np.abs(whole).reshape(4, -1).max(1).tolist() == [127, 127, 127, 0]
    across = scale.reshape(4, 1, 1, 1)
    assert np.all(np.abs(whole * across - weight) <= across / 2 * 1.001)


@pytest.mark.parametrize(
    ("samples", "found"),
    [([], "found an empty one"), (np.zeros((9, 9)), "found ndarray"), (None, "found NoneType")],
)
def test_samples_other_than_a_list_of_arrays_are_refused(samples, found) -> None:
    with pytest.raises(ArgumentError, match=f"a list of at least one array, {found}$"):
        quantize(IRModule(), None, samples)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("last", [False, True])
@pytest.mark.parametrize(("sample", "weight"), [(0, 1), (1e-30, 1), (1, 0)])
def test_bias_that_is_huge_in_the_scale_of_the_sums_is_added_exactly(
    sample: float, weight: float, last: bool
) -> None:
    data = np.full((1, 3, 4, 4), sample, np.float32)
    weights = relay.const(np.full((4, 3, 3, 3), weight, np.float32))
    bias = relay.const(np.float32([-1, 0, 0.5, 2]))
    net = nn.relu(nn.bias_add(nn.conv2d(relay.var("x", shape=data.shape), weights), bias))
    mod = IRModule.from_expr(
        net if last else nn.conv2d(net, relay.const(np.ones((1, 4, 1, 1), "float32")))
    )
    real, whole = (evaluate(m, [data]).value for m in (mod, quantize(mod, None, [data])))
    np.testing.assert_allclose(whole, real, rtol=0.01, atol=0.01)


def test_quantized_mobilenet_is_close_to_float32() -> None:
    mod, params = testing.mobilenet.get_workload(image_shape=(3, 32, 32), num_classes=20)
    rng = np.random.default_rng(0)
    images = [rng.standard_normal((1, 3, 32, 32)).astype(np.float32) for _ in range(4)]
    narrow = quantize(mod, params, images[:2])
    names = [n.op.name for n in post_order(narrow["main"].body)
             if isinstance(n, relay.Call) and isinstance(n.op, Op)]  # fmt: skip
    assert names.count("qnn.conv2d") == 27
    assert names.count("qnn.requantize") == 27
    assert names.count("qnn.dense") == 1
    assert not {"nn.conv2d", "nn.dense", "nn.relu"} & set(names)
    for image in images:
        real = evaluate(mod, {"data": image, **params}).value
        whole = evaluate(narrow, [image]).value
        assert np.argmax(real) == np.argmax(whole)
        assert np.abs(real - whole).max() < 0.2 * real.max()


@pytest.mark.native
def test_quantized_mobilenet_is_exact_on_dnnl() -> None:
    mod, params = testing.mobilenet.get_workload(image_shape=(3, 32, 32), num_classes=20)
    rng = np.random.default_rng(0)
    images = [rng.standard_normal((1, 3, 32, 32)).astype(np.float32) for _ in range(3)]
    parted = partition_for_dnnl(quantize(mod, params, images[:2]))
    (region,) = [
        func
        for func in parted.functions.values()
        if func.attrs.get("Compiler") and "qnn.conv2d" in str(func)
    ]
    compiled = dnnl.compile_region(region, "mobilenet")
    kinds = [op["kind"] for op in compiled.graph["ops"]]
    assert kinds.count("conv2d") == 27
    assert kinds.count("requantize") == 27
    for image in images:
        (got,) = compiled(image)
        np.testing.assert_array_equal(got, evaluate(inlined(region), [image]).value)


def test_reference_pools_bfloat16_and_computes_it_in_wider_floats() -> None:
    values = np.arange(-8, 8).reshape(1, 1, 4, 4).astype(ml_dtypes.bfloat16)
    pooled = nn.max_pool2d(relay.const(values), pool_size=(2, 2), strides=(2, 2), padding=(1, 1))
    got = evaluate(pooled).value
    assert got.dtype == values.dtype
    np.testing.assert_array_equal(got[0, 0], [[-8, -6, -5], [0, 2, 3], [4, 6, 7]])
    assert evaluate(pooled, dtype="float64").value.dtype == np.float64
