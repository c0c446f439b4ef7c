"""One registration for Relay and Relax: each item of the list in docs/backends.md has a test."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab import relax as lab
from byoc_lab.backends import PythonRegion
from byoc_lab.errors import BuildError, PatternTranslationError, RegionError, UnknownNameError
from byoc_lab.importers.relax import from_relax
from byoc_lab.relax.partition import partitioning_passes, preparing_passes
from byoc_lab.relay import nn
from byoc_lab.relay.dataflow_pattern import dominates, is_constant, is_op, wildcard
from tests.compilers import needs_cc

from .patterns.both_languages import CONV, DENSE, Network, in_both_languages
from .patterns.test_both_languages import (
    TABLE,
    concat,
    conv_relu,
    dense_add_relu,
    exactly,
    on_llvm,
    relax_regions,
    relay_regions,
)
from .tracing.networks import relax, tvm

PAGE = Path(__file__).parents[2] / "docs" / "backends.md"


def register(**options: Any) -> Any:
    """Registers a back end for Relay, and the same one for Relax."""
    backends.register("npu", **{"patterns": TABLE, "codegen": exactly, **options})
    return lab.register("npu")


@needs_cc
@pytest.mark.parametrize("network", [conv_relu, dense_add_relu, concat])
def test_both_languages_have_equal_regions_and_results(network: Any) -> None:
    register(supports={"exp": lambda call: call.checked_type.dtype == "float32"})
    net = Network()
    relay_mod, relax_mod = in_both_languages(network(net))
    relay_cut = byoc_lab.trace(relay_mod, "npu").result
    relax_cut = byoc_lab.trace(relax_mod, "npu").result
    assert relax_regions(relax_cut) == relay_regions(relay_cut)
    inputs = [net.array(*p.checked_type.concrete_shape) for p in relay_mod["main"].params]
    found = lab.build(relax_cut)(*inputs)[0]
    np.testing.assert_allclose(found, on_llvm(relax_mod, inputs), rtol=1e-4, atol=1e-5)
    byoc_lab.validate(relax_mod, relax_cut, detail="operator").check()


def test_matches() -> None:
    """TVM's pattern finds both; in Relay one of them has a different attribute."""
    image = relay.var("x", shape=(1, 4, 8, 8))
    network = image
    for groups in (1, 2):
        weight = Network().const(4, 4 // groups, 1, 1)
        network = nn.relu(nn.conv2d(network, weight, groups=groups, out_layout=""))
    table = [("npu.conv", is_op("nn.relu")(CONV.has_attr({"groups": 1, "out_layout": ""})))]
    register(patterns=table)
    relay_mod, relax_mod = in_both_languages(network)
    assert sum(relax_regions(lab.backends.get("npu").partition(relax_mod)).values()) == 1
    assert sum(relay_regions(backends.partition(relay_mod, "npu")).values()) == 1
    register(patterns=[("npu.conv", CONV.has_attr({"out_layout": "NHWC"}))])
    for found in byoc_lab.explain(relax_mod, "npu").by_cause["check"]:
        assert re.search("in Relay it is .*, which the Relay pattern does not match", found.reason)


def test_checks() -> None:
    asked = []
    table = [("npu.dense", is_op("nn.relu")(DENSE), lambda call: asked.append(call) or True)]
    register(patterns=table)
    _, mod = in_both_languages(
        nn.relu(nn.dense(relay.exp(relay.var("x", shape=(2, 8))), Network().const(4, 8)))
    )
    assert len(byoc_lab.explain(mod, "npu").offloaded) == 2
    dense = asked[0].args[0]
    assert asked[0].is_op("nn.relu") and asked[0].checked_type.concrete_shape == (2, 4)
    assert dense.is_op("nn.dense") and isinstance(dense.args[0], relay.Var)


def test_match_that_codegen_cannot_compile_stays_on_the_host() -> None:
    """`compiles` is called with the operators of a match as they are in the region."""
    asked = []

    def compiles(call: Any) -> str | None:
        asked.append(call.op_name)
        return "npu has no kernel for exp" if call.is_op("exp") else None

    table = [("npu.dense", is_op("nn.dense")(wildcard(), wildcard()))]
    register(patterns=table, supports=["exp"], compiles=compiles)
    network = nn.dense(relay.exp(relay.var("x", shape=(2, 8))), relay.var("w", shape=(4, 8)))
    _, mod = in_both_languages(network)
    found = byoc_lab.explain(mod, "npu")
    assert [(e.name, e.cause) for e in found.host] == [("exp", "check")]
    assert "npu has no kernel for exp" in found.host[0].reason
    assert set(asked) == {"nn.dense", "exp"}
    assert relax_regions(lab.backends.get("npu").partition(mod)) == {("nn.dense",): 1}


@pytest.mark.parametrize("constant", [True, False])
def test_dense(constant: bool) -> None:
    weight = Network().const(4, 8) if constant else relay.var("w", shape=(4, 8))
    register(patterns=[("npu.dense", is_op("nn.dense")(wildcard(), wildcard()))])
    relay_mod, relax_mod = in_both_languages(nn.dense(relay.var("x", shape=(2, 8)), weight))
    found = relax_regions(lab.backends.get("npu").partition(relax_mod))
    assert found == relay_regions(backends.partition(relay_mod, "npu")) == {("nn.dense",): 1}
    imported, _ = from_relax(relax_mod)
    assert relay_regions(backends.partition(imported, "npu")) == found


def test_bias() -> None:
    conv = is_op("nn.conv2d")(wildcard(), is_constant())
    with pytest.raises(PatternTranslationError, match=r"npu\.bias.*no counterpart of nn\.bias_add"):
        register(patterns=[("npu.bias", is_op("nn.bias_add")(conv, is_constant()))])
    either = is_op("nn.bias_add")(conv, wildcard()) | is_op("add")(conv, wildcard())
    register(patterns=[("npu.bias", either)])
    net = Network()
    data = nn.conv2d(net.var("x", 1, 3, 8, 8), net.const(4, 3, 3, 3))
    relay_mod, relax_mod = in_both_languages(nn.bias_add(data, net.const(4)))
    assert relay_regions(backends.partition(relay_mod, "npu")) == {("nn.bias_add", "nn.conv2d"): 1}
    assert relax_regions(lab.backends.get("npu").partition(relax_mod)) == {("add", "nn.conv2d"): 1}


def test_refusals() -> None:
    relu = is_op("nn.relu")(wildcard())
    backends.register("npu", patterns=[("npu.x", dominates(relu, wildcard(), relu))])
    with pytest.raises(PatternTranslationError, match=r"entry 'npu\.x': .* no translation"):
        lab.register("npu")


def test_operators() -> None:
    assert register(supports=["exp", "nn.bias_add", "nn.batch_flatten"]).left_out == (
        "nn.bias_add",
        "nn.batch_flatten",
    )
    _, mod = in_both_languages(relay.exp(relay.var("x", shape=(2, 8))))
    assert byoc_lab.explain(mod, "npu").offloaded


def test_pipelines() -> None:
    """The table is Relay's; the passes are the given ones."""
    register()
    table = lab.backends.get("npu").table()

    def passes() -> list[Any]:
        return [*preparing_passes(), *partitioning_passes(table[:1])]

    lab.register("npu", pipeline=passes)
    _, mod = in_both_languages(conv_relu(Network()))
    traced = byoc_lab.trace(mod, "npu")
    assert [stage.name for stage in traced][-1].startswith("MergeCompositeFunctions")
    assert relax_regions(traced.result) == {}


@needs_cc
def test_isolation() -> None:
    register(
        supports=["nn.relu"],
        codegen=lambda function, symbol: PythonRegion(lambda x: ctypes.string_at(0)),
        isolated=True,
        time_limit=10,
    )
    _, mod = in_both_languages(nn.relu(relay.var("x", shape=(2, 8))))
    exe = lab.build(byoc_lab.trace(mod, "npu").result)
    with pytest.raises(RegionError, match="crashed its process"):
        exe(np.ones((2, 8), "float32"))


@needs_cc
def test_c_back_end_serves_relax() -> None:
    assert lab.register("ccompiler").left_out == ()
    net = Network()
    mod = in_both_languages(dense_add_relu(net))[1]
    cut = byoc_lab.trace(mod, "ccompiler").result
    exe = lab.build(cut)
    x = net.array(2, 8)
    np.testing.assert_allclose(exe(x)[0], on_llvm(mod, [x]), rtol=1e-4, atol=1e-5)
    exe.assert_offloaded()
    assert byoc_lab.explain(mod, "ccompiler").host == []


@needs_cc
def test_export(tmp_path: Path) -> None:
    lab.register("ccompiler")
    net = Network()
    exe = lab.build(byoc_lab.trace(in_both_languages(dense_add_relu(net))[1], "ccompiler").result)
    x = net.array(2, 8)
    exe.export_library(tmp_path / "net.so")
    loaded = tvm.runtime.load_module(str(tmp_path / "net.so"))
    machine = relax.VirtualMachine(loaded, tvm.cpu())
    np.testing.assert_array_equal(machine["main"](tvm.runtime.tensor(x)).numpy(), exe(x)[0])

    register()
    exe = lab.build(byoc_lab.trace(in_both_languages(conv_relu(Network()))[1], "npu").result)
    with pytest.raises(BuildError, match=r"npu made of @.* cannot be exported: it is Python"):
        exe.export_library(tmp_path / "net.so")


def test_name_that_relay_lacks_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="no back end is registered as 'npu'"):
        lab.register("npu")
    backends.register("npu", supports=["nn.relu"])
    with pytest.raises(UnknownNameError, match=r"for Relay alone: byoc_lab\.relax\.register"):
        byoc_lab.explain(in_both_languages(nn.relu(relay.var("x", shape=(2, 8))))[1], "npu")


def test_each_item_of_the_page_has_a_test() -> None:
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition("\n## One registration for both languages\n")[2].partition("\n## ")[0]
    items = re.findall(r"^- (?:\*\*(.*?)\.\*\*)?", section, re.M)
    tests = {name.removeprefix("test_") for name in globals()}
    assert len(items) > 5 and [i for i in items if i.lower() not in tests] == []
