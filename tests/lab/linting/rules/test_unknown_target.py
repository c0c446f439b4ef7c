"""Lint rule BYL017 unknown-target: samples, and advice."""

from __future__ import annotations

import pytest

from byoc_lab import backends, lint
from byoc_lab.errors import PassError, UnknownNameError
from byoc_lab.lab.linting.rules.unknown_target import UnknownTarget
from byoc_lab.passes import AnnotateTarget, MergeComposite
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.linting.samples import RuleChecks, read


class TestUnknownTarget(RuleChecks):
    rule = UnknownTarget

    def test_target_with_a_predicate_or_a_pattern_is_known(self) -> None:
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


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("default", "a back end cannot be named 'default'"),
        ("a.b", "must consist of ASCII letters, digits"),
        ("np u", "must consist of ASCII letters, digits"),
    ],
)
def test_advice_for_an_invalid_name_does_not_suggest_to_register_it(name: str, why: str) -> None:
    mod = read(UnknownTarget.INVALID[0].text)
    (found,) = lint(mod, [AnnotateTarget(name)]).by_code("BYL017")
    assert why in found.what_to_do and "register" not in found.what_to_do
    with pytest.raises(UnknownNameError) as unknown:
        backends.get(name)
    assert why.removeprefix("a ") in str(unknown.value)
    assert "registers one" not in str(unknown.value)
    with pytest.raises(PassError, match=why):
        backends.register(name)


@pytest.mark.parametrize("target", ["MYCHIP", "MyChip", "mychp"])
def test_misspelt_target_is_one_finding_that_names_the_composites(target: str) -> None:
    mod = read(UnknownTarget.INVALID[0].text)
    table = [("mychip.relu", is_op("nn.relu")(wildcard()))]
    (found,) = lint(mod, [MergeComposite(table), AnnotateTarget([target, "dnnl"])])
    assert found.code == "BYL017" and "composites such as mychip.relu" in found.message
    assert "did you mean 'mychip'?" in found.what_to_do
    assert not lint(mod, [MergeComposite(table), AnnotateTarget("mychip")])
