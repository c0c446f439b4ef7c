"""Normalizations compared with ONNX Runtime."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.relay import nn
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.to_relax import to_relax
from byoc_lab.transform import InferType
from tests.relay.op.onnx_runs import numbers, run, run_onnx

NORMALISATIONS = [
    (
        lambda x, g, b: nn.layer_norm(x, g, b, axis=-1, epsilon=0.01),
        "LayerNormalization",
        5,
        {"axis": -1, "epsilon": 0.01},
    ),
    (
        lambda x, g, b: nn.instance_norm(x, g, b, epsilon=0.01),
        "InstanceNormalization",
        4,
        {"epsilon": 0.01},
    ),
]


@pytest.mark.parametrize(("call", "op", "channels", "options"), NORMALISATIONS)
def test_normalization_agrees_with_onnxruntime(call, op, channels, options) -> None:
    data = numbers((2, 4, 3, 5), 0), numbers((channels,), 1), numbers((channels,), 2)
    np.testing.assert_allclose(
        run(call, *data), run_onnx(op, *data, **options), rtol=1e-4, atol=1e-5
    )


def test_batch_norm_agrees_with_onnxruntime() -> None:
    x, gamma, beta, mean = numbers((2, 4, 3, 5), 0), *(numbers((4,), n) for n in (1, 2, 3))
    variance = numbers((4,), 4) ** 2 + 0.1
    data = (x, gamma, beta, mean, variance)
    found = run(lambda *args: nn.batch_norm(*args, epsilon=0.01)[0], *data)
    wanted = run_onnx("BatchNormalization", *data, epsilon=0.01)
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("norm", [nn.instance_norm, lambda *x: nn.group_norm(*x, num_groups=2)])
def test_built_norm_of_equal_large_elements_has_no_nan(norm) -> None:
    """Their mean is rounded, and epsilon divides the difference; the variance must not be
    negative."""
    values = np.float32([1000.1, 3e4, -123456.7, 0.1, 0])
    x = np.broadcast_to(values[:, None, None, None], (5, 4, 5, 5)).copy()
    vectors = [relay.const(np.full(4, n, "float32")) for n in (1, 0)]
    built = byoc_lab.build(IRModule.from_expr(norm(relay.var("x", shape=x.shape), *vectors)))
    found = np.asarray(built(x)[0])
    most = 25 * np.abs(values) * np.finfo("float32").eps / np.sqrt(1e-5)  # sums of 25 or 50 values
    assert (np.abs(found) <= np.minimum(most, 1)[:, None, None, None]).all()


@pytest.mark.parametrize("name", ["group_norm", "instance_norm"])
def test_norm_becomes_the_relax_operator_except_in_a_build(name) -> None:
    """Relax patterns contain the operator; build compiles a form with less rounding."""
    options = {"num_groups": 2} if name == "group_norm" else {}
    x, vectors = relay.var("x", shape=(1, 4, 5, 5)), [relay.const(np.ones(4, "float32"))] * 2
    norm = getattr(nn, name)(x, *vectors, **options)
    main = relay.transform.InferType()(IRModule.from_expr(norm))["main"]
    assert f"R.nn.{name}(" in str(to_relax(main))
    assert f"R.nn.{name}(" not in str(to_relax(main, built=True))


NORMS = {
    "batch_norm": lambda x, *vectors: nn.batch_norm(x, *vectors)[0],
    "layer_norm": lambda x, g, b, *_: nn.layer_norm(x, g, b, axis=1),
    "group_norm": lambda x, g, b, *_: nn.group_norm(x, g, b, num_groups=2),
    "instance_norm": lambda x, g, b, *_: nn.instance_norm(x, g, b),
}


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16])
@pytest.mark.parametrize("norm", NORMS.values(), ids=NORMS)
def test_norm_of_16_bit_floats_is_computed_in_float32_and_rounded_once(norm, dtype) -> None:
    """Elements whose terms cancel differ by several percent if each step is rounded."""
    numbers_of = np.random.default_rng(0).uniform
    arrays = [numbers_of(0.1, 1, shape).astype(dtype) for shape in ((2, 4, 8, 8), *[(4,)] * 4)]

    def module(kind: str) -> IRModule:
        parameters = [relay.var(f"x{n}", shape=a.shape, dtype=kind) for n, a in enumerate(arrays)]
        return InferType()(IRModule.from_expr(relay.Function(parameters, norm(*parameters))))

    (exact,) = byoc_lab.evaluate(module("float32"), [a.astype("float32") for a in arrays]).outputs
    rounded, narrow = exact.astype(dtype).astype("float64"), module(np.dtype(dtype).name)
    (evaluated,) = byoc_lab.evaluate(narrow, arrays).outputs
    np.testing.assert_array_equal(evaluated.astype("float64"), rounded)
    found = np.asarray(byoc_lab.build(narrow)(*arrays)[0]).astype("float64")
    np.testing.assert_allclose(
        found, rounded, rtol=2 * float(ml_dtypes.finfo(dtype).eps), atol=1e-6
    )
