"""Lint rule BYL016 skipped-pass."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.skipped_pass import SkippedPass
from tests.lab.linting.samples import RuleChecks


class TestSkippedPass(RuleChecks):
    rule = SkippedPass
