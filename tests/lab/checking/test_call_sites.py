"""Call sites: `validate` and `bisect` state the location of each operator in the module."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.checking.call_sites import CallSite, called, calls_of, function_named, site_of
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.typing.infer import infer_module


def network() -> IRModule:
    """A dense with bias and relu, which the DNNL pipeline turns into a composite."""
    x = relay.var("x", shape=(2, 4))
    product = nn.dense(x, relay.const(np.ones((3, 4), "float32")))
    body = nn.relu(nn.bias_add(product, relay.const(np.ones(3, "float32"))))
    return infer_module(IRModule.from_expr(body))


def test_call_site_has_function_index_and_operator() -> None:
    mod = network()
    dense, bias, relu = calls_of(mod["main"])
    assert [called(c) for c in (dense, bias, relu)] == ["nn.dense", "nn.bias_add", "nn.relu"]
    assert site_of("main", mod["main"], bias) == CallSite("main", 1, "nn.bias_add")
    assert site_of("main", mod["main"], next(calls_of(network()["main"]))) is None
    assert function_named(mod, "main") is mod["main"] and function_named(mod, "f") is None


@pytest.mark.native
def test_validated_operators_have_call_sites() -> None:
    mod = network()
    result = byoc_lab.trace(mod, "dnnl").result
    report = byoc_lab.validate(mod, result, detail="operator")
    assert report.operators
    for comparison in report.operators:
        site = comparison.call_site
        assert site is not None
        calls = list(calls_of(result[site.function]))
        assert called(calls[site.number]) == site.name
    assert all(c.call_site is None for c in (*report.regions, *report.outputs))


@pytest.mark.native
def test_bisect_lists_its_comparisons() -> None:
    found = byoc_lab.bisect(network(), "dnnl")
    *stages, kernel = found.checked
    assert [(c.name, c.ok) for c in stages] == [("PartitionGraph", True)]
    assert stages[0].index is not None and kernel.index is None
    assert kernel.ok and kernel.call_site is not None and 0 <= kernel.share <= 1


def test_bisect_states_the_call_site_of_the_operator() -> None:
    class Doubled(relay.ExprMutator):
        def visit_call(self, call):
            made = super().visit_call(call)
            return nn.relu(made) if call.op_name == "nn.dense" else made

    def spoil(mod: IRModule, context: object) -> IRModule:
        return IRModule.from_expr(Doubled().visit(mod["main"]))

    spoiled = byoc_lab.transform.module_pass(spoil, opt_level=0, name="Spoil")
    found = byoc_lab.bisect(
        network(), [spoiled], kernels=False, inputs={"x": -np.ones((2, 4), "float32")}
    )
    assert found.stage == "Spoil" and found.call_site is not None
    assert found.call_site.function == "main" and found.call_site.name == called(found.call)
    (checked,) = found.checked
    assert not checked.ok and checked.share > 1
