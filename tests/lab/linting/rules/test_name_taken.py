"""Lint rule BYL009 name-taken: samples, and agreement with partitioning."""

from __future__ import annotations

import pytest

from byoc_lab.errors import ByocLabError
from byoc_lab.lab.linting.rules.name_taken import NameTaken
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.transform import InferType, PartitionGraph
from tests.lab.linting.samples import RuleChecks, read


class TestNameTaken(RuleChecks):
    rule = NameTaken

    def test_partitioning_fails_for_a_taken_name_and_works_after_the_fix(self) -> None:
        text = self.rule.INVALID[0].text
        assert "@tvmgen_default_A_main_0" in self.only_finding(text).message
        mod = read(text)
        assert isinstance(mod, IRModule)
        typed = InferType()(mod)
        with pytest.raises(ByocLabError, match="tvmgen_default_A_main_0"):
            PartitionGraph()(typed)
        assert "tvmgen_other_A_main_0" in PartitionGraph(mod_name="other")(typed)
