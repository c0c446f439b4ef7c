"""Overlays: reasons, errors, times and kernels at the nodes of a trace."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ArgumentError
from byoc_lab.lab.checking.comparison import Comparison
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.node_ids import kernel_calls
from byoc_lab.lab.view.states.overlays import overlays_of
from byoc_lab.lab.view.states.state import Builder
from byoc_lab.lab.view.stepper import Stepper
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay import nn
from byoc_lab.run.metering.cards import Cards, RegionCard, RegionInfo
from byoc_lab.run.metering.op_cards import OpCard


def network() -> relay.IRModule:
    """A convolution with bias and relu, a separate product, and an operator for the host."""
    x = relay.var("x", shape=(1, 4, 8, 8))
    weight = relay.const(np.ones((4, 4, 3, 3), "float32"))
    bias = relay.const(np.ones(4, "float32"))
    conv = nn.bias_add(nn.conv2d(x, weight, kernel_size=(3, 3), padding=(1, 1)), bias)
    y = nn.batch_flatten(nn.relu(conv))
    product = nn.dense(y, relay.const(np.ones((3, 256), "float32")))
    return InferType()(relay.IRModule.from_expr(product))


def card(symbol: str, ops: tuple[OpCard, ...], call_us: float | None = None) -> RegionCard:
    facts = RegionInfo(symbol, "dnnl", None, operators=3)
    return RegionCard(facts, calls=2, native=True, ops=ops, call_us=call_us)


@pytest.fixture(scope="module")
def traced() -> Any:
    mod = network()
    return mod, byoc_lab.trace(mod, "dnnl")


def ids_of(trace: Any) -> tuple[dict[str, Any], Ids]:
    builder = Builder()
    return builder.trace(trace), builder.ids


def texts(state: dict[str, Any]) -> dict[str, str]:
    last = state["modules"][state["stages"][-1]["after"]]
    return {ident: text for text, ident in last["lines"] if ident}


def test_overlay_gives_the_reason_of_each_host_call(traced: Any) -> None:
    mod, trace = traced
    state, ids = ids_of(trace)
    found = overlays_of(trace, ids, [byoc_lab.explain(mod, "dnnl")])
    ((ident, reason),) = found["reasons"].items()
    assert "nn.batch_flatten(" in texts(state)[ident]
    assert reason["cause"] == "needs-pass"
    lines = dict(reason["lines"])
    assert lines["change to try"] == "run OffloadDataMovement before AnnotateTarget"
    assert json.loads(json.dumps(found)) == found


def test_cards_give_times_and_kernels_of_nodes(traced: Any) -> None:
    _, trace = traced
    state, ids = ids_of(trace)
    conv = OpCard("nn.conv2d_0", "jit_1x1:avx2", ("relu",), time_us=12.0)
    dense = OpCard("nn.dense_0", "gemm:jit", time_us=3.0)
    symbols = [gv.name_hint for gv, f in trace.result.functions.items() if "Compiler" in f.attrs]
    cards = Cards([card(symbols[0], (conv,)), card(symbols[1], (dense,))])
    found = overlays_of(trace, ids, [cards])
    assert sorted(found["numbers"]["time"]["values"].values()) == [3.0, 3.0, 12.0, 12.0], (
        "times of both regions, and of the first operators of their kernels"
    )
    shown = texts(state)
    named = {i: k for i, k in found["kernels"].items() if "nn.conv2d(" in shown.get(i, "")}
    assert list(named.values()) == [f"now in @{symbols[0]}, kernel 1: jit_1x1:avx2, post-op relu"]
    whole = [k for i, k in found["kernels"].items() if shown.get(i, "").startswith("def ")]
    assert sorted(k.split(";")[0] for k in whole) == ["ran on dnnl, 2 calls"] * 2


def test_kernels_that_do_not_fit_the_region_are_not_assigned() -> None:
    x = relay.var("x", shape=(2, 4))
    body = nn.relu(nn.dense(x, relay.var("w", shape=(4, 4))))
    func = relay.Function(relay.analysis.free_vars(body), body)
    one = card("f", (OpCard("nn.dense_0", "gemm"),))
    assert set(kernel_calls(func, one).inside.values()) == {1}
    two = (OpCard("nn.dense_0", "gemm"), OpCard("nn.relu_1", "jit"))
    assert sorted(kernel_calls(func, card("f", two)).inside.values()) == [1, 2]
    assert kernel_calls(func, card("f", (OpCard("nn.conv2d_0", "jit"),))) == ({}, [])


def test_report_gives_errors_as_shares_of_the_tolerance(traced: Any) -> None:
    _, trace = traced
    _, ids = ids_of(trace)
    symbol = next(gv.name_hint for gv, f in trace.result.functions.items() if "Compiler" in f.attrs)
    region = Comparison(f"@{symbol}", error=3e-6, tolerance=1e-6, scale=1.0, place=(0,), wrong=1)
    found = overlays_of(trace, ids, [Report((region,), ())])
    error = found["numbers"]["error"]
    assert list(error["values"].values()) == [pytest.approx(3.0)], "the error of the region"
    assert error["most"], "a group has the largest error inside, not their sum"


def test_results_of_another_module_are_refused(traced: Any) -> None:
    _, trace = traced
    _, ids = ids_of(trace)
    with pytest.raises(ArgumentError, match="explain the module that was traced, or bisect it"):
        overlays_of(trace, ids, [byoc_lab.explain(network(), "dnnl")])
    with pytest.raises(ArgumentError, match="found str"):
        overlays_of(trace, ids, ["slow"])


def test_explanations_without_host_operators_are_accepted() -> None:
    x = relay.var("x", shape=(2, 4))
    mod = InferType()(
        relay.IRModule.from_expr(nn.dense(x, relay.const(np.ones((3, 4), "float32"))))
    )
    trace = byoc_lab.trace(mod, "dnnl")
    found = overlays_of(trace, ids_of(trace)[1], [byoc_lab.explain(mod, "dnnl")])
    assert not found["reasons"] and not found["tables"][0]["rows"]


@pytest.mark.slow
def test_stepper_sends_and_saves_overlays(traced: Any, tmp_path: Path) -> None:
    mod, trace = traced
    stepper = Stepper(trace, overlays=[byoc_lab.explain(mod, "dnnl")])
    assert len(stepper.overlays["reasons"]) == 1
    plain = len(trace.save_html(tmp_path / "plain.html").read_bytes())
    assert len(stepper.save_html(tmp_path / "more.html").read_bytes()) > plain
    stepper.overlay()
    assert not stepper.overlays["reasons"]
