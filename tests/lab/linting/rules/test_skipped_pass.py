"""Lint rule BYL016 skipped-pass: samples, and the level or option that skips a pass."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import PassContext, backends, bisect, coverage, explain, lint, passes, relay, trace
from byoc_lab.lab.linting.finding import Severity
from byoc_lab.lab.linting.rules.skipped_pass import SkippedPass
from byoc_lab.passes.framework.passes import Pass, Sequential
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.linting.samples import RuleChecks, read


class TestSkippedPass(RuleChecks):
    rule = SkippedPass

    def test_message_names_the_level_of_the_pass_and_of_the_context(self) -> None:
        assert self.sample_finding().message == (
            "BackwardFoldScaleAxis and ForwardFoldScaleAxis need opt_level 3, the context has 2: "
            "the pipeline will skip them"
        )

    def test_passes_at_the_required_level_have_no_finding(self) -> None:
        mod = read(self.rule.INVALID[0].text)
        with PassContext(opt_level=3):
            assert not lint(mod, self.rule.INVALID[0].passes)
        with PassContext(opt_level=1):
            assert lint(mod, "dnnl").by_code("BYL016")

    def test_disabled_pass_is_a_hint(self) -> None:
        mod = read(self.rule.INVALID[0].text)
        for required in ([], ["FoldConstant"]):
            with PassContext(opt_level=3, disabled_pass=["FoldConstant"], required_pass=required):
                (found,) = lint(mod, "dnnl")
            assert found.code == "BYL016" and found.severity is Severity.INFO
            assert found.message == (
                "the PassContext disables FoldConstant: the pipeline will skip it"
            )

    def test_passes_of_a_skipped_sequence_are_reported_as_skipped(self) -> None:
        mod = read(self.rule.INVALID[0].text)
        inner = Sequential([passes.FoldConstant()], opt_level=3, name="Fold")
        (found,) = lint(mod, Sequential([inner])).by_code("BYL016")
        assert found.message.startswith("Fold needs opt_level 3, the context has 2")
        assert not lint(mod, inner)  # a sequence that is called directly is not skipped

    def test_advice_names_only_passes_in_disabled_pass(self) -> None:
        mod = read(self.rule.INVALID[0].text)
        with PassContext(opt_level=3, disabled_pass=["FoldScaleAxis", "SimplifyInference"]):
            (found,) = lint(mod, "dnnl")
        assert found.what_to_do == "leave SimplifyInference and FoldScaleAxis out of disabled_pass"


def folded_norm() -> tuple[relay.IRModule, list[Pass | str]]:
    """A batch norm that is offloaded to "folded" only after FoldScaleAxis, and the pipeline."""
    x, ones = relay.var("x", shape=(1, 4, 8, 8)), relay.const(np.ones(4, "float32"))
    conv = relay.nn.conv2d(x, relay.const(np.ones((4, 4, 1, 1), "float32")))
    mod = relay.IRModule.from_expr(relay.nn.batch_norm(conv, ones, ones, ones, ones)[0])
    pattern = is_op("add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard())
    return mod, [
        "SimplifyInference", "FoldConstant", "FoldScaleAxis", "FoldConstant",
        passes.MergeComposite([("folded.conv", pattern)]), passes.AnnotateTarget("folded"),
        "PartitionGraph",
    ]  # fmt: skip


LEVEL_3 = (
    "the PassContext has opt_level {} and skips {}BackwardFoldScaleAxis and ForwardFoldScaleAxis, "
    "which need 3"
)


@pytest.mark.parametrize(
    ("opt_level", "disabled", "missing", "change"),
    [
        (
            3,
            ["FoldScaleAxis"],
            "the PassContext disables FoldScaleAxis",
            "do not disable FoldScaleAxis in the PassContext",
        ),
        (
            3,
            ["FoldScaleAxis", "SimplifyInference"],
            "the PassContext disables SimplifyInference and FoldScaleAxis",
            "do not disable SimplifyInference and FoldScaleAxis in the PassContext",
        ),
        (
            2,
            ["SimplifyInference"],
            "the PassContext disables SimplifyInference; without that, " + LEVEL_3.format(2, ""),
            "do not disable SimplifyInference in the PassContext, and run under "
            "PassContext(opt_level=3)",
        ),
        (
            0,
            [],
            LEVEL_3.format(0, "FoldConstant, which needs 2, and "),
            "run under PassContext(opt_level=3)",
        ),
    ],
)
def test_passes_skipped_together_are_tried_together(
    opt_level: int, disabled: list[str], missing: str, change: str
) -> None:
    mod, pipeline = folded_norm()
    with PassContext(opt_level=opt_level, disabled_pass=disabled):
        conv = explain(mod, "folded", pipeline=pipeline)[0]
    assert conv.cause == "skipped-pass" and conv.reason.startswith(f"{missing}; folded.conv")
    assert conv.change is not None and conv.change.what == change


def test_trace_names_the_skipped_pass_instead_of_its_group() -> None:
    mod, pipeline = folded_norm()
    with PassContext(opt_level=3, disabled_pass=["FoldConstant"]):
        messages = [f.message for f in trace(mod, pipeline).findings]
        found = bisect(mod, pipeline)
    assert messages == ["FoldConstant was skipped: it is disabled"]
    assert str(found).count("FoldConstant was skipped: it is disabled") == 1


def test_each_tool_reports_a_skipped_layout_pass() -> None:
    """ConvertLayout needs level 3 and options; the back end takes only NHWC."""
    x = relay.var("x", shape=(1, 4, 8, 8))
    weight = relay.const(np.ones((4, 4, 3, 3), "float32"))
    mod = relay.IRModule.from_expr(relay.nn.conv2d(x, weight, padding=(1, 1)))
    convert = passes.ConvertLayout({"nn.conv2d": ["NHWC", "HWIO"]})
    pipeline: list[Pass] = [convert, passes.AnnotateTarget("nhwc"), passes.PartitionGraph()]
    backends.register("nhwc", supports={"nn.conv2d": lambda call: call.attrs.data_layout == "NHWC"})
    try:
        for context in (PassContext(), PassContext(opt_level=2)):
            with context:
                assert_found(mod, pipeline)
        assert_found(mod, pipeline)
        with PassContext(opt_level=3, disabled_pass=["ConvertLayout"]):
            assert_disabled(mod, pipeline)
        with PassContext(opt_level=3):
            assert explain(mod, "nhwc", pipeline=pipeline)[0].status == "offloaded"
            assert not lint(mod, pipeline).by_code("BYL016")
            assert coverage(mod, "nhwc", pipeline).totals.offloaded == 1
            assert "skipped" not in str(bisect(mod, pipeline))
    finally:
        backends.unregister("nhwc")


def assert_found(mod: relay.IRModule, pipeline: list[Pass]) -> None:
    (told,) = explain(mod, "nhwc", pipeline=pipeline)
    assert told.cause == "skipped-pass" and told.change is not None
    assert told.change.what == "run under PassContext(opt_level=3)"
    assert told.change.outcome.trace.final["main"] is not None
    covered = coverage(mod, "nhwc", pipeline)
    assert covered.totals.offloaded == 0
    best = covered.changes[0]
    assert best.what == "PassContext(opt_level=3)"
    assert best.totals is not None and best.totals.offloaded == 1
    assert lint(mod, pipeline).by_code("BYL016")
    assert any("ConvertLayout" in f.message for f in trace(mod, pipeline).findings)
    assert "ConvertLayout was skipped: it needs opt_level 3" in str(bisect(mod, pipeline))


def assert_disabled(mod: relay.IRModule, pipeline: list[Pass]) -> None:
    (told,) = explain(mod, "nhwc", pipeline=pipeline)
    assert told.cause == "skipped-pass" and told.change is not None
    assert told.change.what == "do not disable ConvertLayout in the PassContext"
    assert "the PassContext disables ConvertLayout" in str(coverage(mod, "nhwc", pipeline))
    (found,) = lint(mod, pipeline).by_code("BYL016")
    assert found.message.startswith("the PassContext disables ConvertLayout")
    words = "ConvertLayout was skipped: it is disabled"
    assert [str(f.severity) for f in trace(mod, pipeline).findings if words in f.message] == [
        "info"
    ]
    assert words in str(bisect(mod, pipeline))
