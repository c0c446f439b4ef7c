"""Lint rule BYL020 missing-codegen."""

from __future__ import annotations

import pytest

import byoc_lab
from byoc_lab import relay
from byoc_lab.errors import ByocLabError
from byoc_lab.lab.linting.rules.missing_codegen import MissingCodegen
from tests.lab.linting.samples import RuleChecks


class TestMissingCodegen(RuleChecks):
    rule = MissingCodegen

    def test_building_fails_where_it_is_reported(self) -> None:
        mod = relay.parse(self.rule.INVALID[0].text)
        with pytest.raises(ByocLabError, match="mychip"):
            byoc_lab.build(mod)
