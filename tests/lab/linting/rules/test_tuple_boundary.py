"""Lint rule BYL027 tuple-boundary."""

from __future__ import annotations

from byoc_lab import lint
from byoc_lab.backends.dnnl import region_graph
from byoc_lab.lab.linting.rules.tuple_boundary import TupleBoundary
from byoc_lab.passes import PartitionGraph
from tests.lab.linting.samples import RuleChecks


class TestTupleBoundary(RuleChecks):
    rule = TupleBoundary

    def test_the_fix_puts_begins_on_the_fields(self) -> None:
        fix = self.sample_finding().fix
        assert fix is not None
        assert not lint(fix.apply(), backend="dnnl")
        partitioned = PartitionGraph()(fix.apply())
        for gv, func in partitioned.functions.items():
            if gv.name_hint != "main":
                region_graph(func, gv.name_hint)  # which refuses parameters that are tuples
