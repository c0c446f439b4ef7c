"""Lint rule BYL022 annotated-constant: samples, and agreement with the failing pass."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import PassError
from byoc_lab.lab.linting.rules.annotated_constant import AnnotatedConstant
from byoc_lab.passes import InferType, Sequential
from tests.lab.linting.samples import RuleChecks


class TestAnnotatedConstant(RuleChecks):
    rule = AnnotatedConstant

    def test_pass_fails_exactly_on_the_invalid_samples(self) -> None:
        for sample in self.rule.INVALID:
            with pytest.raises(PassError, match="compiler_begin of a constant"):
                Sequential(list(sample.passes or ()))(InferType()(relay.parse(sample.text)))
        for sample in self.rule.VALID:
            Sequential(list(sample.passes or ()))(InferType()(relay.parse(sample.text)))
