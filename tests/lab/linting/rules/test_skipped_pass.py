"""Lint rule BYL016 skipped-pass."""

from __future__ import annotations

from byoc_lab import PassContext, lint
from byoc_lab.lab.linting.rules.skipped_pass import SkippedPass
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

    def test_a_pass_that_is_disabled_on_purpose_is_no_finding(self) -> None:
        mod = read(self.rule.INVALID[0].text)
        with PassContext(opt_level=3, disabled_pass=["FoldConstant"]):
            assert not lint(mod, "dnnl")
