"""Lint rule BYL028 small-region: its samples."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.small_region import SmallRegion
from tests.lab.linting.samples import RuleChecks


class TestSmallRegion(RuleChecks):
    rule = SmallRegion
