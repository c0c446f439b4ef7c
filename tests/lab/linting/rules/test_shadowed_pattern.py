"""Lint rule BYL030 shadowed-pattern."""

from __future__ import annotations

from byoc_lab import lint
from byoc_lab.backends.registry import get, names
from byoc_lab.lab.linting.rules.shadowed_pattern import ShadowedPattern
from byoc_lab.passes import MergeComposite
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.linting.samples import RuleChecks, read


class TestShadowedPattern(RuleChecks):
    rule = ShadowedPattern

    def test_an_entry_with_a_check_may_leave_the_match_to_the_next(self) -> None:
        tanh = is_op("tanh")(wildcard())
        longer = ("dnnl.tanh_relu", is_op("nn.relu")(is_op("tanh")(wildcard())))
        mod = read(self.rule.VALID[0].text)
        assert not lint(mod, [MergeComposite([("dnnl.tanh", tanh, lambda _: False), longer])])
        assert lint(mod, [MergeComposite([("dnnl.tanh", tanh), longer])])

    def test_the_tables_of_the_package_have_no_shadowed_pattern(self) -> None:
        mod = read(self.rule.VALID[0].text)
        for name in names():
            assert not lint(mod, [MergeComposite(list(get(name).patterns()))]), name
