"""Lint rule BYL012 region-cycle."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.region_cycle import RegionCycle
from tests.lab.linting.samples import RuleChecks


class TestRegionCycle(RuleChecks):
    rule = RegionCycle
