"""Lint rule BYL032 residual-as-bias."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.residual_as_bias import ResidualAsBias
from tests.lab.linting.samples import RuleChecks


class TestResidualAsBias(RuleChecks):
    rule = ResidualAsBias
