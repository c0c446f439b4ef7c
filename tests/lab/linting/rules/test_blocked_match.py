"""Lint rule BYL031 blocked-match."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.blocked_match import BlockedMatch
from tests.lab.linting.samples import RuleChecks


class TestBlockedMatch(RuleChecks):
    rule = BlockedMatch
