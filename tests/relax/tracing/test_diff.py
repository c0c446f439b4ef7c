"""Differences of Relax modules: structural, shown in TVM's text."""

from __future__ import annotations

from typing import Any

import byoc_lab
from byoc_lab.lab.diffing import Diff, Row

from .networks import SMALL, chain, dnnl_passes, resnet, tensor, tvm


def different(found: Diff) -> list[Row]:
    return [row for row in found.rows() if row.kind != "same"]


def built(body: Any, helper: str = "helper") -> Any:
    """A module whose main calls a helper."""
    relax = tvm.relax
    builder = relax.BlockBuilder()
    x = relax.Var("x", tensor((1, 8)))
    with builder.function(helper, [x], private=True):
        builder.emit_func_output(builder.emit(relax.op.nn.relu(builder.emit(relax.op.exp(x)))))
    gv = builder.get().get_global_var(helper)
    y = relax.Var("y", tensor((1, 8)))
    with builder.function("main", [y]):
        builder.emit_func_output(body(builder, relax.op, gv, y))
    return builder.get()


def straight(b: Any, op: Any, gv: Any, y: Any) -> Any:
    return b.emit(op.tanh(b.emit(tvm.relax.Call(gv, [b.emit(op.abs(y))]))))


def test_renamed_function_changes_one_line() -> None:
    found = byoc_lab.diff(built(straight), built(straight, "renamed"))
    (row,) = different(found)
    assert row.kind == "changed" and "def helper(" in row.before.text
    assert "def renamed(" in row.after.text and found.summary == "@helper renamed to @renamed"


def test_added_binding_changes_one_line_although_later_ones_are_renumbered() -> None:
    def longer(b: Any, op: Any, gv: Any, y: Any) -> Any:
        return straight(b, op, gv, b.emit(op.negative(y)))

    found = byoc_lab.diff(built(straight), built(longer))
    added, changed = different(found)
    assert added.kind == "added" and "R.negative(y)" in added.after.text
    assert changed.kind == "changed" and "R.abs(" in changed.after.text  # its operand changed


def test_moved_bindings_are_recognized() -> None:
    found = byoc_lab.trace(SMALL, "dnnl")["FuseOpsByPattern"].diff()
    moved = [c for c in found.changes if c.kind in ("moved", "outlined", "composed")]
    assert len(moved) == 3 and "moved into" in found.summary


def test_composite_is_not_reported_as_a_renamed_region() -> None:
    for network in (SMALL, resnet(2)):
        stage = byoc_lab.trace(network, dnnl_passes())["MergeCompositeFunctions"]
        assert "renamed" not in stage.diff().summary


def test_long_region_names_are_shortened_in_the_summary() -> None:
    summary = byoc_lab.trace(resnet(8), "dnnl")["MergeCompositeFunctions"].diff().summary
    assert "…" in summary and len(summary) < 600


def test_values_of_constants_are_compared() -> None:
    before = chain(3)
    text = str(before.script())
    class_ = text[text.index("@I.ir_module") :]
    assert not byoc_lab.diff(before, tvm.script.from_source(class_))
    found = byoc_lab.diff(before, tvm.script.from_source(class_.replace("2.0", "2.5")))
    assert found.summary == "constants of 1 call changed"
    (row,) = different(found)
    assert "R.const(2.5" in row.after.text


def test_summary_uses_correct_plurals() -> None:
    stage = byoc_lab.trace(resnet(2), dnnl_passes())["MergeCompositeFunctions"]
    assert "function literals added" in byoc_lab.diff(stage.before, stage.after).summary
