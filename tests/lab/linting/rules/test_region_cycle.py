"""Lint rule BYL012 region-cycle: samples, and paths through lets."""

from __future__ import annotations

import pytest

from byoc_lab import trace
from byoc_lab.errors import PartitionError, WellFormedError
from byoc_lab.lab.linting.base import Sample
from byoc_lab.lab.linting.rules.region_cycle import RegionCycle
from tests.lab.linting.samples import RuleChecks, read


class TestRegionCycle(RuleChecks):
    rule = RegionCycle

    def test_message_claims_one_direction_only(self) -> None:
        """Before merging, the first region depends on nothing of the second."""
        assert self.sample_finding().message.startswith(
            "MergeCompilerRegions joins two regions of A, although a path outside leads from one to"
        )

    @pytest.mark.parametrize("sample", RegionCycle.INVALID[1:])
    def test_regions_on_both_sides_of_a_let_are_malformed_if_merged(self, sample: Sample) -> None:
        mod = read(sample.text)
        merged = trace(mod, ["InferType", "MergeCompilerRegions", "PartitionGraph"])
        assert isinstance(merged.error, (PartitionError, WellFormedError))
        assert trace(mod, ["InferType", "PartitionGraph"]).error is None

    def test_path_through_a_let_is_shown_with_its_variables(self) -> None:
        found = self.sample_finding(1)
        path = "annotation.compiler_end -> %u -> abs -> %v -> annotation.compiler_begin"
        assert found.message.endswith(path)
        assert "ToGraphNormalForm" in str(found)
