"""Lint rule BYL021 swapped-operands."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.swapped_operands import SwappedOperands
from tests.lab.linting.samples import RuleChecks


class TestSwappedOperands(RuleChecks):
    rule = SwappedOperands
