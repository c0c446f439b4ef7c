"""Lint rule BYL023 batch-norm-in-region: samples, and agreement with partitioning."""

from __future__ import annotations

import pytest

from byoc_lab import lint, relay
from byoc_lab.errors import PartitionError
from byoc_lab.lab.linting.rules.batch_norm_in_region import BatchNormInRegion
from byoc_lab.passes import InferType, PartitionGraph, SimplifyInference
from tests.lab.linting.samples import RuleChecks


class TestBatchNormInRegion(RuleChecks):
    rule = BatchNormInRegion

    def test_partitioning_fails_for_the_reported_module(self) -> None:
        sample = self.rule.INVALID[0]
        mod = InferType()(relay.parse(sample.text))
        with pytest.raises(PartitionError):
            PartitionGraph()(SimplifyInference()(mod))
        fix = lint(mod, sample.passes)[0].fix
        assert fix is not None
        assert PartitionGraph()(SimplifyInference()(fix.apply()))
