"""Lint rule BYL011 empty-region."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.empty_region import EmptyRegion
from tests.lab.linting.samples import RuleChecks


class TestEmptyRegion(RuleChecks):
    rule = EmptyRegion
