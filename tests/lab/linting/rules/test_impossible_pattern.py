"""Lint rule BYL029 impossible-pattern: samples, and unknown attributes."""

from __future__ import annotations

from byoc_lab import lint
from byoc_lab.lab.linting.rules.impossible_pattern import ImpossiblePattern
from byoc_lab.passes import MergeComposite
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.linting.samples import RuleChecks, read


class TestImpossiblePattern(RuleChecks):
    rule = ImpossiblePattern

    def test_pattern_with_an_unknown_attribute_is_reported(self) -> None:
        pattern = is_op("nn.conv2d")(wildcard(), wildcard()).has_attr({"grups": 1})
        table = MergeComposite([("dnnl.conv2d", pattern)])
        (found,) = lint(read(self.rule.VALID[0].text), [table])
        assert "asks for the attribute 'grups', which nn.conv2d does not have" in found.message
