"""Lint rule BYL023 batch-norm-in-region."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.batch_norm_in_region import BatchNormInRegion
from tests.lab.linting.samples import RuleChecks


class TestBatchNormInRegion(RuleChecks):
    rule = BatchNormInRegion
