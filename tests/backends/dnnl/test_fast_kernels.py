"""No form that DNNL accepts runs on oneDNN's plain loops, which are tens of times slower than its
kernels and than what LLVM makes. Told by the names of the kernels, on whichever instruction set;
`benchmarks/fallbacks.py` measures the same forms."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl import kernels, native
from byoc_lab.relay import nn
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.metering.cards import OpCard
from byoc_lab.transform import InferType

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not native.available(), reason="the DNNL extension is not built"),
]


def _forms() -> dict[str, Callable[[], Any]]:
    path = Path(__file__).parents[3] / "benchmarks" / "dnnl_forms.py"
    spec = importlib.util.spec_from_file_location("dnnl_forms", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    forms: dict[str, Callable[[], Any]] = module.FORMS
    return forms


FORMS = _forms()


def regions(body: Any) -> list[Function]:
    params = relay.analysis.free_vars(body)
    mod = InferType()(relay.IRModule.from_expr(Function(params, body)))
    cut = byoc_lab.trace(mod, "dnnl").result
    return [f for f in cut.functions.values() if "Compiler" in f.attrs]


def operations(function: Function) -> list[OpCard]:
    region = dnnl.compile_region(function, "r")
    return [OpCard.of(stats, None) for stats in region.stats()["ops"]]


@pytest.mark.parametrize("name", FORMS)
def test_no_accepted_form_runs_on_plain_loops(name: str) -> None:
    cut = regions(FORMS[name]())
    assert cut
    found = [op for function in cut for op in operations(function)]
    assert found and not [str(op) for op in found if op.is_slow]


RNG = np.random.default_rng(0)


def random(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


@pytest.mark.parametrize("shape", [(2, 5, 4, 3), (1, 64, 7, 7), (3, 6, 5), (4, 7), (2, 3, 4, 5, 2)])
@pytest.mark.parametrize("function", [kernels.softmax, kernels.log_softmax])
def test_softmax_along_each_axis(function: Any, shape: tuple[int, ...]) -> None:
    data = random(*shape)
    for axis in range(-1, len(shape)):
        wide = data.astype(np.float64)
        power = np.exp(wide - wide.max(axis, keepdims=True))
        wanted = power / power.sum(axis, keepdims=True)
        wanted = np.log(wanted) if function is kernels.log_softmax else wanted
        np.testing.assert_allclose(function(data, axis=axis), wanted, rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("axis", [0, 1, 2, 3])
@pytest.mark.parametrize("shape", [(2, 3, 4, 5), (1, 3, 1, 1), (1, 1, 1, 1), (5,), ()])
def test_what_follows_a_softmax_is_read_where_it_lies(axis: int, shape: tuple[int, ...]) -> None:
    """Also along an axis of one element, whose strides no kernel would have to look at."""
    x, data, other = relay.var("x", shape=(2, 3, 4, 5)), random(2, 3, 4, 5), random(*shape)
    made = nn.relu(nn.softmax(x, axis=axis) - relay.const(np.float32(0.1))) * relay.const(other)
    function = infer_expr(Function([x], made))
    assert isinstance(function, Function)
    wanted = byoc_lab.evaluate(IRModule.from_expr(function), [data]).outputs[0]
    (got,) = dnnl.compile_region(function, "r")(data)
    np.testing.assert_allclose(got, wanted, rtol=1e-4, atol=1e-5)


def test_a_tensor_added_to_a_softmax_along_one_element() -> None:
    x, other = relay.var("x", shape=(1, 16)), random(1, 16)
    function = infer_expr(Function([x], nn.softmax(x, axis=0) + relay.const(other)))
    assert isinstance(function, Function)
    (got,) = dnnl.compile_region(function, "r")(random(1, 16))
    np.testing.assert_allclose(got, 1 + other, rtol=1e-5)


@pytest.mark.parametrize("channels", [1, 3, 8, 12, 16, 60, 64])
@pytest.mark.parametrize("size", [7, 12])
def test_pools_that_come_first(channels: int, size: int) -> None:
    """In row-major order oneDNN has no kernel for them; another layout gives the same numbers."""
    x = relay.var("x", shape=(2, channels, size, size))
    window: dict[str, Any] = {"pool_size": (3, 3), "strides": (2, 2), "padding": (1, 1)}
    data = random(2, channels, size, size)
    for made in (nn.max_pool2d(x, **window), nn.avg_pool2d(x, **window), nn.global_avg_pool2d(x)):
        (function,) = regions(made)
        mod = InferType()(relay.IRModule.from_expr(Function([x], made)))
        (wanted,) = byoc_lab.evaluate(mod, [data]).outputs
        (got,) = dnnl.compile_region(function, "r")(data)
        np.testing.assert_allclose(got, wanted, rtol=1e-5, atol=1e-6)


def test_a_slow_kernel_is_a_warning_on_the_card() -> None:
    for impl in ("ref:any", "simple_nchw:any"):
        assert "warning" in str(OpCard("softmax_0", impl))
    for impl in ("jit:avx2", "simple:any", "rows", None):
        assert "warning" not in str(OpCard("softmax_0", impl))
