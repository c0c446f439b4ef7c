"""Lint rule BYL020 missing-codegen."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.missing_codegen import MissingCodegen
from tests.lab.linting.samples import RuleChecks


class TestMissingCodegen(RuleChecks):
    rule = MissingCodegen
