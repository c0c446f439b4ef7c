"""Lint rule BYL027 tuple-boundary."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.tuple_boundary import TupleBoundary
from tests.lab.linting.samples import RuleChecks


class TestTupleBoundary(RuleChecks):
    rule = TupleBoundary
