"""Lint rule BYL024 unfolded-constants."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.unfolded_constants import UnfoldedConstants
from tests.lab.linting.samples import RuleChecks


class TestUnfoldedConstants(RuleChecks):
    rule = UnfoldedConstants
