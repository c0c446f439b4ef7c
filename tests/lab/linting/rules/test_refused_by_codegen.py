"""Lint rule BYL026 refused-by-codegen."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.refused_by_codegen import RefusedByCodegen
from tests.lab.linting.samples import RuleChecks


class TestRefusedByCodegen(RuleChecks):
    rule = RefusedByCodegen
