"""The state of two traces side by side: a node and its counterpart share one id."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings

from byoc_lab import relay, trace
from byoc_lab.lab.comparing import Comparison, compare
from byoc_lab.lab.view.states.comparison import _Sides, comparison_state
from byoc_lab.relay import IRModule
from tests import strategies
from tests.lab.view.samples import chain, network
from tests.sweeps import some


def ids_in(module: dict[str, Any]) -> set[str]:
    """The ids of the nodes that a module shows."""
    boxes = (module["scene"] or {"boxes": []})["boxes"]
    return {ident for _, ident in module["lines"] if ident} | {i for b in boxes for i in b["ids"]}


def test_comparison_opens_at_the_first_difference_and_marks_it() -> None:
    state = comparison_state(compare(chain(), chain(fixed=True)))
    assert [stage["outcome"]["word"] for stage in state["stages"]] == [
        "same", "same", "differs first here", "differs",
    ]  # fmt: skip
    assert state["opens"] == 2
    assert state["stages"][2]["caption"] == (
        "The first difference. From the first to the second: 1 annotation for dnnl added."
    )
    failed = "In the first, PartitionGraph raised FreeVariableError. From the first to the second: "
    assert state["stages"][3]["caption"].startswith(failed)


def test_traces_with_different_titles_are_named_by_their_titles() -> None:
    mod = relay.transform.InferType()(network())
    state = comparison_state(compare(trace(mod, "dnnl"), trace(mod, "ccompiler")))
    stage = next(s for s in state["stages"] if s["name"] == "SimplifyInference")
    assert stage["note"] == "only in dnnl"
    assert "Only dnnl has the pass SimplifyInference. From dnnl to ccompiler: " in stage["caption"]
    assert state["words"]["isNew"] == "only in ccompiler"
    last = state["stages"][-1]
    assert last["caption"] == (
        "From dnnl to ccompiler: 2 operators moved from dnnl to the host, 2 operators moved from "
        f"dnnl to ccompiler; {last['changes_total']} changes in all."
    )


def test_moved_operators_are_listed_and_marked() -> None:
    mod = IRModule.from_expr(relay.erf(relay.nn.relu(relay.var("x", shape=(2, 2)))))
    annotated = ["InferType", relay.transform.AnnotateTarget("dnnl")]
    state = comparison_state(compare(trace(mod, ["InferType"]), trace(mod, annotated)))
    stage = state["stages"][-1]
    assert stage["note"] == "only in the second"
    (moved,) = stage["moved"]
    assert (moved["way"], moved["text"]) == (
        "from the host to dnnl (1)", "nn.relu: the host → region 0 of dnnl",
    )  # fmt: skip
    assert moved["node"] in stage["replaced"]
    for side in ("before", "after"):
        assert moved["node"] in ids_in(state["modules"][stage[side]])


def test_equal_modules_are_stored_once() -> None:
    mod = chain()[0].before
    one = comparison_state(compare(trace(mod, ["InferType"]), trace(mod, ["InferType"])))
    assert (one["stages"][0]["before"], one["stages"][0]["after"]) == (0, 0)
    same = compare(chain(), chain())
    assert len(comparison_state(same)["modules"]) == len({id(p.first_module) for p in same.pairs})


@pytest.mark.parametrize("second", ["ccompiler", "dnnl"])
def test_only_counterparts_share_an_id(second: str) -> None:
    check_ids(compare(trace(chain()[0].before, "dnnl"), trace(chain()[0].before, second)))


@settings(max_examples=some(20), deadline=None)
@given(mod=strategies.modules(), other=strategies.modules())
def test_only_counterparts_share_an_id_in_any_modules(mod: IRModule, other: IRModule) -> None:
    check_ids(compare(trace(mod, "ccompiler"), trace(other, ["InferType", "FoldConstant"])))
    check_ids(compare(trace(mod, ["FoldConstant", "InferType"]), trace(mod, "ccompiler")))


def check_ids(made: Comparison) -> None:
    sides = _Sides(made)
    for pair in made.pairs:
        sides.stage(pair)
        ids = sides.ids
        partners = {ids.get(y): ids.get(x) for x, y in pair.partners}
        assert all(first == second for second, first in partners.items())
        stage = sides.stage(pair)
        shown = [ids_in(sides.builders[0].modules[stage[side]]) for side in ("before", "after")]
        assert shown[0] & shown[1] <= partners.keys()
