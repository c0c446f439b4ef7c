"""`diff`: renumbering is ignored, every other difference is reported."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.relay import IRModule, structural_equal
from byoc_lab.transform import AnnotateTarget, FoldConstant, InferType, PartitionGraph
from tests import strategies
from tests.sweeps import some

HEAD = "def @main(%x: Tensor[(4, 4), float32], %y: Tensor[(4, 4), float32]) {\n"


def _module(*lines: str) -> IRModule:
    return relay.parse(f'#[version = "0.0.5"]\n{HEAD}' + "\n".join(lines) + "\n}")


def _kinds(before: IRModule, after: IRModule) -> list[str]:
    return [c.kind for c in byoc_lab.diff(before, after).changes]


def test_module_does_not_differ_from_itself() -> None:
    mod = _module("%0 = abs(%x);", "add(%0, %y)")
    diff = byoc_lab.diff(mod, mod)
    assert diff.equal
    assert not diff
    assert diff.changes == []
    assert diff.summary == "no change"
    assert {r.kind for r in diff.rows()} == {"same"}


def test_renumbering_is_not_a_difference() -> None:
    """Lines after an added line have other numbers, but are unchanged."""
    before = _module("%0 = abs(%x);", "%1 = exp(%0);", "add(%1, %y)")
    after = _module("%0 = tanh(%x);", "%1 = abs(%0);", "%2 = exp(%1);", "add(%2, %y)")
    rows = byoc_lab.diff(before, after).rows()
    assert [(r.kind, r.after.text.strip()) for r in rows if r.kind != "same"] == [
        ("added", "%0 = tanh(%x);"),
        ("changed", "%1 = abs(%0);"),
    ]


def test_lines_with_equal_text_but_different_operands_are_a_difference() -> None:
    """`subtract(%0, %1)` and `subtract(%1, %0)` differ in their operands, not only in numbers."""
    before = _module("%0 = abs(%x);", "%1 = exp(%0);", "subtract(%0, %1)")
    after = _module("%0 = abs(%x);", "%1 = exp(%0);", "subtract(%1, %0)")
    assert _kinds(before, after) == ["operands"]


def test_call_of_a_number_and_empty_tuple_are_different_lines() -> None:
    """`%1 = %0()` and `%0 = ()` are equal text without their numbers."""
    call = _module("%0 = fn () { () };", "%1 = %0();", "(%1, %1)")
    plain = _module("%0 = ();", "(%0, %0)")
    assert byoc_lab.diff(call, plain).changes


def test_different_constant_is_reported_as_a_difference() -> None:
    x = relay.var("x", shape=(3,))
    mods = [
        InferType()(IRModule.from_expr(relay.add(x, relay.const([1.0, 2.0, n])))) for n in (3, 4)
    ]
    (change,) = byoc_lab.diff(*mods).changes
    assert change.kind == "constant"
    assert "another value" in change.text


def test_changed_attribute_is_named_with_both_values() -> None:
    before = _module("nn.softmax(%x, axis=1)")
    after = _module("nn.softmax(%x, axis=0)")
    (change,) = byoc_lab.diff(before, after).changes
    assert (change.kind, change.text) == ("attribute", "nn.softmax(...): axis 1 to 0")


def test_added_and_removed_calls_are_reported() -> None:
    before = _module("%0 = abs(%x);", "exp(%0)")
    after = _module("exp(%x)")
    kinds = _kinds(before, after)
    assert "removed" in kinds
    assert "added" not in kinds


def test_annotation_and_outlining_are_separate_kinds_of_change() -> None:
    relay.op.register_op_attr("abs", "target.diff_test", lambda call: True)
    mod = _module("%0 = exp(%x);", "abs(%0)")
    annotated = AnnotateTarget("diff_test")(mod)
    assert "annotated" in _kinds(mod, annotated)
    partitioned = PartitionGraph()(annotated)
    outlined = [c for c in byoc_lab.diff(mod, partitioned).changes if c.kind == "outlined"]
    assert [c.text for c in outlined] == ["abs(...) into @tvmgen_default_diff_test_main_0"]
    assert outlined[0].before is mod["main"].body


def test_functions_can_be_compared_and_other_objects_are_refused() -> None:
    func = _module("abs(%x)")["main"]
    assert byoc_lab.diff(func, func).equal
    with pytest.raises(PassError, match="two modules or functions, found str"):
        byoc_lab.diff(func, "abs")  # type: ignore[arg-type]


@settings(max_examples=some(60))
@given(mod=strategies.modules(), other=strategies.modules())
def test_every_line_of_both_texts_is_in_the_rows_once(mod: IRModule, other: IRModule) -> None:
    diff = byoc_lab.diff(mod, other)
    rows = diff.rows()
    lines = [[x.text for x in side if x is not None] for side in zip(*_sides(rows), strict=True)]
    for shown, whole in zip(lines, (mod, other), strict=True):
        printed = whole.astext(show_meta_data=False, show_types=False, header=False)
        expected = [t for t in printed.splitlines() if t.strip()]
        assert [t for t in shown if "meta" not in t] == [t for t in expected if "meta" not in t]
    assert diff.equal == structural_equal(mod, other)


def _sides(rows: list) -> list[tuple]:
    return [(r.before, r.after) for r in rows] or [(None, None)]


@settings(max_examples=some(40))
@given(mod=strategies.modules())
def test_modules_without_a_change_have_only_equal_rows(mod: IRModule) -> None:
    folded = FoldConstant()(mod)
    diff = byoc_lab.diff(mod, folded)
    changed = any(r.kind != "same" for r in diff.rows())
    assert changed == (not diff.equal)
