"""`stage.replayed`: recorded passes, run again by byoc_lab."""

from __future__ import annotations

from pathlib import Path

import pytest

from byoc_lab import load_trace, relay
from byoc_lab.errors import ArgumentError, PassError, UnknownNameError
from byoc_lab.lab.tracing.recording import RecordedStage
from byoc_lab.lessons import cases
from byoc_lab.passes import (
    AnnotateTarget,
    ConvertLayout,
    FoldConstant,
    InferType,
    MergeComposite,
    PassContext,
    module_pass,
)
from byoc_lab.relay import IRModule
from byoc_lab.relay.op.contrib import get_pattern_table
from tests.lab.tracing.recording.lines import HEAD, begin, end, write


def module(value: float = 1.0) -> IRModule:
    x = relay.var("x", shape=(2,))
    folded = relay.const([value, value]) + relay.const([1.0, 1.0])
    return InferType()(IRModule.from_expr(relay.nn.relu(x + folded)))


def recorded(tmp_path: Path, name: str, before: IRModule, after: IRModule | str) -> RecordedStage:
    """The stage of a recorded pass; after: the resulting module, or the error."""
    ended = (
        {"event": "error", "type": "InternalError", "message": after}
        if isinstance(after, str)
        else end(name, after.astext())
    )
    stage = load_trace(write(tmp_path / "r", HEAD, begin(name, before.astext()), ended))[0]
    assert isinstance(stage, RecordedStage)
    return stage


def test_replay_with_the_recorded_result_has_events(tmp_path: Path) -> None:
    stage = recorded(tmp_path, "FoldConstant", module(), FoldConstant()(module()))
    again = stage.replayed()
    assert again.same and len(again) == 1 and len(again[0].events) > 0
    assert again.title == "FoldConstant, run again: the result equals the recorded result"


def test_replay_with_a_different_result_ends_with_the_recorded_module(tmp_path: Path) -> None:
    stage = recorded(tmp_path, "FoldConstant", module(), module())
    again = stage.replayed()
    assert not again.same and [s.name for s in again] == [
        "FoldConstant",
        "FoldConstant as recorded",
    ]
    assert "the recorded result differs: 1 call added" in again.title
    assert again.difference is not None and again[1].diff().summary == again.difference.summary
    assert "FoldConstant as recorded" in again.save_html(tmp_path / "x.html").read_text()


def test_constants_that_differ_are_measured(tmp_path: Path) -> None:
    other = FoldConstant()(module(1.0 + 2**-10))
    again = recorded(tmp_path, "FoldConstant", module(), other).replayed()
    assert not again.same
    assert "same structure; elements of constants differ by at most 4.9e-04" in again.title


def test_title_says_that_a_pass_raised_only_in_tvm(tmp_path: Path) -> None:
    message = (
        "Traceback (most recent call last):\n  0: f()\nInternalError: Check failed: x : Function:"
    )
    again = recorded(tmp_path, "FoldConstant", module(), message).replayed()
    assert again.difference is None and again.error is None
    assert again.title.endswith("succeeds here, but TVM raised InternalError: Check failed: x")


def test_title_says_whether_a_pass_that_raises_here_raised_in_tvm(tmp_path: Path) -> None:
    @module_pass(opt_level=0)
    def bad(mod: IRModule, ctx: PassContext) -> IRModule:
        raise PassError("no")

    stage = recorded(tmp_path, "FoldConstant", module(), module())
    assert stage.replayed(bad).title.endswith("it fails here, but succeeded in TVM")
    both = recorded(tmp_path, "FoldConstant", module(), "no").replayed(bad)
    assert both.title.endswith("it fails here and in TVM, which raised InternalError: no")


def test_targets_are_inferred_from_the_recorded_result(tmp_path: Path) -> None:
    after = AnnotateTarget("dnnl")(module())
    assert recorded(tmp_path, "AnnotateTarget", module(), after).replayed().same
    with pytest.raises(PassError, match=r"give the pass: stage.replayed\(AnnotateTarget"):
        recorded(tmp_path, "AnnotateTarget", module(), module()).replayed()


def test_pattern_tables_are_inferred_from_the_recorded_result(tmp_path: Path) -> None:
    before = cases.get("fused-ops").plain()
    merged = MergeComposite(get_pattern_table("dnnl"))(before)
    assert recorded(tmp_path, "MergeComposite", before, merged).replayed().same
    with pytest.raises(PassError, match="shows the arguments of MergeComposite"):
        recorded(tmp_path, "MergeComposite", before, before).replayed()


def test_missing_arguments_of_a_pass_can_be_given(tmp_path: Path) -> None:
    stage = recorded(tmp_path, "ConvertLayout", module(), module())
    with pytest.raises(PassError, match="needs desired_layouts"):
        stage.replayed()
    assert stage.replayed(ConvertLayout({"nn.conv2d": ["NHWC", "default"]})).same
    with pytest.raises(ArgumentError, match="replayed takes a pass"):
        stage.replayed("FoldConstant")  # type: ignore[arg-type]
    with pytest.raises(UnknownNameError, match="no pass is named 'Mine'"):
        recorded(tmp_path, "Mine", module(), module()).replayed()
