"""Lint rule BYL030 shadowed-pattern: samples, and the suggested order."""

from __future__ import annotations

import re

from hypothesis import example, given
from hypothesis import strategies as st

from byoc_lab import backends, lint, relay
from byoc_lab.backends.registry import get, names
from byoc_lab.lab.linting.rules.shadowed_pattern import ShadowedPattern
from byoc_lab.passes import InferType, MergeComposite
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.explaining.random_tables import TARGET, drawn
from tests.lab.explaining.smallest import DRAWS
from tests.lab.explaining.trials_of_causes import composites
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


def test_entry_that_matches_in_the_module_has_no_finding() -> None:
    """The value that the whole match uses twice prevents the shorter match inside."""
    shorter = is_op("nn.relu")(is_op("tanh")(wildcard()))
    table = [("t.short", shorter), ("t.long", is_op("add")(shorter, wildcard()))]
    text = "def @main(%x: Tensor[(2), float32]) {{ %0 = tanh(%x); add(nn.relu(%0), {}) }}"
    for operand, matches in (("%0", True), ("%x", False)):
        mod = InferType()(relay.parse('#[version = "0.0.5"]\n' + text.format(operand)))
        assert ("t.long" in str(MergeComposite(table)(mod))) == matches
        assert bool(lint(mod, [MergeComposite(table)], rules=["BYL030"])) != matches


@DRAWS
@given(seed=st.integers(0, 2**32))
@example(seed=31000173)
@example(seed=31007561)
def test_shadowed_pattern_makes_no_composite(seed: int) -> None:
    case = drawn(seed)
    backends.register(TARGET, supports=case.supports)
    found = lint(case.mod, case.passes(), rules=["BYL030"])
    made = composites(case, case.table) if found else {}
    for finding in found:
        name = re.match(r"the pattern '([^']+)' never matches", finding.message)
        assert name is not None and not made[name[1]], case.said(finding)
    backends.register(TARGET)
