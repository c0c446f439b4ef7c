"""Lint rule BYL015 decomposed-in-region: its samples."""

from __future__ import annotations

from byoc_lab import fix
from byoc_lab.lab.linting.rules.decomposed_in_region import DecomposedInRegion
from tests.lab.linting.samples import RuleChecks, read


class TestDecomposedInRegion(RuleChecks):
    rule = DecomposedInRegion

    def test_no_fix_leaves_the_operators_of_an_unknown_compiler_to_the_host(self) -> None:
        """AnnotateTarget has the predicates of dnnl, but none of the compiler "A"."""
        text = self.rule.INVALID[0].text
        assert not fix(read(text.replace('"dnnl"', '"A"')))
        known = fix(read(text))
        assert known and 'compiler="dnnl"' in known.apply().astext()
