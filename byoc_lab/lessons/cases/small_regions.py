"""The case of the regions that are too small to be worth a call."""

from __future__ import annotations

from collections.abc import Callable

from byoc_lab import relay
from byoc_lab.lessons.cases.base import (
    ExpectedDiagnosis,
    LiveCase,
    Symptom,
    lint_says,
    operators_in,
    regions_of,
)
from byoc_lab.lessons.cases.networks import numbers, typed
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end


class SmallRegions(LiveCase):
    """Regions have one cheap operator each, and the program is slower than without the back end.

    Each call of a region passes its tensors over the boundary, and the host cannot fuse the
    operator with its neighbours any more. TVM's DNNL got a pass that keeps only the partitions with
    compute-intensive operators and gives the others back to the host, after the model of TensorRT.
    Here a relu of eight numbers is a region of its own.
    """

    name = "small-regions"
    title = "Regions with one cheap operator cost more than they save"
    reference = 'apache/tvm pull request 10835, "[BYOC-DNNL] Prune dnnl subgraph.", March 2022'
    link = "https://github.com/apache/tvm/pull/10835"
    era = "until 0.8; in later ones without prune_dnnl_subgraphs"
    fix = "Run prune_dnnl_subgraphs after PartitionGraph (partition_for_dnnl does)."
    cause = "BYL028"

    def plain(self) -> IRModule:
        return typed(_network(lambda x: x))

    def module(self) -> IRModule:
        return typed(
            _network(lambda x: compiler_end(x, "dnnl"), lambda x: compiler_begin(x, "dnnl"))
        )

    def diagnosis(self) -> ExpectedDiagnosis:
        return lint_says(self.module(), backend="dnnl")

    def symptom(self, mod: IRModule) -> Symptom | None:
        partitioned = PartitionGraph()(mod)
        small = [f for f in regions_of(partitioned) if operators_in(f) == ["nn.relu"]]
        if not small:
            return None
        return Symptom(f"{len(small)} region has one relu of eight numbers", partitioned)

    def fixed(self) -> IRModule:
        dense = relay.nn.dense(compiler_begin(_data(), "dnnl"), compiler_begin(_weight(), "dnnl"))
        return typed(relay.nn.relu(relay.floor(compiler_end(dense, "dnnl"))))


def _data() -> Expr:
    return relay.var("data", shape=(1, 512))


def _weight() -> Expr:
    return numbers(8, 512)


def _network(leave: Callable[[Expr], Expr], enter: Callable[[Expr], Expr] = lambda x: x) -> Expr:
    """dense and relu, each between `enter` and `leave`, and a floor on the host between them."""
    dense = leave(relay.nn.dense(enter(_data()), enter(_weight())))
    return leave(relay.nn.relu(enter(relay.floor(dense))))
