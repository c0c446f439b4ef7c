"""Options of byoc_lab's functions have the same effect on Relax modules as on Relay's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np
import pytest

pytest.importorskip("tvm", reason="apache-tvm is not installed")

import byoc_lab
from byoc_lab.errors import (
    ArgumentError,
    BuildError,
    ForeignModuleError,
    PassError,
    UnknownNameError,
    UnknownNodeError,
)
from byoc_lab.relax import backends, build
from byoc_lab.relax.ir.calls import region_calls
from byoc_lab.run.metering.cards import OpCard, RegionCard, RegionInfo

from ..test_partition import module, var
from ..tracing.networks import relax, transform

op, dpl = relax.op, relax.dpl
INPUTS = [np.ones((4, 8), "float32"), np.ones((8, 3), "float32")]
RELUS = [("npu.relu", dpl.is_op("relax.nn.relu")(dpl.wildcard()))]
BOUND = [("npu.matmul", dpl.is_op("relax.matmul")(dpl.wildcard(), dpl.is_const()))]
PASSES = [transform.FuseOpsByPattern(RELUS), transform.MergeCompositeFunctions()]


def network() -> Any:
    """softmax(relu(x @ w)) of parameters."""
    return module(
        [var("x", 4, 8), var("w", 8, 3)],
        lambda emit, x, w: emit(op.nn.softmax(emit(op.nn.relu(emit(op.matmul(x, w)))))),
    )


@pytest.fixture
def npu() -> Iterator[str]:
    """A back end for matmul with a constant right operand, and for relu."""
    backends.register("npu", patterns=[*BOUND, *RELUS])
    yield "npu"
    backends.unregister("npu")


def test_given_passes_replace_those_of_the_back_end(npu: str) -> None:
    alone = byoc_lab.explain(network(), npu, pipeline=[transform.FoldConstant()])
    assert alone.offloaded == [] and len(alone) == 3
    found = byoc_lab.explain(network(), npu, "nn.relu", PASSES)
    assert [e.pattern for e in found] == ["npu.relu"]
    # After RunCodegen regions are code, so it is omitted.
    whole = [*PASSES, transform.RunCodegen(), transform.LegalizeOps()]
    assert len(byoc_lab.explain(network(), npu, pipeline=whole).offloaded) == 1
    assert byoc_lab.coverage(network(), npu, PASSES).totals.offloaded == 1
    assert byoc_lab.coverage(network(), npu, [transform.FoldConstant()]).totals.offloaded == 0
    alone = byoc_lab.trace(network(), byoc_lab.relax.partition_for_dnnl)
    assert [s.name for s in alone.stages][-2:] == ["FuseOpsByPattern", "MergeCompositeFunctions"]
    named = byoc_lab.explain(network(), "dnnl", pipeline=byoc_lab.relax.partition_for_dnnl)
    assert [(e.number, e.offloaded) for e in named] == [
        (f"%lv{n}" if n else "%lv", True) for n in range(3)
    ]
    with pytest.raises(PassError, match="a pipeline of Relax is a pass of TVM"):
        byoc_lab.explain(network(), npu, pipeline=3)
    with pytest.raises(UnknownNameError, match="no pass or pipeline of Relax is named 'FuseOpz'"):
        byoc_lab.coverage(network(), npu, "FuseOpz")


@pytest.mark.parametrize("slow", [True, False])
def test_reasons_contain_the_warnings_of_cards(slow: bool) -> None:
    (symbol,) = region_calls(byoc_lab.relax.partition_for_dnnl(network()))
    ops = (OpCard("relu_0", "ref:any" if slow else "jit:uni"),)
    facts = RegionInfo(symbol, "dnnl", None, 3)
    card = RegionCard(facts, calls=1, native=True, ops=ops)
    found = byoc_lab.explain(network(), "dnnl", cards=[card])
    assert [bool(card.warning) and card.warning in e.reason for e in found] == [slow] * 3
    assert (
        byoc_lab.coverage(network(), "dnnl", cards=[card]).warnings
        == [f"@{symbol}: {card.warning}"] * slow
    )


@pytest.mark.parametrize("ask", [byoc_lab.explain, byoc_lab.coverage])
def test_objects_other_than_cards_are_refused(ask: Callable[..., Any]) -> None:
    for cards in (len, [3]):
        with pytest.raises(ArgumentError, match=r"cards=exe\.cards\(\), found"):
            ask(network(), "dnnl", cards=cards)


def test_validate_reports_its_progress() -> None:
    moments: list[Any] = []
    partitioned = byoc_lab.relax.partition_for_dnnl(network())
    byoc_lab.validate(network(), partitioned, INPUTS, progress=moments.append)
    assert [moment.done for moment in moments] == list(range(len(moments)))
    (symbol,) = region_calls(partitioned)
    assert {"the executable", f"region @{symbol}"} < {moment.at for moment in moments}
    assert len(moments) <= moments[0].total + 1


def test_validate_of_modules_in_the_wrong_order_is_refused() -> None:
    partitioned = byoc_lab.relax.partition_for_dnnl(network())
    with pytest.raises(ArgumentError, match="found a module with regions"):
        byoc_lab.validate(partitioned, network())
    with pytest.raises(ArgumentError, match="found RelaxExecutable; write"):
        byoc_lab.validate(build(partitioned), network())


def test_bisect_uses_given_code_generators_and_refuses_an_era() -> None:
    asked: list[str] = []

    def codegen(function: Any, symbol: str) -> NoReturn:
        asked.append(symbol)
        raise BuildError("of the test")

    found = byoc_lab.bisect(network(), "dnnl", INPUTS, backends={"dnnl": codegen})
    assert asked and not found.conclusive
    with pytest.raises(PassError, match=r"era must be None, found era='0\.16'"):
        byoc_lab.bisect(network(), "dnnl", era="0.16")


def test_lint_uses_the_table_of_a_back_end_and_the_later_passes(npu: str) -> None:
    assert [f.code for f in byoc_lab.lint(network())] == []
    found = byoc_lab.lint(network(), backend=npu)
    assert [f.code for f in found] == ["BYR004"]
    assert "operand .args[1] must be a constant" in found[0].message
    assert [f.code for f in byoc_lab.lint(network(), PASSES, npu, ignore=["BYR004"])] == []
    fused = transform.FuseOpsByPattern(RELUS)(network())
    merges = [transform.MergeCompositeFunctions()]
    assert [f.code for f in byoc_lab.lint(fused)] == ["BYR001"]
    assert [f.code for f in byoc_lab.lint(fused, merges)] == []
    for wrong in ("rules", "ignore"):
        with pytest.raises(ArgumentError, match=f"{wrong} must be a list of codes"):
            byoc_lab.lint(network(), **{wrong: 3})


def test_lint_reports_functions_that_later_passes_do_not_merge() -> None:
    fuse, merge = transform.FuseOpsByPattern(RELUS), transform.MergeCompositeFunctions()
    annotated = transform.FuseOpsByPattern(RELUS, annotate_codegen=True)
    for passes, code in (
        ([fuse, merge], None),
        ([fuse], "BYR001"),
        ([fuse, "LegalizeOps", merge], "BYR008"),
        ([transform.FuseOpsByPattern([("relu", RELUS[0][1])])], "BYR007"),
    ):
        assert [f.code for f in byoc_lab.lint(network(), passes)] == [code] * bool(code)
    twice = module([var("x", 4)], lambda emit, x: emit(op.nn.relu(emit(op.nn.relu(x)))))
    assert [f.code for f in byoc_lab.lint(twice, [annotated, merge])] == ["BYR011"]
    traced = byoc_lab.trace(twice, [annotated, merge])
    assert [f.code for f in traced.findings] == ["BYR011", "BYR002"]
    assert [f.code for f in byoc_lab.lint(twice, annotated)] == []


def test_lint_reports_the_module_at_which_passes_fail() -> None:
    mod = network()
    mod["decode"] = mod["main"].with_attr("global_symbol", "decode")
    assert [f.code for f in byoc_lab.lint(mod, "dnnl")] == ["BYR006"]

    def fails(mod: Any) -> NoReturn:
        raise ArgumentError("of the test")

    with pytest.raises(ArgumentError, match="of the test"):
        byoc_lab.lint(network(), [fails])


def test_fix_binds_values_if_a_pattern_requires_constants(npu: str) -> None:
    repair = byoc_lab.fix(network(), {"w": INPUTS[1]}, backend=npu)
    assert repair.steps == ("bind %w",) and repair.left == ()
    assert "removes 1 finding" in repair.proof
    assert [p.name for p in repair.apply()["main"].params] == ["x"]
    assert not byoc_lab.fix(network(), {"w": INPUTS[1]})
    assert {f.code for f in byoc_lab.fix(network(), backend=npu).left} == {"BYR004"}
    with pytest.raises(ArgumentError, match="main has no parameter 'v'"):
        byoc_lab.fix(network(), {"v": INPUTS[1]}, backend=npu)


def test_modules_of_two_languages_are_refused_with_the_conversion() -> None:
    x = byoc_lab.relay.var("x", shape=(2,))
    of_relay = byoc_lab.IRModule.from_expr(byoc_lab.relay.nn.relu(x))
    with pytest.raises(ArgumentError, match="modules of one language, found 1 of relax among 2"):
        byoc_lab.explain_patterns("dnnl", [network(), of_relay])
    with pytest.raises(ForeignModuleError, match=r"importers\.relax\.from_relax\(mod\)"):
        byoc_lab.evaluate(network(), INPUTS)


def test_names_of_calls_that_occur_twice_are_listed_once() -> None:
    cut = byoc_lab.relax.partition_for_dnnl(network())
    with pytest.raises(UnknownNodeError, match=r"shows no call as %zz; there are %gv in @\w+\.$"):
        byoc_lab.explain(cut, "dnnl", "%zz")
