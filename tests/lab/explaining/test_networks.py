"""`explain` on whole networks: each call is offloaded as the partitioned module has it, or it has a
cause."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.backends import partition
from byoc_lab.lab.explaining import CAUSES, Explanations, explain
from byoc_lab.lessons.quantize import quantize
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order


def _bound(name: str, **options: int) -> IRModule:
    mod, params = getattr(relay.testing, name).get_workload(**options)
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    return mod


NETWORKS: dict[str, Callable[[], IRModule]] = {
    "mobilenet": lambda: _bound("mobilenet"),
    "resnet-18": lambda: _bound("resnet"),
    "squeezenet": lambda: _bound("squeezenet"),
    "dcgan": lambda: _bound("dcgan", batch_size=1),
    "mlp": lambda: _bound("mlp", batch_size=1),
}


@cache
def network(name: str) -> IRModule:
    return NETWORKS[name]()


def counted(mod: IRModule, compiler: str | None) -> Counter[str]:
    """The calls of operators, by operator: in regions of a compiler, or (None) outside of all."""
    return Counter(
        n.op_name
        for func in mod.functions.values()
        if func.attrs.get("Compiler") == compiler
        for n in post_order(func)
        if isinstance(n, Call) and n.op_name
    )


def check(mod: IRModule, explanations: Explanations) -> None:
    cut = partition(mod, "dnnl")
    inside, outside = counted(cut, "dnnl"), counted(cut, None)
    for e in explanations:
        assert (e.region is not None) == e.offloaded
        assert e.offloaded or e.status == "removed" or e.cause in CAUSES, str(e)
    kept = Counter(e.name for e in explanations.offloaded)
    for name in set(inside) & set(kept):  # others were decomposed
        assert kept[name] <= inside[name]
    host = Counter(e.name for e in explanations.host)
    for name, number in outside.items():
        assert host[name] == number, f"{number} calls of {name} stay on the host"
    assert not any(host[name] for name in host if name not in outside)
    regions = {gv.name_hint for gv, f in cut.functions.items() if f.attrs.get("Compiler")}
    assert {e.region for e in explanations.offloaded} == regions


@pytest.mark.parametrize("name", NETWORKS)
def test_every_call_is_offloaded_or_has_a_cause(name: str) -> None:
    mod = network(name)
    check(mod, explain(mod, "dnnl"))


def test_an_int8_network() -> None:
    mod, params = relay.testing.resnet.get_workload(image_shape=(3, 28, 28), num_layers=8)
    image = np.random.default_rng(0).uniform(size=(1, 3, 28, 28)).astype("float32")
    quantized = quantize(mod, params, [image])
    assert counted(quantized, None)["qnn.conv2d"] == counted(mod, None)["nn.conv2d"]
    check(quantized, explain(quantized, "dnnl"))


def chain(length: int) -> IRModule:
    value: relay.Expr = relay.var("x", shape=(4, 4))
    for n in range(length):
        value = relay.erf(value) if n % 2 else nn.relu(value)
    return IRModule.from_expr(value)


def test_the_cost_is_linear() -> None:
    seconds = []
    for length in (250, 1000):
        start = time.perf_counter()
        found = explain(chain(length), "dnnl")
        assert found.by_cause["sub-pattern"][-1].call.op_name == "erf"
        seconds.append(time.perf_counter() - start)
    assert seconds[1] < 10 and seconds[1] < 8 * seconds[0], seconds
