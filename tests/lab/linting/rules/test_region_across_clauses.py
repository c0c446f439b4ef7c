"""Lint rule BYL010 region-across-clauses: samples, and agreement with evaluation."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.errors import EvaluationError
from byoc_lab.lab.linting import Sample
from byoc_lab.lab.linting.rules.region_across_clauses import RegionAcrossClauses
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import substitute
from byoc_lab.run import evaluate
from byoc_lab.transform import InferType, PartitionGraph
from tests.lab.linting.samples import RuleChecks, read


class TestRegionAcrossClauses(RuleChecks):
    rule = RegionAcrossClauses

    def test_partitioned_module_fails_at_evaluation(self, invalid: Sample) -> None:
        """The call outside the clause uses a variable that is unbound there."""
        mod = read(invalid.text)
        assert isinstance(mod, IRModule)
        _, nothing = mod.get_type("Option")[1:]
        x, option = mod["main"].params
        body = substitute(mod["main"].body, {option: relay.Call(nothing, [])})
        mod["main"] = Function([x], body)
        partitioned = PartitionGraph()(InferType()(mod))
        with pytest.raises(EvaluationError, match="%y has no value"):
            evaluate(partitioned, [np.ones(4, np.float32)])
