"""Lint rule BYL019 duplicate-symbol."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.duplicate_symbol import DuplicateSymbol
from tests.lab.linting.samples import RuleChecks


class TestDuplicateSymbol(RuleChecks):
    rule = DuplicateSymbol
