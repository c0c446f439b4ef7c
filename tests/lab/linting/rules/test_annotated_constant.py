"""Lint rule BYL022 annotated-constant."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.annotated_constant import AnnotatedConstant
from tests.lab.linting.samples import RuleChecks


class TestAnnotatedConstant(RuleChecks):
    rule = AnnotatedConstant
