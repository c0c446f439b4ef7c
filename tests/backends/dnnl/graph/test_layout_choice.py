"""The choice of layouts for convolutions: results are right, equal graphs get equal layouts,
measured ones are the fastest."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from byoc_lab.backends.dnnl.native import DnnlRegion
from tests.backends.dnnl.graph.net import RELU, Net, residual_net
from tests.backends.dnnl.instructions import needs_avx2

pytestmark = pytest.mark.native


def heavy_net() -> Net:
    """A network with enough work that both layouts are tried: 1.2e8 products."""
    net = Net()
    attrs = {"padding": [1, 1, 1, 1]}
    net.graph["tensors"] = [
        {"name": "data", "shape": [1, 64, 57, 57], "dtype": "float32"},
        {"name": "weight", "shape": [64, 64, 3, 3], "dtype": "float32"},
        {"name": "out", "shape": [1, 64, 57, 57], "dtype": "float32"},
    ]
    net.graph |= {"inputs": [0], "constants": [1], "outputs": [2]}
    net.graph["ops"] = [
        {"name": "conv", "kind": "conv2d", "inputs": [0, 1], "output": 2, "attrs": attrs}
    ]
    net.arrays = {
        "inputs": [net.rng.standard_normal((1, 64, 57, 57)).astype(np.float32)],
        "constants": [net.rng.standard_normal((64, 64, 3, 3)).astype(np.float32)],
    }
    return net


def region(net: Net, layouts: str) -> DnnlRegion:
    return DnnlRegion(net.graph, net.arrays["constants"], layouts=layouts)


@pytest.mark.parametrize("layouts", ["fixed", "measured", "any"])
def test_every_layout_choice_computes_the_same_result(layouts: str) -> None:
    net, output = residual_net()
    stats = net.check(output, layouts=layouts).stats()
    assert stats["layouts"] == ("any" if layouts == "any" else "blocked")
    assert stats["layout_rule"] == layouts
    assert stats["layout_times_us"] == {}  # too little work to try


def test_faster_measured_layouts_are_kept() -> None:
    net = heavy_net()
    results = {}
    for layouts, expected in {"fixed": "blocked", "any": "any", "measured": None}.items():
        made = region(net, layouts)
        (results[layouts],) = made(*net.arrays["inputs"])
        stats = made.stats()
        times = stats["layout_times_us"]
        if expected:
            assert stats["layouts"] == expected and times == {}
        elif times:  # otherwise oneDNN chooses blocked layouts by itself
            assert times[stats["layouts"]] <= min(times.values()) / 0.97**2
    scale = np.abs(results["any"]).max()
    for result in results.values():
        np.testing.assert_allclose(result, results["any"], rtol=0, atol=1e-5 * scale)


def load(saved: bytes) -> Any:
    import tvm_ffi

    return tvm_ffi.get_global_func("ffi.Module.load_from_bytes.byoc_lab_dnnl")(saved)


def chosen(module: Any) -> tuple[str, str]:
    stats = json.loads(module["get_stats"]())
    return stats["layouts"], stats["layout_rule"]


def test_saved_module_keeps_the_layout_choice() -> None:
    """Loading restores saved layouts without choosing again, even layouts that no rule would
    choose."""
    net = heavy_net()
    saved = bytes(region(net, "measured").module["save_to_bytes"]())
    rule, ops = saved[8], int.from_bytes(saved[9:17], "little")
    assert (rule, ops) == (1, len(net.graph["ops"]))
    for layout, name in enumerate(["blocked", "any"]):
        module = load(saved[:17] + bytes([layout] * ops) + saved[17 + ops :])
        assert chosen(module) == (name, "measured")
        assert json.loads(module["get_stats"]())["layout_times_us"] == {}


@pytest.mark.parametrize("at", [8, 17])
def test_invalid_saved_layout_choice_is_refused(at: int) -> None:
    saved = bytearray(region(heavy_net(), "fixed").module["save_to_bytes"]())
    saved[at] = 7
    with pytest.raises(ValueError, match=r"states the (rule of layouts|layout) 7, expected 0 to"):
        load(bytes(saved))


def test_saved_layouts_for_another_number_of_operations_are_refused() -> None:
    saved = bytes(region(heavy_net(), "fixed").module["save_to_bytes"]())
    two = saved[:9] + (2).to_bytes(8, "little") + b"\0" + saved[17:]
    with pytest.raises(ValueError, match="layouts of 2 ops, expected 1"):
        load(two)


def test_unknown_layout_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of fixed, measured, any, found 'nhwc'"):
        region(heavy_net(), "nhwc")


@needs_avx2
@pytest.mark.parametrize("channels", [16, 20, 32])
def test_operand_with_one_number_per_channel_takes_the_blocked_layout(channels: int) -> None:
    """oneDNN has only a reference kernel, 300 times slower, for a row-major operand of a blocked
    tensor."""
    net = Net()
    conv = net.op("conv2d", [net.input(1, 3, 9, 9), net.const(channels, 3, 3, 3)])
    shift = net.const(channels, 1, 1)
    both = net.op("binary", [conv, shift], [RELU], alg="add")
    ops = net.check(net.op("binary", [both, conv], alg="mul")).stats()["ops"]
    if channels % 16 == 0:
        assert not any(op["impl"].startswith("ref") for op in ops)


def test_primitives_can_be_timed_without_the_runtime() -> None:
    net, output = residual_net()
    region = net.check(output)
    assert 0 < region.module["time_bare"](10) < 1
    net.check(output)
    with pytest.raises(ValueError, match="expected at least 1 run, found 0"):
        region.module["time_bare"](0)
