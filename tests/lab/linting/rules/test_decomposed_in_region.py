"""Lint rule BYL015 decomposed-in-region: its samples."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.decomposed_in_region import DecomposedInRegion
from tests.lab.linting.samples import RuleChecks


class TestDecomposedInRegion(RuleChecks):
    rule = DecomposedInRegion
