"""The state that is sent to the browser: modules, ids, differences, findings and events."""

from __future__ import annotations

import json
import re
import time
from typing import Any

from byoc_lab import lint, relay
from byoc_lab.lab.diffing import diff
from byoc_lab.lab.tracing import trace
from byoc_lab.lab.view.states.ids import Ids
from byoc_lab.lab.view.states.state import (
    STAT_LABELS,
    Builder,
    diff_state,
    module_state,
    trace_state,
)
from byoc_lab.lab.view.states.whole_steps import WholeSteps
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.relay import nn
from tests.lab.view.samples import annotated, chain, lists, mobilenet, network


def texts(module: dict[str, Any]) -> list[str]:
    return [text for text, _ in module["lines"]]


def covered(stage: dict[str, Any], side: int) -> int:
    """The number of lines before (1) or after (2) in the hunks."""
    sign = {1: "+", 2: "-"}[side]
    return sum(h[3] for h in stage["hunks"] if h[0] != sign)


def test_state_is_plain_data_and_complete() -> None:
    state = trace_state(chain())
    assert json.loads(json.dumps(state)) == lists(state)
    assert state["kind"] == "trace"
    assert [s["name"] for s in state["stages"]] == ["InferType", "Annotate", "PartitionGraph"]
    for module in state["modules"]:
        assert set(module["stats"]) == set(STAT_LABELS)
        assert module["scene"]["boxes"]


def test_hunks_cover_both_modules_line_by_line() -> None:
    state = trace_state(mobilenet())
    for stage in state["stages"]:
        before, after = state["modules"][stage["before"]], state["modules"][stage["after"]]
        assert covered(stage, 1) == len(before["lines"])
        assert covered(stage, 2) == len(after["lines"])
        b = a = 0
        for sign, at_b, at_a, count in stage["hunks"]:
            assert (at_b, at_a) == (b, a)
            b += count * (sign != "+")
            a += count * (sign != "-")


def test_text_of_the_state_equals_the_printed_module() -> None:
    trace = chain(fixed=True)
    state = trace_state(trace)
    for stage, shown in zip(trace.stages, state["stages"], strict=True):
        printed = stage.after.astext(show_meta_data=False, header=False).splitlines()
        lines = texts(state["modules"][shown["after"]])
        assert sorted(lines) == sorted(line for line in printed if line.strip())


class Rename:
    """Renames @helper."""

    name = "Rename"

    def __call__(self, mod: relay.IRModule) -> relay.IRModule:
        renamed = relay.GlobalVar("renamed")

        class Renamer(relay.ExprMutator):
            def visit_global_var(self, op: relay.GlobalVar) -> relay.Expr:
                return renamed if op.name_hint == "helper" else op

        out = relay.IRModule()
        out[renamed] = mod["helper"]
        out["main"] = Renamer().visit(mod["main"])
        return out


def test_renamed_function_changes_one_line() -> None:
    x, y = relay.var("x", shape=(2, 2)), relay.var("y", shape=(2, 2))
    helper = relay.GlobalVar("helper")
    mod = relay.IRModule({helper: relay.Function([y], nn.relu(nn.relu(y)))})
    mod["main"] = relay.Function([x], relay.exp(relay.Call(helper, [x])))
    state = trace_state(trace(InferType()(mod), [Rename()]))
    (stage,) = state["stages"]
    changed = [h for h in stage["hunks"] if h[0] != "="]
    ((sign, b, a, count),) = changed
    assert (sign, count) == ("~", 1)
    lines = [texts(state["modules"][stage[side]])[n] for side, n in (("before", b), ("after", a))]
    assert lines[0].replace("@helper", "@renamed") == lines[1]


def test_folded_constant_shows_its_origins() -> None:
    fold = next(s for s in trace_state(mobilenet())["stages"] if s["name"] == "FoldConstant")
    assert fold["events_total"] == 243
    for event in fold["events"]:
        operator = event["before_text"].split("(")[0]
        made, _, value = event["reason"].partition(" = ")
        assert made.startswith(f"{operator}(") and value, event["reason"]


def test_equal_modules_are_stored_once() -> None:
    state = trace_state(chain(fixed=True))
    first, second, third = state["stages"]
    assert (first["after"], second["after"]) == (second["before"], third["before"])
    assert len(state["modules"]) == 4


def test_node_keeps_its_id_through_the_stages() -> None:
    """The first convolution: copied by InferType and by the annotator, then moved to a function."""
    state = trace_state(chain(fixed=True))
    found = []
    for module in state["modules"]:
        found.append(next(i for text, i in module["lines"] if "nn.conv2d(" in text))
    assert len(set(found[:3])) == 1


def test_id_refers_to_one_operator_unless_a_rewrite_replaced_it() -> None:
    state = trace_state(mobilenet())
    seen: dict[str, str] = {}
    kept = 0
    for stage in state["stages"]:
        for text, ident in state["modules"][stage["after"]]["lines"]:
            operator = re.search(r"(?<![%@.\w])([a-z][\w.]+)\(", text)
            if ident and operator and "def " not in text:
                if ident in stage["replaced"]:
                    seen.pop(ident, None)
                kept += ident in seen
                assert seen.setdefault(ident, operator[1]) == operator[1]
    assert kept > 400


def test_steps_use_the_ids_of_their_stage() -> None:
    """A node that a rewrite creates has, in each step, its id from the result."""
    trace = mobilenet()
    ids = Ids()
    state = Builder(ids).trace(trace)
    for n in (stage.index for stage in trace if stage.events):
        total = len(trace[n].events)
        result = {i for _, i in state["modules"][state["stages"][n]["after"]]["lines"] if i}
        last = WholeSteps(trace[n], ids).step(total)["modules"][1]["lines"]
        assert {i for _, i in last if i} == result


def test_variable_keeps_its_id_when_it_gets_a_type() -> None:
    state = trace_state(chain())
    ids = {m["names"]["%layer1_weight"] for m in state["modules"]}
    assert len(ids) == 1


def test_each_id_refers_to_one_line_of_a_module() -> None:
    for each in (chain(), chain(fixed=True), mobilenet()):
        for module in trace_state(each)["modules"]:
            ids = [i for _, i in module["lines"] if i is not None]
            assert len(ids) == len(set(ids))


def test_names_refer_to_the_line_that_defines_them() -> None:
    for module in trace_state(chain(fixed=True))["modules"]:
        lines = dict((i, text) for text, i in module["lines"] if i)
        for name, ident in module["names"].items():
            if name[1:].isdigit():
                assert lines[ident].strip().startswith(f"{name} = ")
            elif name.startswith("@"):
                assert lines[ident].startswith(f"def {name}(")


def test_ids_in_the_drawing_are_ids_in_the_text() -> None:
    for module in trace_state(mobilenet())["modules"]:
        known = {i for _, i in module["lines"]} | set(module["names"].values())
        drawn = {i for box in module["scene"]["boxes"] for i in box["ids"]}
        drawn |= {g["node"] for g in module["scene"]["groups"] if g["node"]}
        drawn |= {i for *_, begin, end in module["scene"]["arrows"] for i in (begin, end) if i}
        calls = [i for text, i in module["lines"] if i and "(" in text and "def @" not in text]
        assert drawn <= known
        assert len(drawn & set(calls)) > 0.9 * len(set(calls)), "nearly every line has a box"


def test_finding_refers_to_its_line() -> None:
    state = trace_state(chain())
    module = state["modules"][state["stages"][1]["after"]]
    (finding,) = module["findings"]
    assert (finding["code"], finding["severity"]) == ("BYL001", "error")
    assert finding["function"] == "main"
    text, ident = module["lines"][finding["line"]]
    assert "nn.conv2d(%10, %11" in text
    assert ident == finding["node"]
    assert finding["operand"] == "%10", "the edge from the first region"


def test_outlined_operator_keeps_its_id() -> None:
    state = trace_state(chain(fixed=True))
    before, after = (state["modules"][state["stages"][2][side]] for side in ("before", "after"))
    ids = {i for text, i in before["lines"] if "nn." in text}
    assert {i for text, i in after["lines"] if "nn." in text} == ids


def test_stage_that_raised_has_its_error_and_no_result() -> None:
    last = trace_state(chain())["stages"][-1]
    assert last["after"] is None
    assert last["error"]["type"] == "FreeVariableError"
    assert "free variables" in last["error"]["message"]


def test_events_and_changes_refer_to_nodes() -> None:
    state = trace_state(mobilenet())
    simplify = state["stages"][1]
    assert simplify["events_total"] == len(simplify["events"]) == 27
    assert all(e["rule"] and e["reason"] and e["after"] for e in simplify["events"])
    assert simplify["changes_total"] == len(simplify["changes"]) > 27
    assert simplify["summary"]


def test_stats_count_operators_that_move_to_regions() -> None:
    trace = mobilenet()
    state = trace_state(trace)
    first = state["modules"][state["stages"][0]["before"]]["stats"]
    last = state["modules"][state["stages"][-1]["after"]]["stats"]
    assert first == {"offloaded": 0, "host": 86, "regions": 0, "functions": 1}
    assert last["regions"] == last["functions"] - 1
    assert last["offloaded"] >= 27 * 3


def test_single_module_has_one_stage_without_a_previous_module() -> None:
    mod = annotated(fixed=False)
    state = module_state(mod, lint(mod))
    (stage,) = state["stages"]
    assert (state["kind"], stage["before"], stage["after"]) == ("module", None, 0)
    assert [f["code"] for f in state["modules"][0]["findings"]] == ["BYL001"]


def test_difference_has_one_stage() -> None:
    state = diff_state(diff(InferType()(network()), annotated(fixed=True)))
    (stage,) = state["stages"]
    assert state["kind"] == "diff"
    assert stage["changed"] and stage["summary"]


def test_state_of_mobilenet_is_small_and_computed_fast() -> None:
    trace = mobilenet()
    started = time.process_time()
    state = trace_state(trace)
    assert time.process_time() - started < 10  # 0.6 s alone on two cores
    assert len(json.dumps(state)) < 2_000_000


def test_function_can_be_shown_without_a_module() -> None:
    x = relay.var("x", shape=(2, 2))
    (module,) = module_state(relay.Function([x], nn.relu(x)))["modules"]
    assert "nn.relu(%x)" in texts(module)[1]
