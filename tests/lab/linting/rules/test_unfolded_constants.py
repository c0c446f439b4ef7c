"""Lint rule BYL024 unfolded-constants."""

from __future__ import annotations

from byoc_lab import lint, relay
from byoc_lab.lab.linting.rules.unfolded_constants import UnfoldedConstants
from byoc_lab.passes import InferType
from byoc_lab.relay.ir.visit import post_order
from tests.lab.linting.samples import RuleChecks, begin, end, main


class TestUnfoldedConstants(RuleChecks):
    rule = UnfoldedConstants

    def test_the_fix_folds_them(self) -> None:
        mod = InferType()(relay.parse(self.rule.INVALID[0].text.replace('"A"', '"dnnl"')))
        fix = lint(mod)[0].fix
        assert fix is not None
        operators = {n.name for n in post_order(fix.apply()["main"]) if isinstance(n, relay.Op)}
        assert "sqrt" not in operators and "add" in operators

    def test_a_region_of_constants_alone_is_meant_so(self) -> None:
        assert self.found_in(main(begin("1f"), "nn.relu(%0)", end("%1"))) == []
