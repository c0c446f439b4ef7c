"""Lint rule BYL025 leftover-multiply."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.leftover_multiply import LeftoverMultiply
from tests.lab.linting.samples import RuleChecks


class TestLeftoverMultiply(RuleChecks):
    rule = LeftoverMultiply
