"""Relax modules in byoc_lab's functions: reading, saving, graphs, history and refusals."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ForeignModuleError, PassError, UnknownNameError
from byoc_lab.lab.language import Language, language_of
from byoc_lab.lab.view import graph
from byoc_lab.lab.view.board import board
from byoc_lab.relax.tracing import RelaxModule, read
from byoc_lab.relay.ir.expr import Call

from .networks import SMALL, chain, resnet, tvm


def test_relax_and_relay_modules_are_handled_by_their_language() -> None:
    mod = read(SMALL)
    assert language_of(mod, "trace") is mod and mod.language == "relax"
    assert isinstance(found := language_of(relay.IRModule(), "trace"), Language)
    assert found.language == "relay"


def test_saved_module_has_only_its_findings() -> None:
    saved = read(SMALL).plain()
    assert list(byoc_lab.lint(saved)) == list(saved.findings)
    for ask in (partial(byoc_lab.lint, backend="dnnl"), byoc_lab.fix, byoc_lab.bisect):
        with pytest.raises(ForeignModuleError, match="needs the original module of relax"):
            ask(saved)


def test_function_is_read_as_a_module() -> None:
    mod = read(SMALL["main"])
    assert isinstance(mod, RelaxModule) and [gv.name_hint for gv in mod] == ["main"]


def test_trace_refuses_objects_of_tvm_other_than_modules() -> None:
    with pytest.raises(PassError, match="expects an IRModule, found "):
        byoc_lab.trace(tvm.relax.Var("x"), "dnnl")


@pytest.mark.native
def test_stage_of_a_relax_trace_is_explained_and_covered() -> None:
    recorded = byoc_lab.trace(SMALL, "dnnl")
    found = byoc_lab.explain(recorded.initial, "dnnl")
    assert found.summary == "3 of 4 calls offloaded to dnnl, 1 on the host (1 no-pattern)"
    (erf,) = byoc_lab.explain(SMALL, "dnnl", "erf")
    assert erf.cause == "no-pattern"
    assert "3 of 4 operators" in str(byoc_lab.coverage(SMALL, "dnnl"))
    with pytest.raises(UnknownNameError, match=r"byoc_lab\.relax\.register"):
        byoc_lab.explain(SMALL, "mychip")
    lowered = byoc_lab.explain(SMALL, "dnnl", pipeline=["LegalizeOps", "dnnl"])
    assert lowered.offloaded == [] and {e.name for e in lowered} == {"call_tir"}


@pytest.mark.native
def test_cards_and_validation_of_the_result_work() -> None:
    recorded = byoc_lab.trace(SMALL, "dnnl")
    report = byoc_lab.validate(recorded.initial, recorded.final)
    assert report.ok
    built = byoc_lab.relax.build(recorded.final)
    assert [card.compiler for card in built.cards()] == ["dnnl"]


def test_graph_of_a_relax_module_is_printed() -> None:
    assert "nn.conv2d  1×4×8×8  ← [0]" in str(graph(SMALL))  # noqa: RUF001


def test_history_of_a_node_uses_rewrites_or_differences() -> None:
    recorded = byoc_lab.trace(resnet(1), "dnnl")
    node = recorded.initial["main"].body
    history = recorded.history(node)
    for step in history.steps:
        assert "nn.softmax" in [n.op_name for n in step.nodes if isinstance(n, Call)]
    assert len(history.steps) == 6
    (region,) = history.regions
    assert region.endswith("nn_softmax_dnnl")
    stage = recorded["FuseOpsByPattern"]
    # In the function that main calls, at the position of the node, and the call in main.
    inside, call = [n for n in stage.images(node) if isinstance(n, Call)]
    assert (inside.op_name, call.op_name) == ("nn.softmax", "")
    assert stage.origins(call) == stage.origins(inside) == (node,)


@pytest.mark.parametrize("function", [byoc_lab.build, board])
def test_functions_for_relay_alone_refuse_relax_modules_with_advice(function: Any) -> None:
    with pytest.raises(ForeignModuleError, match=r"takes modules of Relay.*byoc_lab\.relax\.build"):
        function(read(SMALL))
    with pytest.raises(ForeignModuleError):
        relay.transform.InferType()(read(resnet(1)))


def test_module_of_1_000_bindings_can_be_traced() -> None:
    recorded = byoc_lab.trace(chain(1000), ["DeadCodeElimination", "CanonicalizeBindings"])
    assert len(recorded.initial.lines) > 1000
    assert str(recorded[0].diff().summary) == "no change"
