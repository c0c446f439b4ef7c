"""The case of constants that are written as C text."""

from __future__ import annotations

import numpy as np

from byoc_lab import relay
from byoc_lab.lessons.cases.base import LiveCase, Symptom, regions_of, run_passes
from byoc_lab.lessons.cases.networks import numbers, typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.ir.expr import Constant
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class CConstants(LiveCase):
    """The weights of a network are written into C source, and compilation never finishes.

    A code generator that writes C gets the weights as constants inside its function, and writes
    every number as text. For MobileNet, compilation took more than 5 GB and did not finish in a
    reasonable time, so its test was disabled. Later, PartitionGraph got the option
    `bind_constants=False`. It keeps the constants in @main and passes them as arguments, so batch
    norms can still be folded. The C back end here declares its weights as `extern` and links their
    bytes.
    """

    name = "c-constants"
    title = "Weights inside a region become C text without end"
    reference = (
        'apache/tvm pull requests 5272, April 2020, and 9721, "Make constant binding in '
        'PartitionGraph optional", December 2021'
    )
    link = "https://github.com/apache/tvm/pull/9721"
    era = "all"
    fix = "Partition with PartitionGraph(bind_constants=False) for a code generator that writes C."
    cause = ""

    def plain(self) -> IRModule:
        return typed(relay.nn.dense(relay.var("data", shape=(1, 64)), numbers(128, 64)))

    def module(self) -> IRModule:
        return _partitioned(self.plain(), bind_constants=True)

    def symptom(self, mod: IRModule) -> Symptom | None:
        for func in regions_of(mod):
            inside = [n.numpy() for n in post_order(func) if isinstance(n, Constant)]
            if inside:
                count = sum(array.size for array in inside)
                size = sum(len(as_c(array)) for array in inside)
                return Symptom(f"{count} numbers in a region become {size} characters of C", mod)
        return None

    def fixed(self) -> IRModule:
        return _partitioned(self.plain(), bind_constants=False)


def as_c(array: np.ndarray) -> str:
    """An array as C text, one number after the other, as written by code generators of that
    time."""
    values = ", ".join(f"{x:.9g}f" for x in array.reshape(-1))
    return f"static const float weight[{array.size}] = {{{values}}};"


def _partitioned(mod: IRModule, bind_constants: bool) -> IRModule:
    annotation = [AnnotateTarget("ccompiler"), MergeCompilerRegions()]
    return run_passes(mod, [*annotation, PartitionGraph(bind_constants=bind_constants)])
