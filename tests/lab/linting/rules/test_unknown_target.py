"""Lint rule BYL017 unknown-target."""

from __future__ import annotations

from byoc_lab import lint
from byoc_lab.lab.linting.rules.unknown_target import UnknownTarget
from byoc_lab.passes import AnnotateTarget, MergeComposite
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.linting.samples import RuleChecks, read


class TestUnknownTarget(RuleChecks):
    rule = UnknownTarget

    def test_a_target_with_a_predicate_or_a_pattern_is_known(self) -> None:
        mod = read(self.rule.INVALID[0].text)
        pattern = is_op("nn.relu")(wildcard())
        table = MergeComposite([("mychip.relu", pattern)])
        assert not lint(mod, [table, AnnotateTarget("mychip")])
        assert lint(mod, [AnnotateTarget("mychip")]).by_code("BYL017")
        Op.get("nn.relu").set_attr("target.mychip", lambda call: True)
        try:
            assert not lint(mod, [AnnotateTarget("mychip")])
        finally:
            Op.get("nn.relu").reset_attr("target.mychip")
