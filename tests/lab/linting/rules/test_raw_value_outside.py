"""Lint rule BYL014 raw-value-outside: its samples."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.raw_value_outside import RawValueOutside
from tests.lab.linting.samples import RuleChecks


class TestRawValueOutside(RuleChecks):
    rule = RawValueOutside
