"""`explain_patterns`: the status of each table entry, over several modules."""

from __future__ import annotations

from itertools import permutations

import pytest

import byoc_lab
from byoc_lab import backends, relay
from byoc_lab.backends import Refused
from byoc_lab.errors import ArgumentError, UnknownNameError
from byoc_lab.lab.explaining import PatternReport, explain, explain_patterns
from byoc_lab.lessons.cases.networks import batch_norm, image, typed
from byoc_lab.lessons.cases.networks import conv as conv_of
from byoc_lab.passes import InferType, MergeComposite
from byoc_lab.relay import IRModule, nn
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import DFPattern, is_constant, is_op, is_tuple_get_item, wildcard
from tests.lab.explaining.pieces import CONV, CONV_ADD, CONV_ADD_RELU, CONV_RELU, bias, conv, x
from tests.plain_cells import plain

MODULES = [
    InferType()(IRModule.from_expr(e))
    for e in (nn.relu(bias(conv())), nn.relu(conv(bias(conv()))), relay.erf(x()))
]
TABLE = [
    ("npu.bias_relu", CONV_ADD_RELU),
    ("npu.relu", CONV_RELU),
    ("npu.conv", CONV),
    ("npu.bias", CONV_ADD),
    ("npu.conv_of_any", is_op("nn.conv2d")(wildcard(), wildcard())),
    ("npu.erf", is_op("erf")(wildcard()), lambda call: Refused("erf is not exact")),
    ("npu.tanh", is_op("tanh")(CONV)),
    ("npu.tanh_of_erf", is_op("erf")(is_op("tanh")(wildcard()))),
    ("npu.three", is_op("nn.relu")(wildcard(), wildcard(), wildcard())),
    ("npu.stride", CONV.has_attr({"stride": (1, 1)})),
]


@pytest.fixture(scope="module")
def report() -> PatternReport:
    return explain_patterns(TABLE, MODULES)


@pytest.mark.parametrize(
    ("name", "status", "reason"),
    [
        ("npu.bias_relu", "matches", "once"),
        ("npu.relu", "matches", "once"),
        ("npu.conv", "matches", "once"),
        ("npu.bias", "shadowed", "npu.bias_relu and npu.conv took the nodes"),
        ("npu.conv_of_any", "shadowed", "npu.conv"),
        ("npu.erf", "refused", "erf is not exact"),
        ("npu.tanh", "never", "no module has tanh"),
        (
            "npu.tanh_of_erf",
            "never",
            "1 of 2 parts match at best, counted from its end: expects tanh, found variable %x",
        ),
        ("npu.three", "impossible", "asks for 3 operands of nn.relu, which has 1"),
        ("npu.stride", "impossible", "'stride', which nn.conv2d does not have"),
    ],
)
def test_entry_has_its_status_and_reason(
    report: PatternReport, name: str, status: str, reason: str
) -> None:
    entry = report[name]
    assert entry.status == status and reason in entry.reason, str(entry)
    assert (entry.matches > 0) == (status == "matches")
    assert name in str(report) and f"<td>{status}</td>" in plain(report._repr_html_())


def test_matches_equal_the_composites_that_merge_composite_makes(report: PatternReport) -> None:
    made = [
        str(n.attrs["Composite"])
        for mod in MODULES
        for func in MergeComposite(TABLE)(mod).functions.values()
        for n in post_order(func)
        if isinstance(n, Function) and "Composite" in n.attrs
    ]
    assert {e.name: e.matches for e in report if e.matches} == {n: made.count(n) for n in made}


def test_witness_is_a_node_of_its_module(report: PatternReport) -> None:
    for entry in report:
        if entry.witness is not None:
            assert entry.module is not None
            assert entry.witness in set(post_order(MODULES[entry.module]["main"]))
    assert report["npu.bias_relu"].witness is MODULES[0]["main"].body


def merged(table: list[tuple[str, DFPattern]]) -> tuple[int, int]:
    """The operators in composites, and the number of composites, over `MODULES`."""
    bodies = [
        n.body
        for m in MODULES
        for n in post_order(*MergeComposite(table)(m).functions.values())
        if isinstance(n, Function) and "Composite" in n.attrs
    ]
    return sum(isinstance(n, Call) for b in bodies for n in post_order(b)), len(bodies)


ENTRIES = {
    "q.cbr": CONV_ADD_RELU, "q.cb": CONV_ADD, "q.c": CONV, "q.r": is_op("nn.relu")(wildcard()),
    "q.cbr again": is_op("nn.relu")(is_op("add")(CONV, wildcard())),
}  # fmt: skip


@pytest.mark.parametrize("names", [n for k in (2, 3) for n in permutations(ENTRIES, k)])
def test_advice_on_a_shadowed_entry_has_the_stated_effect(names: tuple[str, ...]) -> None:
    table = [(n, ENTRIES[n]) for n in names]
    for one in explain_patterns(table, MODULES).by_status("shadowed"):
        moved = list(table)
        first = min(names.index(n) for n in one.shadowed_by)
        moved.insert(first, moved.pop(one.position))
        before, after = merged(table), merged(moved)
        gain = (after[0] - before[0], before[1] - after[1])
        words = f"{one.name} before {names[first]}"
        assert (f"; move {words}" in one.reason) == (gain > (0, 0)), one.reason
        assert (f"; leave the order: {words}" in one.reason) == (gain < (0, 0)), one.reason
        assert ("merges as much" in one.reason) == (gain == (0, 0)), one.reason
        assert f"{after[0]} operator" in one.reason


def test_table_in_the_right_order_gets_no_advice() -> None:
    table = [("dnnl.conv2d_bias_relu", CONV_ADD_RELU), ("dnnl.conv2d", CONV)]
    report = explain_patterns(table, InferType()(IRModule.from_expr(nn.relu(bias(conv())))))
    assert report["dnnl.conv2d"].status == "shadowed"
    assert "move" not in report["dnnl.conv2d"].reason


def test_shadowed_entry_matches_if_it_is_first() -> None:
    for entry in explain_patterns(TABLE, MODULES).by_status("shadowed"):
        moved = [TABLE[entry.position], *(e for e in TABLE if e[0] != entry.name)]
        again = explain_patterns(moved, MODULES)[entry.name]
        assert again.status == "matches" and again.matches <= entry.alone


def test_pattern_report_takes_the_name_of_a_back_end() -> None:
    report = byoc_lab.explain_patterns("dnnl", MODULES[0])
    assert report["dnnl.conv2d_bias_relu"].matches == 1
    assert report["dnnl.conv2d_bias"].shadowed_by == ("dnnl.conv2d_bias_relu",)


def test_invalid_arguments_of_explain_patterns_are_refused() -> None:
    with pytest.raises(UnknownNameError, match="no pattern table is registered as 'npuu'"):
        explain_patterns("npuu", MODULES)
    with pytest.raises(ArgumentError, match="modules must be"):
        explain_patterns(TABLE, [1])  # type: ignore[list-item]
    with pytest.raises(UnknownNameError, match=r"did you mean 'npu\.bias'"):
        explain_patterns(TABLE, MODULES)["npu.bis"]


def test_pattern_object_used_for_several_values_is_reported() -> None:
    """`[is_constant()] * 4` is one pattern object four times, and matches one value only."""
    net = typed(relay.nn.relu(batch_norm(conv_of(image()))))

    def table(constants: list[DFPattern]) -> list[tuple[str, DFPattern]]:
        norm = is_op("nn.batch_norm")(is_op("nn.conv2d")(wildcard(), wildcard()), *constants)
        return [("mychip.norm", is_op("nn.relu")(is_tuple_get_item(norm, 0)))]

    (right,) = explain_patterns(table([is_constant() for _ in range(4)]), net)
    assert right.status == "matches"
    (wrong,) = explain_patterns(table([is_constant()] * 4), net)
    assert wrong.status == "never"
    assert "one value for all uses of one pattern object (a constant; create one" in wrong.reason
    assert wrong.reason.endswith("found different values")


def test_entry_whose_operands_earlier_entries_merged_is_shadowed() -> None:
    def convolutions(root: Call) -> bool:
        return all(a.op_name in ("nn.conv2d", "nn.relu") for a in root.args)

    table = [("q.relu", CONV_RELU), ("q.add", is_op("add")(wildcard(), wildcard()), convolutions)]
    mod = InferType()(IRModule.from_expr(relay.add(nn.relu(conv()), conv())))
    found = explain_patterns(table, mod)["q.add"]
    assert (found.status, found.shadowed_by) == ("shadowed", ("q.relu",))
    assert "would match once as the only entry, but q.relu made composites of operands" in str(
        found
    )
    assert "move q.add before q.relu, which merges 3 operators into 2 composites" in str(found)
    backends.register("q", patterns=table)
    told = explain(mod, "q", "add")[0]
    assert told.cause == "order" and "q.relu made a composite of nn.relu" in told.reason
    assert told.change is not None and "move q.add before q.relu" in told.change.what


def test_entries_with_equal_names_are_distinguished_by_position() -> None:
    """`explain`, `explain_patterns` and BYL030 name the entry by its position, and try the move."""
    x, w, b = (relay.var(n, shape=s) for n, s in (("x", (2, 4)), ("w", (3, 4)), ("b", (3,))))
    dense = is_op("nn.dense")(wildcard(), wildcard())
    table = [("npu.dense", dense), ("npu.dense", is_op("nn.bias_add")(dense, wildcard()))]
    mod = relay.IRModule.from_expr(relay.nn.bias_add(relay.nn.dense(x, w), b))
    first, second = "npu.dense (entry 0)", "npu.dense (entry 1)"
    shadowed = explain_patterns(table, mod)[1]
    assert f"{first} took the nodes before; move {second} before {first}" in shadowed.reason
    backends.register("npu", patterns=table)
    try:
        (found,) = byoc_lab.lint(mod, "npu").by_code("BYL030")
        assert f"put {second!r} before {first!r}: 1 composite and 0 operators" in str(found)
        (host,) = (e for e in explain(mod, "npu") if e.name == "nn.bias_add")
        assert host.cause == "order" and f"{second} matches, and {first} took" in str(host)
        assert f"move {second} before {first} in the pattern table" in str(host)
    finally:
        backends.unregister("npu")


def test_an_operator_that_the_module_has_is_not_said_to_be_missing() -> None:
    """A pattern that divides may end in a multiply."""
    part = is_op("divide")(is_op("multiply")(is_op("exp")(wildcard()), wildcard()), wildcard())
    body = relay.multiply(relay.tanh(x()), relay.tanh(x(name="y")))
    (found,) = explain_patterns([("npu.part", part)], IRModule.from_expr(body))
    assert found.status == "never"
    assert found.reason.startswith("0 of ") and "found multiply" in found.reason
