"""The case of a constant without a begin."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.errors import PartitionError
from byoc_lab.lessons.cases.base import LiveCase, Symptom
from byoc_lab.lessons.cases.networks import CHANNELS, image, numbers, typed
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end


class ConstantWithoutBegin(LiveCase):
    """A constant inside a region has no begin, and PartitionGraph stops.

    A proposed change left constants unannotated, so that they stay with the operator that uses
    them. A reviewer asked how later passes would then find the inputs of a region, and the change
    was not merged: PartitionGraph treats a constant without a begin as a value outside all regions.
    PartitionGraph itself moves constants into the function (`bind_constants=True`). The fix is a
    begin on constants, too.
    """

    name = "constant-without-begin"
    title = "A constant without a begin makes the arguments of a call inconsistent"
    reference = (
        'apache/tvm pull request 5409, "[BYOC] Don\'t annotate constants", not merged, April 2020'
    )
    link = "https://github.com/apache/tvm/pull/5409"
    era = "0.7 to 0.19"
    fix = "Put a begin on constants as on every other value that enters a region."
    cause = "BYL001"
    codes = ("BYL001",)

    def plain(self) -> IRModule:
        return typed(relay.multiply(image(), numbers(CHANNELS, 1, 1)))

    def module(self) -> IRModule:
        return typed(_region(numbers(CHANNELS, 1, 1)))

    def symptom(self, mod: IRModule) -> Symptom | None:
        try:
            PartitionGraph()(mod)
        except PartitionError as error:
            return Symptom("PartitionGraph finds inconsistent arguments", error=error)
        return None

    def fixed(self) -> IRModule:
        return typed(_region(compiler_begin(numbers(CHANNELS, 1, 1), "dnnl")))


def _region(scale: Expr) -> Expr:
    return compiler_end(relay.multiply(compiler_begin(image(), "dnnl"), scale), "dnnl")
