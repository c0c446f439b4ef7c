"""Lint rule BYL040 pass-order."""

from __future__ import annotations

from itertools import permutations

import pytest

from byoc_lab import backends, explain, lint, relay
from byoc_lab.lab.linting.rules.pass_order import PassOrder
from byoc_lab.passes import AnnotateTarget, MergeComposite, PartitionGraph
from byoc_lab.passes.framework.decorators import module_pass
from byoc_lab.passes.framework.passes import Pass, PassContext
from byoc_lab.relay import IRModule
from byoc_lab.relay.patterns import is_op, wildcard
from tests.lab.explaining.pieces import NPU
from tests.lab.linting.samples import RuleChecks

TABLE = [(f"{NPU}.relu_tanh", is_op("tanh")(is_op("nn.relu")(wildcard())))]


class TestPassOrder(RuleChecks):
    rule = PassOrder

    def test_message_states_what_each_order_offloads(self) -> None:
        assert self.sample_finding().message == (
            "the pipeline runs AnnotateTarget before MergeComposite, and offloads 2 operators in "
            "2 regions; in the usual order it offloads 2 operators in 1 composite and 1 region"
        )

    def test_regions_that_are_not_merged_are_counted(self) -> None:
        assert self.sample_finding(2).message == (
            "the pipeline runs MergeCompilerRegions before AnnotateTarget, and offloads 2 "
            "operators in 2 regions; in the usual order it offloads 2 operators in 1 region"
        )

    def test_pipeline_that_partitions_without_annotating_offloads_nothing(self) -> None:
        found = self.sample_finding(3)
        assert found.message == (
            "the pipeline runs PartitionGraph without AnnotateTarget, and no other pass annotates "
            "an operator for a back end: it offloads nothing"
        )
        assert found.what_to_do == "run AnnotateTarget('dnnl') before PartitionGraph"
        (found,) = lint(network(), [PartitionGraph()])
        assert "run AnnotateTarget(the name of the back end) before" in found.what_to_do
        (found,) = lint(network(), [PartitionGraph()], "dnnl")
        assert found.what_to_do == "run AnnotateTarget('dnnl') before PartitionGraph"

    def test_regions_from_another_source_need_no_annotate_target(self) -> None:
        annotated = AnnotateTarget("dnnl")(network())
        for mod in (annotated, PartitionGraph()(annotated)):
            assert list(lint(mod, [PartitionGraph()])) == []

        @module_pass(opt_level=0)
        def annotating(mod: IRModule, context: PassContext) -> IRModule:
            return annotated

        assert list(lint(network(), [annotating, PartitionGraph()])) == []

    def test_pipeline_without_partitioning_is_judged_as_if_it_partitioned(self) -> None:
        (found,) = lint(network(), [AnnotateTarget("dnnl"), MergeComposite(TABLE)])
        assert found.code == "BYL018"  # the composite would not be offloaded in any order
        table = [("dnnl.relu_tanh", TABLE[0][1])]
        (found,) = lint(network(), [AnnotateTarget("dnnl"), MergeComposite(table)])
        assert (
            found.code == "BYL040" and "with PartitionGraph at the end, offloads" in found.message
        )
        assert list(lint(network(), [MergeComposite(table), AnnotateTarget("dnnl")])) == []


def network() -> IRModule:
    x = relay.var("x", shape=(4,))
    return IRModule.from_expr(relay.exp(relay.tanh(relay.nn.relu(x))))


@pytest.mark.parametrize("order", list(permutations(range(3))), ids=str)
def test_pass_order_is_reported_exactly_if_the_usual_order_offloads_more(
    order: tuple[int, ...],
) -> None:
    backends.register(NPU, patterns=TABLE)
    steps = [MergeComposite(TABLE), AnnotateTarget(NPU), PartitionGraph()]
    pipeline = [steps[n] for n in order]
    offloaded = [e.name for e in explain(network(), NPU, pipeline=pipeline) if e.offloaded]
    found = lint(network(), pipeline).by_code("BYL040")
    assert bool(found) == (offloaded != ["nn.relu", "tanh"])
    backends.register(NPU)


def test_later_table_for_regions_is_not_reported() -> None:
    """A second MergeComposite after the partitioning may serve the code generator."""
    backends.register(NPU, patterns=TABLE)
    steps: list[Pass] = [MergeComposite(TABLE), AnnotateTarget(NPU), PartitionGraph()]
    assert not lint(network(), [*steps, MergeComposite(TABLE)]).by_code("BYL040")
    backends.register(NPU)
