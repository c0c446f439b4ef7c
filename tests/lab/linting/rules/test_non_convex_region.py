"""Lint rule BYL007 non-convex-region: samples and message."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.non_convex_region import NonConvexRegion
from tests.lab.linting.samples import RuleChecks, begin, end, main


class TestNonConvexRegion(RuleChecks):
    rule = NonConvexRegion

    def test_message_shows_the_path_outside_the_region(self) -> None:
        lines = (begin("%x"), "nn.relu(%0)", end("%1"), "abs(%2)", "exp(%3)", begin("%4"))
        found = self.only_finding(main(*lines, "add(%1, %5)", end("%6")))
        path = "annotation.compiler_end -> abs -> exp -> annotation.compiler_begin"
        assert found.message == f"region 0 of A depends on its own result: {path}"
