"""Lint rule BYL013 unannotated-operator: its samples."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.unannotated_operator import UnannotatedOperator
from tests.lab.linting.samples import RuleChecks


class TestUnannotatedOperator(RuleChecks):
    rule = UnannotatedOperator
