"""Lint rule BYL008 captured-callee: samples, and callees outside regions."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.captured_callee import CapturedCallee
from tests.lab.linting.samples import TENSOR, RuleChecks, begin, end, main

FUNCTION = f"fn (%p: {TENSOR}) {{\n    nn.relu(%p)\n  }}"


class TestCapturedCallee(RuleChecks):
    rule = CapturedCallee

    def test_call_outside_regions_has_no_finding(self) -> None:
        assert self.found_in(main(f"let %f = {FUNCTION};\n  %f(%x)")) == []

    def test_callee_inside_an_annotation_is_reported(self) -> None:
        found = self.only_finding(main(FUNCTION, begin("%0"), begin("%x"), "%1(%2)", end("%3")))
        assert found.message.startswith("a call in region 1 of A calls ")
