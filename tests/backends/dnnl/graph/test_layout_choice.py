"""Which layouts convolutions run in: both right, the quicker kept, and a say in it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.native import DnnlRegion
from tests.backends.dnnl.graph.net import RELU, Net, residual_net
from tests.backends.dnnl.instructions import needs_avx2

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not native.available(), reason="the DNNL extension is not built"),
]


@pytest.fixture(autouse=True)
def timed_again() -> Iterator[None]:
    yield
    native.set_layouts("timed")


def heavy_net() -> Net:
    """Enough work that both ways are tried: 1.2e8 products."""
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


@pytest.mark.parametrize("rule", ["blocked", "any", "timed"])
def test_every_choice_computes_the_same(rule: str) -> None:
    native.set_layouts(rule)
    assert native.get_layouts() == rule
    net, output = residual_net()
    stats = net.check(output).stats()
    assert stats["layouts"] == ("any" if rule == "any" else "blocked")
    assert stats["layout_times_us"] == {}  # too little work to try


def test_the_quicker_layouts_are_kept() -> None:
    net = heavy_net()
    results = {}
    for rule in ("blocked", "any", "timed"):
        native.set_layouts(rule)
        region = DnnlRegion(net.graph, net.arrays["constants"])
        (results[rule],) = region(*net.arrays["inputs"])
        stats = region.stats()
        times = stats["layout_times_us"]
        if rule != "timed":
            assert stats["layouts"] == rule and times == {}
        elif times:  # else oneDNN prefers blocks of its own accord
            assert times[stats["layouts"]] <= min(times.values()) / 0.97**2
    scale = np.abs(results["any"]).max()
    for result in results.values():
        np.testing.assert_allclose(result, results["any"], rtol=0, atol=1e-5 * scale)


def test_an_unknown_rule_is_refused() -> None:
    with pytest.raises(ValueError, match="expected one of timed, blocked, any, found 'nhwc'"):
        native.set_layouts("nhwc")
    assert native.get_layouts() == "timed"


@needs_avx2
@pytest.mark.parametrize("channels", [16, 20, 32])
def test_one_number_for_each_channel_lies_in_the_tensors_blocks(channels: int) -> None:
    """oneDNN has only a reference kernel, 300 times slower, for a row-major one beside blocks."""
    net = Net()
    conv = net.op("conv2d", [net.input(1, 3, 9, 9), net.const(channels, 3, 3, 3)])
    shift = net.const(channels, 1, 1)
    both = net.op("binary", [conv, shift], [RELU], alg="add")
    ops = net.check(net.op("binary", [both, conv], alg="mul")).stats()["ops"]
    if channels % 16 == 0:
        assert not any(op["impl"].startswith("ref") for op in ops)


def test_the_primitives_can_be_timed_alone() -> None:
    net, output = residual_net()
    region = net.check(output)
    assert 0 < region.module["time_bare"](10) < 1
    net.check(output)
    with pytest.raises(ValueError, match="expected at least 1 run, found 0"):
        region.module["time_bare"](0)
