"""Lint rule BYL030 shadowed-pattern."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.shadowed_pattern import ShadowedPattern
from tests.lab.linting.samples import RuleChecks


class TestShadowedPattern(RuleChecks):
    rule = ShadowedPattern
