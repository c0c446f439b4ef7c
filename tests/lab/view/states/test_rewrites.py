"""Stepping through the rewrites of a pass: states, ids, marks and saved pages."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
import traitlets

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.lab import tracing
from byoc_lab.lab.tracing import Stage
from byoc_lab.lab.view import export
from byoc_lab.lab.view.export import export_html
from byoc_lab.lab.view.states import rewrites
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.objects import state_and_ids, state_of
from byoc_lab.lab.view.stepper import Stepper
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay import nn
from tests.lab.view.asking import ask, shown_step
from tests.lab.view.samples import chain, mobilenet, network


@pytest.fixture(scope="module")
def trace() -> Any:
    return mobilenet()


def step_state(trace: Any, stage: int, rewrite: int) -> dict[str, Any]:
    return rewrites.Steps(trace, state_and_ids(trace)[1]).step(stage, rewrite, "text")


def texts(module: dict[str, Any]) -> list[str]:
    """Lines without types, which new nodes get after the pass, and without constant numbers,
    which depend on the text."""
    lines = (
        re.sub(r"\[\d+\]| /\*.*?\*/|(:| ->) Tensor\[.*?\]", "", text) for text, _ in module["lines"]
    )
    return sorted(lines)


@pytest.mark.slow
def test_each_step_begins_with_the_state_after_the_previous_step(trace: Any) -> None:
    n = next(n for n, s in enumerate(trace.stages) if s.name == "MergeComposite")
    steps = [step_state(trace, n, k + 1) for k in range(len(trace.stages[n].events))]
    state = state_of(trace)
    shown = state["stages"][n]
    assert texts(steps[0]["modules"][0]) == texts(state["modules"][shown["before"]])
    for one, next_one in pairwise(steps):
        assert texts(one["modules"][1]) == texts(next_one["modules"][0])
        assert any(sign != "=" for sign, *_ in one["hunks"])
    assert texts(steps[-1]["modules"][1]) == texts(state["modules"][shown["after"]])


def test_node_keeps_its_name_in_the_steps(trace: Any) -> None:
    """A node that a rewrite leaves unchanged has its id from the stage."""
    n = next(n for n, s in enumerate(trace.stages) if s.name == "SimplifyInference")
    step = step_state(trace, n, 1)
    state = state_of(trace)
    convolutions = [
        {ident for text, ident in module["lines"] if "nn.conv2d(" in text}
        for module in (state["modules"][state["stages"][n]["before"]], *step["modules"])
    ]
    assert len(convolutions[0]) == 27
    assert convolutions[0] == convolutions[1]
    assert convolutions[0] & convolutions[2]
    assert step["event"]["rule"] == "batch_norm"
    assert step["event"]["after"] in {ident for _, ident in step["modules"][1]["lines"]}


def layers_with_parameters() -> Any:
    """Four layers whose weights are parameters, partitioned for DNNL."""
    x, channels = relay.var("x", shape=(1, 3, 32, 32)), 3
    for n in range(4):
        weight = relay.var(f"w{n}", shape=(16, channels, 3, 3))
        norm = [relay.var(f"{name}{n}", shape=(16,)) for name in ("gamma", "beta", "mean", "var")]
        x = nn.relu(nn.batch_norm(nn.conv2d(x, weight, padding=1), *norm)[0])
        channels = 16
    return tracing.trace(relay.IRModule.from_expr(x), "dnnl")


def marked(step: dict[str, Any]) -> list[Any]:
    """The boxes and groups that are highlighted after a rewrite, computed as in the browser."""
    before, after = (module["scene"] for module in step["modules"])
    had = {ident for box in before["boxes"] for ident in box["ids"]}
    groups = {group["id"] for group in before["groups"]}
    kinds = ("region", "external", "composite")
    return [
        each
        for each in after["boxes"] + after["groups"]
        for ident in [each["ids"][0] if each.get("ids") else each.get("node")]
        if ident in step["replaced"]
        or (ident and ident not in had and "ids" in each)
        or (each["kind"] in kinds and each["id"] not in groups)
    ]


def resnet() -> Any:
    """ResNet-50; for some of its steps only a part is shown."""
    mod, params = relay.testing.resnet.get_workload(num_layers=50)
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    return tracing.trace(mod, "dnnl")


def inception() -> Any:
    """Inception-v3 with TVM's patterns: the host joins tuples of branches, and regions have several
    results."""
    mod, params = relay.testing.inception_v3.get_workload()
    mod["main"] = relay.build_module.bind_params_by_name(mod["main"], params)
    passes = dnnl.full_pipeline(prune_subgraphs=False, beyond_tvm=False)
    return tracing.trace(mod, passes)


def transformer() -> Any:
    """A transformer block: attention with two heads and a layer of two products, each with
    residual and norm."""
    x: relay.Expr = relay.var("x", shape=(1, 8, 16))
    rng = np.random.default_rng(0)

    def weight(*shape: int) -> relay.Expr:
        return relay.const(rng.normal(size=shape).astype("float32"))

    def dense(value: relay.Expr, units: int, width: int) -> relay.Expr:
        flat = relay.reshape(value, (8, width))
        made = nn.bias_add(nn.dense(flat, weight(units, width)), weight(units))
        return relay.reshape(made, (1, 8, units))

    def heads(value: relay.Expr) -> relay.Expr:
        split = relay.reshape(dense(value, 16, 16), (8, 2, 8))
        return relay.transpose(split, (1, 0, 2))

    scores = nn.softmax(nn.batch_matmul(heads(x), heads(x)))
    mixed = nn.batch_matmul(scores, relay.transpose(heads(x), (0, 2, 1)))
    joined = relay.reshape(relay.transpose(mixed, (1, 0, 2)), (1, 8, 16))
    x = nn.layer_norm(relay.add(x, dense(joined, 16, 16)), weight(16), weight(16))
    inner = dense(nn.relu(dense(x, 32, 16)), 16, 32)
    x = nn.layer_norm(relay.add(x, inner), weight(16), weight(16))
    return tracing.trace(relay.IRModule.from_expr(x), "dnnl")


SAMPLED = 4  # number of checked rewrites per pass


@pytest.mark.parametrize(
    ("network", "of_each"),
    [
        pytest.param(layers_with_parameters, SAMPLED, id="chain of layers"),
        pytest.param(lambda: chain(True), None, id="chain of blocks"),
        pytest.param(transformer, None, id="transformer", marks=pytest.mark.slow),
        pytest.param(mobilenet, SAMPLED, id="mobilenet", marks=pytest.mark.slow),
        pytest.param(resnet, SAMPLED, id="resnet-50", marks=pytest.mark.slow),
        pytest.param(inception, SAMPLED, id="inception-v3", marks=pytest.mark.slow),
    ],
)
def test_every_rewrite_is_highlighted(network: Any, of_each: int | None) -> None:
    """A rewrite on constants, or one that removes an annotation, creates no box: the consumer of
    the constant, or the box of the removed annotation, is highlighted."""
    trace = network()
    steps = rewrites.Steps(trace, state_and_ids(trace)[1])
    unmarked = []
    for n, stage in enumerate(trace.stages):
        count = len(stage.events)
        for rewrite in range(1, count + 1, max(1, count // of_each) if of_each else 1):
            if not marked(steps.step(n, rewrite, "picture")):
                unmarked.append(f"{stage.name} {rewrite}: {stage.events[rewrite - 1]}")
    assert any(stage.events for stage in trace.stages)
    assert unmarked == []


@pytest.mark.slow
def test_rewrites_of_branches_and_of_regions_with_several_results_are_highlighted() -> None:
    trace = inception()
    steps = rewrites.Steps(trace, state_and_ids(trace)[1])
    regions = [f for f in trace.result.functions.values() if "Compiler" in f.attrs]
    assert any(isinstance(f.ret_type, relay.TupleType) for f in regions)
    for stage in (len(trace) - 2, len(trace) - 1):  # MergeCompilerRegions, PartitionGraph
        for n, event in list(enumerate(trace[stage].events, 1))[::7]:
            assert marked(steps.step(stage, n, "picture")), str(event)


def test_folded_constant_highlights_its_consumer(trace: Any) -> None:
    step = step_state(trace, 5, 27)
    (box,) = marked(step)
    assert trace.stages[5].name == "FoldConstant" and box["lines"][0] == "nn.conv2d"


def test_widget_is_sent_the_requested_step(trace: Any) -> None:
    stepper = Stepper(trace, index=1)
    assert stepper.answer == {}
    assert shown_step(stepper, 3)["rewrite"] == 3
    stepper.index = 2
    assert stepper.rewrite == 0
    with pytest.raises(traitlets.TraitError, match=r"rewrite must be in \[0, \d+\]"):
        stepper.rewrite = 10_000
    with pytest.raises(IndexError, match="rewrite must be in"):
        step_state(trace, 0, 1)


def test_graph_of_a_step_is_sent_before_its_text(
    trace: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also for a large module in a trace that is sent whole."""
    stepper = Stepper(trace, index=1)
    whole = shown_step(stepper, 3)
    assert whole["pending"] == "" and whole["hunks"]
    monkeypatch.setattr(rewrites, "MAX_WITH_TEXT", 100)
    ahead = ask(stepper, 1, "ahead", 4)
    assert (ahead["part"], ahead["step"]) == (None, None)
    monkeypatch.setattr(Stage, "state_after", None)  # computing a state again would raise
    step = shown_step(stepper, 4)
    assert step["pending"] == "text" and not step["hunks"]
    assert step["modules"][1]["scene"]
    step = ask(stepper, 1, "text", 4)["step"]
    assert step["pending"] == "" and step["hunks"]


@pytest.mark.slow
def test_saved_page_contains_steps_up_to_a_limit(
    trace: Any, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = export_html(trace, tmp_path / "whole.html").stat().st_size
    monkeypatch.setattr(export, "MAX_STEP_LINES", 0)
    assert export_html(trace, tmp_path / "none.html").stat().st_size < whole
    saved = rewrites.with_steps(trace, Ids(), state_of(trace), limit=1000)
    steps = [len(stage["steps"]) for stage in saved["stages"]]
    wanted = [stage["events_total"] for stage in saved["stages"]]
    lines = len(state_of(trace)["modules"][0]["lines"])
    assert wanted[0] == 0  # InferType reports no rewrites
    assert 0 < sum(steps) <= 1 + 1000 // (2 * lines)
    # The page has the first rewrites of every pass, equally many for each.
    most = max(steps)
    assert all(min(w, most - 1) <= s <= min(w, most) for s, w in zip(steps, wanted, strict=True))


def test_saved_page_does_not_depend_on_earlier_displays(tmp_path: Any) -> None:
    trace = tracing.trace(network(1), [InferType(), AnnotateTarget("dnnl"), PartitionGraph()])
    first = export_html(trace, tmp_path / "first.html").read_bytes()
    shown_step(Stepper(trace, index=2), 2)
    assert export_html(trace, tmp_path / "second.html").read_bytes() == first


def test_saved_page_has_the_module_between_two_rewrites_once() -> None:
    passes = [InferType(), AnnotateTarget("dnnl"), PartitionGraph()]
    trace, again = (tracing.trace(network(1), passes) for _ in range(2))
    state, ids = state_and_ids(trace)
    saved = rewrites.with_steps(trace, ids, state)
    live = rewrites.Steps(again, state_and_ids(again)[1])
    last: dict[int, Any] = {}
    shared = 0
    for k in range(max(stage["events_total"] for stage in saved["stages"])):
        for n, stage in enumerate(saved["stages"]):
            for step in stage["steps"][k : k + 1]:
                first, second = step["modules"]
                shared += first is None
                for whole in live._wholes.values():
                    whole._last = None  # forget the cached module, so that the step creates both
                made = live.step(n, k + 1, "text")
                assert made == {**step, "modules": [first or last[n], second]}
                last[n] = second
    assert shared > 3
