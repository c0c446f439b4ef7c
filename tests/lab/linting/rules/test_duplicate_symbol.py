"""Lint rule BYL019 duplicate-symbol: samples, and local functions."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.duplicate_symbol import DuplicateSymbol
from tests.lab.linting.samples import TENSOR, RuleChecks, main


class TestDuplicateSymbol(RuleChecks):
    rule = DuplicateSymbol

    def test_duplicate_symbols_of_local_functions_are_reported(self) -> None:
        one = f'fn (%p: {TENSOR}, Compiler="dnnl", global_symbol="f") {{\n    nn.relu(%p)\n  }}'
        found = self.only_finding(main(one, one, "%0(%x)", "%1(%2)"))
        assert found.message.endswith("one in @main, one in @main")
        assert self.found_in(main(one, "%0(%x)", "%0(%1)")) == [], "called twice"
