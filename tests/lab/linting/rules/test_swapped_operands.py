"""Lint rule BYL021 swapped-operands: samples, and agreement with evaluation."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.lab.linting.edits import without_annotations
from byoc_lab.lab.linting.rules.swapped_operands import SwappedOperands
from byoc_lab.passes import AnnotateTarget, InferType
from byoc_lab.run import evaluate
from tests.lab.linting.samples import RuleChecks


class TestSwappedOperands(RuleChecks):
    rule = SwappedOperands

    def test_operands_are_swapped_exactly_in_the_reported_module(self) -> None:
        sample = self.rule.INVALID[0]
        mod = InferType()(relay.parse(sample.text))
        inputs = [np.ones((2, 3), "float32"), np.zeros((2, 3), "float32")]
        expected = evaluate(without_annotations(mod), inputs).value
        swapped = AnnotateTarget("dnnl", era="0.16")(mod)
        assert np.array_equal(evaluate(without_annotations(swapped), inputs).value, -expected)
        kept = AnnotateTarget("dnnl")(mod)
        assert np.array_equal(evaluate(without_annotations(kept), inputs).value, expected)

    def test_missing_begin_is_a_consequence_of_swapped_operands(self) -> None:
        found = self.sample_finding()
        assert [c.code for c in found.consequences] == ["BYL001"]
        fix = found.fix
        assert fix is not None and not fix.left
