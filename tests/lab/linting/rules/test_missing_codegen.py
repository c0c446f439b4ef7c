"""Lint rule BYL020 missing-codegen: samples, and agreement with the build."""

from __future__ import annotations

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ByocLabError
from byoc_lab.lab.linting.rules.missing_codegen import MissingCodegen
from tests.lab.linting.samples import RuleChecks


class TestMissingCodegen(RuleChecks):
    rule = MissingCodegen

    def test_build_fails_for_the_reported_module(self) -> None:
        mod = relay.parse(self.rule.INVALID[0].text)
        with pytest.raises(ByocLabError, match="mychip"):
            byoc_lab.build(mod)
