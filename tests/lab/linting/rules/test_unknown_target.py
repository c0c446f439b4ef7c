"""Lint rule BYL017 unknown-target."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.unknown_target import UnknownTarget
from tests.lab.linting.samples import RuleChecks


class TestUnknownTarget(RuleChecks):
    rule = UnknownTarget
