"""Lint rule BYL011 empty-region: samples, and regions of tuple fields."""

from __future__ import annotations

import pytest

from byoc_lab import IRModule, backends, lint, relay, trace
from byoc_lab.lab.linting.rules.empty_region import EmptyRegion
from byoc_lab.passes import AnnotateTarget
from tests.lab.linting.samples import RuleChecks


class TestEmptyRegion(RuleChecks):
    rule = EmptyRegion

    @pytest.mark.parametrize(("non_calls", "count"), [(True, 3), (False, 0)])
    def test_fields_of_a_tuple_become_functions_without_operators(
        self, non_calls: bool, count: int
    ) -> None:
        """TVM 0.16 forms them, too; the change that BYL011 suggests avoids them."""
        backends.register("fields", supports=["nn.relu", "nn.batch_norm"])
        try:
            x = relay.var("x", shape=(1, 4, 8, 8))
            norm = relay.nn.batch_norm(x, *(relay.var(n, shape=(4,)) for n in "abcd"))
            net = relay.Tuple([relay.nn.relu(relay.abs(norm[0])), norm[0], norm[1], norm[2]])
            annotate = AnnotateTarget("fields", non_calls)
            passes = ["InferType", annotate, "MergeCompilerRegions", "PartitionGraph"]
            result = trace(IRModule.from_expr(net), passes).result
            found = lint(result, rules=["BYL011"])
            assert len(found) == count
            empty = [f for f in result.functions.values() if isinstance(f.body, relay.Var)]
            assert len(empty) == count
        finally:
            backends.unregister("fields")

    def test_function_without_a_symbol_is_named_by_its_global_name(self) -> None:
        text = self.rule.INVALID[1].text.replace(', global_symbol="r"', "")
        (found,) = lint(relay.parse(text), rules=["BYL011"])
        assert "external function r has no operator" in found.message
