"""Lint rule BYL032 residual-as-bias: samples, and subtraction."""

from __future__ import annotations

from byoc_lab.lab.linting.rules.residual_as_bias import ResidualAsBias
from tests.lab.linting.samples import RuleChecks


class TestResidualAsBias(RuleChecks):
    rule = ResidualAsBias

    def test_subtracted_tensor_is_reported(self) -> None:
        (sample,) = self.rule.INVALID
        found = self.only_finding(sample.text.replace("= add(", "= subtract("))
        assert found.message.startswith("subtract of the composite mychip.conv2d_bias_relu has")
