"""`explain` on whole networks: each call is offloaded as in the partitioned module, or has a
cause."""

from __future__ import annotations

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
    "inception": lambda: _bound("inception_v3"),
    "densenet": lambda: _bound("densenet"),
    "resnet without values": lambda: relay.testing.resnet.get_workload()[0],
}


@cache
def network(name: str) -> IRModule:
    return NETWORKS[name]()


def counted(mod: IRModule, compiler: str | None) -> Counter[str]:
    """The numbers of calls by operator: in regions of a compiler, or outside all regions for
    None."""
    return Counter(
        n.op_name
        for func in mod.functions.values()
        if func.attrs.get("Compiler") == compiler
        for n in post_order(func)
        if isinstance(n, Call) and n.op_name
    )


def check(mod: IRModule, explanations: Explanations) -> None:
    cut = partition(mod, explanations.target)
    inside, outside = counted(cut, explanations.target), counted(cut, None)
    for e in explanations:
        assert (e.region is not None) == e.offloaded
        assert e.offloaded or e.status == "removed" or e.cause in CAUSES, str(e)
    kept = Counter(e.name for e in explanations.offloaded)
    for name in set(inside) & set(kept):  # the others were decomposed
        assert kept[name] <= inside[name]
    host = Counter(e.name for e in explanations.host)
    there = {e.name for e in explanations}
    for name, number in outside.items():
        if name in there:  # the others come from replaced operators
            assert host[name] == number, f"{number} calls of {name} stay on the host"
    assert not any(host[name] for name in host if name not in outside and name != "nn.batch_norm")
    regions = {gv.name_hint for gv, f in cut.functions.items() if f.attrs.get("Compiler")}
    named = {e.region for e in explanations.offloaded}
    assert named <= regions
    # parts of a batch norm are in separate regions
    assert named == regions or "nn.batch_norm" in host


LONG = {"inception", "densenet", "resnet without values"}
CASES = [
    *(
        pytest.param(name, "dnnl", marks=[pytest.mark.slow] if name in LONG else [])
        for name in NETWORKS
    ),
    ("mlp", "ccompiler"),
    *(
        pytest.param(name, "ccompiler", marks=pytest.mark.slow)
        for name in ("mobilenet", "resnet-18", "squeezenet")
    ),
]


@pytest.mark.parametrize(("name", "target"), CASES)
def test_every_call_of_a_network_is_offloaded_or_has_a_cause(name: str, target: str) -> None:
    mod = network(name)
    found = explain(mod, target)
    check(mod, found)
    printed = str(mod)
    for group in found.groups:
        first = group[0]
        if first.number.startswith("%"):
            assert f"  {first.number} = {first.name}(" in printed
        change = first.change
        if change is None:
            assert first.cause == "no-pattern"
        elif len(printed) < 100_000:
            setup = change.setup
            with setup.context:
                again = explain(setup.mod, target, change.call, list(setup.passes))[0]
            assert again.status == ("offloaded" if change.region else "removed"), str(again)


def test_explain_of_an_int8_network_is_consistent() -> None:
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


@pytest.mark.slow
def test_explain_of_a_long_chain_explains_each_call() -> None:
    found = explain(chain(5000), "dnnl")
    assert found.by_cause["sub-pattern"][-1].call.op_name == "erf"
    assert "not offloaded" in str(found) and len(found.as_dict()["calls"]) == 5000
