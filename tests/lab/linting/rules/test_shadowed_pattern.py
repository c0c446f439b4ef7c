"""Lint rule BYL030 shadowed-pattern: samples, and the suggested order."""

from __future__ import annotations

from byoc_lab import lint
from byoc_lab.backends.registry import get, names
from byoc_lab.lab.linting.rules.shadowed_pattern import ShadowedPattern
from byoc_lab.passes import MergeComposite
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.linting.samples import RuleChecks, read


class TestShadowedPattern(RuleChecks):
    rule = ShadowedPattern

    def test_entry_with_a_check_shadows_no_later_entry(self) -> None:
        tanh = is_op("tanh")(wildcard())
        longer = ("dnnl.tanh_relu", is_op("nn.relu")(is_op("tanh")(wildcard())))
        mod = read(self.rule.VALID[0].text)
        assert not lint(mod, [MergeComposite([("dnnl.tanh", tanh, lambda _: False), longer])])
        assert lint(mod, [MergeComposite([("dnnl.tanh", tanh), longer])])

    def test_message_states_the_effect_of_the_other_order(self) -> None:
        """The other order may be better, equal or worse."""
        short = ("dnnl.tanh", is_op("tanh")(wildcard()))
        long = ("dnnl.tanh_relu", is_op("nn.relu")(is_op("tanh")(wildcard())))
        ends = ("dnnl.relu_exp", is_op("exp")(is_op("nn.relu")(wildcard())))
        advice = {
            "better": (read(self.rule.VALID[0].text), [short, long]),
            "no difference": (read("def @main(%x: Tensor[(2), float32]) {\n  exp(%x)\n}"),
                              [short, long]),
            "worse": (read("def @main(%x: Tensor[(2), float32]) {\n  exp(nn.relu(tanh(%x)))\n}"),
                      [short, long, ends]),
        }  # fmt: skip
        found = {}
        for name, (mod, table) in advice.items():
            (finding,) = lint(mod, [MergeComposite(table)], rules=["BYL030"])
            found[name] = finding.what_to_do
        assert found["better"] == (
            "put 'dnnl.tanh_relu' before 'dnnl.tanh': 1 composite and 0 operators outside, not "
            "1 composite and 1 operator outside"
        )
        assert found["no difference"].startswith("perhaps put 'dnnl.tanh_relu'")
        assert found["worse"] == (
            "keep the order, or remove 'dnnl.tanh_relu': before 'dnnl.tanh' it makes 1 composite "
            "and 1 operator outside, not 2 composites and 0 operators outside"
        )

    def test_tables_of_the_package_have_no_shadowed_pattern(self) -> None:
        mod = read(self.rule.VALID[0].text)
        for name in names():
            assert not lint(mod, [MergeComposite(list(get(name).patterns()))]), name
