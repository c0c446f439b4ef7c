"""Lint rule BYL002 missing-end."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.missing_end import MissingEnd
from tests.lab.linting.samples import RuleChecks, begin, called_op, end, main


class TestMissingEnd(RuleChecks):
    rule = MissingEnd

    def test_a_region_without_an_end_is_reported_at_its_last_operator(self) -> None:
        found = self.only_finding(main(begin("%x"), "nn.relu(%0)", "exp(%1)", "abs(%2)"))
        assert called_op(found) == "abs"
        assert 'compiler_end(..., "A") on abs' in found.what_to_do

    def test_operators_further_down_an_unclosed_branch_are_not_reported(self) -> None:
        lines = (begin("%x"), "nn.relu(%0)", end("%1"), "exp(%1)", "abs(%3)", "add(%2, %4)")
        reported = [called_op(f) for f in self.found_in(main(*lines))]
        assert "exp" in reported and "abs" not in reported

    def test_a_begin_on_a_let_value_is_left_to_free_variable(self) -> None:
        text = main(f"let %a = {begin('%x')};\n  nn.relu(%a)")
        assert self.found_in(text) == []
