"""The case of regions that are merged around an if."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.errors import PartitionError
from byoc_lab.lessons.cases.base import LiveCase, Symptom
from byoc_lab.lessons.cases.networks import image, typed
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.ir.expr import Expr, If
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end


class MergeAroundIf(LiveCase):
    """Two regions are merged although a path leads from one to the other through an `if`.

    MergeCompilerRegions must not merge two regions if a value leaves the first, is used outside and
    its result enters the second: the merged region would need its own result. The pass detects
    paths through annotated code. The change made it also detect paths through an `if`. It still
    ignores unannotated code: TVM's PartitionGraph then recurses endlessly; byoc_lab's raises an
    error that names the path. The fix is a `default` region around the host's operators.
    """

    name = "merge-around-if"
    title = "Regions are merged around an if, and then need their own result"
    reference = (
        'apache/tvm pull request 15211, "[RELAY] Fix bug in MergeCompilerRegions pass", July 2023'
    )
    link = "https://github.com/apache/tvm/pull/15211"
    era = "until 0.13; unannotated code between regions in all"
    fix = 'Annotate the host operators between two regions with "default".'
    cause = "BYL013"
    pipeline = ("MergeCompilerRegions", "PartitionGraph")
    codes = ("BYL013",)

    def plain(self) -> IRModule:
        return typed(_network(None, None))

    def module(self) -> IRModule:
        return typed(_network("dnnl", None))

    def symptom(self, mod: IRModule) -> Symptom | None:
        try:
            PartitionGraph()(MergeCompilerRegions()(mod))
        except PartitionError as error:
            return Symptom("the merged region needs its own result", error=error)
        return None

    def fixed(self) -> IRModule:
        return typed(_network("dnnl", "default"))


def _network(target: str | None, between: str | None) -> Expr:
    """relu, an `if` that applies floor to it in one branch, and the sum of both.

    `target` computes relu and the sum; `between` computes floor.
    """
    data = image()
    first = _leave(relay.nn.relu(_enter(data, target)), target)
    rounded = _leave(relay.floor(_enter(first, between)), between)
    chosen = If(relay.greater(relay.max(data), relay.const(0.5)), rounded, data)
    return _leave(relay.add(_enter(first, target), _enter(chosen, target)), target)


def _enter(value: Expr, target: str | None) -> Expr:
    return value if target is None else compiler_begin(value, target)


def _leave(value: Expr, target: str | None) -> Expr:
    return value if target is None else compiler_end(value, target)
