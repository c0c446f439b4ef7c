"""`bisect` names the pass, region and operator of planted faults, and nothing in correct
modules."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from functools import cache
from math import ceil, log2
from pathlib import Path

import numpy as np
import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.lab.checking.bisection import Bisection
from byoc_lab.lab.checking.example_inputs import example_inputs
from byoc_lab.lab.checking.progress import ProgressUpdate
from byoc_lab.passes import named_pipeline
from byoc_lab.relay import Function, IRModule, nn
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run import evaluate
from tests.lab.checking.faults import FAULTS, places, planted
from tests.lab.checking.networks import NETWORKS

QUICK = [
    ("small", "one weight zeroed"),
    ("small", "dropped bias"),
    ("small", "relu before add"),
    ("small", "swapped operands"),
    ("small", "slice off by one"),
    ("int8", "requantize rounding mode"),
    ("int8", "requantize scale times 1.05"),
]
LARGE = ("mobilenet", "resnet-18")
network = cache(lambda name: NETWORKS[name]())


def with_fault(name: str, fault: str, at: int = 1, place: float = 0.5) -> tuple[Bisection, Call]:
    """The result of `bisect` for a network with a fault after `at` passes, and the changed call."""
    mod = network(name)
    calls = places(mod, FAULTS[fault])
    number = int(place * len(calls))
    passes = list(named_pipeline("dnnl"))
    passes.insert(at, planted(FAULTS[fault], number))
    return byoc_lab.bisect(mod, passes), calls[number]


def check(found: Bisection, changed: Call) -> None:
    assert found.stage == "faulty_pass" and found.region == "main", str(found)
    assert found.runs <= ceil(log2(found.stages)) + 3
    assert found.divergence is not None and found.call is not None
    before = [step.call for step in found.divergence.before]
    if before:  # the changed operator and, if it replaced an operator, the replaced one
        assert any(same_call(call, changed) for call in before) and len(before) <= 2
    else:  # an operator was inserted after the changed one
        (step,) = found.divergence.after
        assert step.args[0].made_by is not None
    text = str(found)
    assert "faulty_pass (stage " in text and "region: @main" in text
    assert f"operator: {found.call.op.name}" in text  # type: ignore[union-attr]


def same_call(a: Call, b: Call) -> bool:
    return a is b or (a.op is b.op and a.args == b.args)


@pytest.mark.parametrize(("name", "fault"), QUICK)
def test_bisect_names_the_operator_of_a_fault(name: str, fault: str) -> None:
    check(*with_fault(name, fault))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "fault", "place"),
    [
        (name, fault, 0.5 * (n % 2))
        for name in NETWORKS
        for n, fault in enumerate(FAULTS)
        if name != "resnet-18" or n % 5 == 0  # takes 6 s for each network
    ],
)
def test_bisect_finds_every_fault_in_every_network(name: str, fault: str, place: float) -> None:
    if not places(network(name), FAULTS[fault]):
        pytest.skip(f"{name} has no operator for this fault")
    check(*with_fault(name, fault, place=place))


def test_at_least_thirty_kinds_of_faults_can_be_planted() -> None:
    for fault in FAULTS.values():
        assert any(places(network(name), fault) for name in reversed(NETWORKS))
    assert len(FAULTS) >= 30


@pytest.mark.parametrize(
    "name", ["small", "int8", *(pytest.param(n, marks=pytest.mark.slow) for n in LARGE)]
)
def test_bisect_finds_nothing_in_correct_networks(name: str) -> None:
    found = byoc_lab.bisect(network(name), "dnnl")
    assert not found.found and found.stage is found.region is found.call is None
    assert found.runs == 2 and str(found).startswith("no difference found\n")
    assert f"{found.stages} stages changed the module" in str(found)


@pytest.mark.slow
def test_bisect_finds_a_fault_between_passes_that_rewrite_everything() -> None:
    """SimplifyInference turns the batch norms into additions, which FoldScaleAxis then changes."""

    def wrong_sum(mod: IRModule) -> IRModule:
        adds = planted(lambda c: relay.subtract(*c.args) if c.is_op("add") else None, 5)
        return adds(mod)

    passes = list(named_pipeline("dnnl"))
    for at in (2, 3, 5):
        found = byoc_lab.bisect(network("mobilenet"), [*passes[:at], wrong_sum, *passes[at:]])
        assert found.stage == "wrong_sum" and found.call is not None
        assert found.call.is_op("subtract")


def test_bisect_names_the_event_of_a_wrong_rewrite() -> None:
    """A rule that is wrong for one of several operators that its pass rewrites."""
    from byoc_lab.passes.framework import hook

    def halve(mod: IRModule) -> IRModule:
        return planted_with_event(mod, hook.report)

    x = relay.var("x", shape=(4,))
    mod = infer_module(IRModule.from_expr(Function([x], nn.relu(relay.tanh(relay.exp(x))))))
    found = byoc_lab.bisect(mod, [halve])
    assert found.rewrite is not None and found.rewrite.rule == "halve"
    assert "rewrite: " in str(found) and found.call is not None


def planted_with_event(mod: IRModule, report: Callable[..., None]) -> IRModule:
    def fault(call: Call) -> relay.Expr | None:
        if not call.is_op("tanh"):
            return None
        new = relay.sigmoid(call.args[0])
        report("halve", "a test", call, new)
        return new

    return planted(fault, 0)(mod)


def test_bisect_names_the_operator_inside_a_region() -> None:
    mod = infer_module(byoc_lab.trace(network("small"), "dnnl").result)
    regions = [gv.name_hint for gv in mod.get_global_vars() if "Compiler" in mod[gv].attrs]

    def wrong_clip(mod: IRModule) -> IRModule:
        out = mod.copy()
        for name in regions:
            clip = planted(FAULTS["clip 6 to 5.9"], 0)
            alone = IRModule({relay.GlobalVar("main"): mod[name]})
            if places(alone, FAULTS["clip 6 to 5.9"]):
                out[name] = clip(alone)["main"]
        return out

    found = byoc_lab.bisect(mod, [wrong_clip])
    assert found.region in regions and found.call is not None and found.call.is_op("clip")


def test_written_repro_fails_in_a_new_process(tmp_path: Path) -> None:
    passes = [planted(FAULTS["one weight zeroed"], 0)]
    found = byoc_lab.bisect(network("small"), passes, folder=tmp_path / "repro")
    assert found.folder == tmp_path / "repro" and "repro.py" in str(found)
    assert {p.name for p in found.folder.iterdir()} == {
        "before.relay", "after.relay", "inputs.npz", "repro.py",
    }  # fmt: skip
    script = [sys.executable, str(found.folder / "repro.py")]
    ended = subprocess.run(script, capture_output=True, text=True, check=False)
    assert ended.returncode == 1 and "elements differ, the first at" in ended.stderr
    text = (found.folder / "after.relay").read_text(encoding="utf-8")
    (found.folder / "before.relay").write_text(text, encoding="utf-8")
    ended = subprocess.run(script, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr


def test_bisect_with_given_inputs_finds_only_faults_that_they_show() -> None:
    x = relay.var("x", shape=(3,))
    mod = infer_module(IRModule.from_expr(Function([x], relay.clip(x, 0, 6))))
    passes = [planted(FAULTS["clip 6 to 5.9"], 0)]
    assert not byoc_lab.bisect(mod, passes, {"x": np.float32([1, 2, 3])}).found
    found = byoc_lab.bisect(mod, passes, [np.float32([1, 7, 3])])
    assert found.found and found.divergence is not None
    assert found.divergence.error == pytest.approx(0.1)
    with pytest.warns(DeprecationWarning, match=r"use Bisection\.divergence"):
        assert found.parting is found.divergence


def test_bisect_of_a_long_chain_is_linear() -> None:
    x = body = relay.var("x", shape=(8,))
    for _ in range(1000):
        body = relay.add(nn.relu(body), relay.const(np.float32(0.125)))
    mod = infer_module(IRModule.from_expr(Function([x], body)))
    calls = [n for n in post_order(mod["main"]) if isinstance(n, Call) and n.is_op("add")]

    def fault(call: Call) -> relay.Expr | None:
        if not call.is_op("add"):
            return None
        return relay.add(call.args[0], relay.const(np.float32(0.1251)))

    found = byoc_lab.bisect(mod, [planted(fault, 700)])
    assert found.divergence is not None
    assert [s.call for s in found.divergence.before] == [calls[700]]


@pytest.mark.parametrize("era", [None, "2020-01"])
def test_reference_evaluates_every_stage_of_every_era(era: str | None) -> None:
    """Also closures and nested functions of 2020: each stage computes the first stage's result."""
    mod = network("small")
    values = example_inputs(mod["main"])
    wanted = evaluate(mod, values, dtype="float64", keep=True)
    stages = byoc_lab.trace(mod, "dnnl", era).stages
    assert len(stages) >= 4
    for stage in stages:
        for dtype in (None, "float64"):
            got = evaluate(stage.after, values, dtype=dtype)
            assert np.allclose(got.outputs[0], wanted.outputs[0], rtol=1e-3, atol=1e-6), stage.name
    body = mod["main"].body
    assert np.array_equal(wanted.values[body], wanted.outputs[0])


def test_bisect_of_a_clean_2020_pipeline_finds_nothing() -> None:
    found = byoc_lab.bisect(network("small"), "dnnl", era="2020-01", kernels=False)
    assert not found.found


def test_difference_within_rounding_is_reported_as_rounding() -> None:
    """One weight differs by one unit in the last place."""
    x = relay.var("x", shape=(1, 64))
    w = np.random.default_rng(0).standard_normal((8, 64)).astype(np.float32)
    mod = infer_module(IRModule.from_expr(Function([x], nn.dense(x, relay.const(w)))))

    def nudge(mod: IRModule) -> IRModule:
        near = w.copy()
        near[3, 5] = np.nextafter(near[3, 5], np.float32(9))
        (param,) = mod["main"].params
        made = mod.copy()
        made["main"] = Function([param], nn.dense(param, relay.const(near)))
        return infer_module(made)

    found = byoc_lab.bisect(mod, [nudge])
    assert not found.found and found.within_rounding and 0 < found.rounding < 1
    assert "outputs differ within rounding: by " in str(found)
    same = byoc_lab.bisect(mod, [lambda mod: mod])
    assert not same.within_rounding and "within rounding" not in str(same)


def test_bisect_reports_progress() -> None:
    told: list[ProgressUpdate] = []
    byoc_lab.bisect(network("small"), "dnnl", progress=told.append)
    assert [m.done for m in told] == list(range(len(told))) and told[0].work == "bisect"
    assert any("region @" in m.at for m in told)
