"""Lint rule BYL029 impossible-pattern."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.impossible_pattern import ImpossiblePattern
from tests.lab.linting.samples import RuleChecks


class TestImpossiblePattern(RuleChecks):
    rule = ImpossiblePattern
