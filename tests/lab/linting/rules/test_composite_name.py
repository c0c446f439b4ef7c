"""Lint rule BYL018 composite-name: its samples."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.composite_name import CompositeName
from tests.lab.linting.samples import RuleChecks


class TestCompositeName(RuleChecks):
    rule = CompositeName
