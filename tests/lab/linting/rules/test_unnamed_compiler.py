"""Lint rule BYL005 unnamed-compiler: samples, and ends."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.unnamed_compiler import UnnamedCompiler
from tests.lab.linting.samples import RuleChecks, begin, called_op, main


class TestUnnamedCompiler(RuleChecks):
    rule = UnnamedCompiler

    def test_end_without_a_compiler_is_reported_too(self) -> None:
        text = main(begin("%x"), "nn.relu(%0)", "annotation.compiler_end(%1)")
        assert called_op(self.only_finding(text)) == "annotation.compiler_end"
