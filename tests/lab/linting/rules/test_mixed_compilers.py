"""Lint rule BYL006 mixed-compilers: samples and message."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.mixed_compilers import MixedCompilers
from tests.lab.linting.samples import RuleChecks, begin, end, main


class TestMixedCompilers(RuleChecks):
    rule = MixedCompilers

    def test_message_names_both_compilers(self) -> None:
        found = self.only_finding(main(begin("%x"), "nn.relu(%0)", end("%1", "B")))
        assert found.message == "region 0 was opened for A and is closed for B"
        assert "list of targets" not in found.what_to_do

    def test_default_with_another_compiler_suggests_to_annotate_once(self) -> None:
        found = self.only_finding(main(begin("%x"), "nn.relu(%0)", end("%1", "default")))
        assert "annotate a module once, with a list of targets" in found.what_to_do

    def test_region_is_not_called_by_the_compiler_that_its_only_begin_does_not_name(self) -> None:
        """The picture names the region by its begin."""
        found = self.only_finding(
            main(begin("%x"), "nn.relu(%0)", end("%1"), begin("%2", "B"), "abs(%3)", end("%4"))
        )
        assert found.message == "region 1 has a begin of B among annotations of A"
