"""Lint rule BYL016 skipped-pass."""

from __future__ import annotations

import numpy as np

from byoc_lab import PassContext, backends, bisect, coverage, explain, lint, passes, relay, trace
from byoc_lab.lab.linting.finding import Severity
from byoc_lab.lab.linting.rules.skipped_pass import SkippedPass
from byoc_lab.passes.framework.passes import Pass, Sequential
from tests.lab.linting.samples import RuleChecks, read


class TestSkippedPass(RuleChecks):
    rule = SkippedPass

    def test_the_message_names_the_level_of_the_pass_and_of_the_context(self) -> None:
        assert self.sample_finding().message == (
            "BackwardFoldScaleAxis and ForwardFoldScaleAxis need opt_level 3, the context has 2: "
            "the pipeline will skip them"
        )

    def test_a_context_of_that_level_runs_them(self) -> None:
        mod = read(self.rule.INVALID[0].text)
        with PassContext(opt_level=3):
            assert not lint(mod, self.rule.INVALID[0].passes)
        with PassContext(opt_level=1):
            assert lint(mod, "dnnl").by_code("BYL016")

    def test_a_pass_that_is_disabled_on_purpose_is_a_hint(self) -> None:
        mod = read(self.rule.INVALID[0].text)
        for required in ([], ["FoldConstant"]):
            with PassContext(opt_level=3, disabled_pass=["FoldConstant"], required_pass=required):
                (found,) = lint(mod, "dnnl")
            assert found.code == "BYL016" and found.severity is Severity.INFO
            assert found.message == (
                "the PassContext disables FoldConstant: the pipeline will skip it"
            )

    def test_members_of_a_sequence_that_is_skipped_are_skipped(self) -> None:
        mod = read(self.rule.INVALID[0].text)
        inner = Sequential([passes.FoldConstant()], opt_level=3, name="Fold")
        (found,) = lint(mod, Sequential([inner])).by_code("BYL016")
        assert found.message.startswith("FoldConstant needs opt_level 3, the context has 2")
        assert not lint(mod, inner)  # called directly, it runs


def test_each_tool_finds_a_layout_pass_that_is_skipped() -> None:
    """ConvertLayout needs level 3 and options; the back end takes NHWC alone."""
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
