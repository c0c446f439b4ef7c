"""The case of a region whose result is a tuple of tuples."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lessons.cases.base import DumpCase, ExpectedDiagnosis, Symptom, lint_says, regions_of
from byoc_lab.lessons.cases.networks import typed
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.ir.expr import Tuple
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end
from byoc_lab.relay.text.parser import parse

T = "Tensor[(4), float32]"


class TupleOfTuples(DumpCase):
    """A region with two outputs, one of them a tuple, returns a tuple inside a tuple.

    A tuple can have an end. PartitionGraph of May 2020 put all outputs of a region into one tuple,
    so that a tuple among them was nested, which the runtime cannot handle. Since the change,
    PartitionGraph first moves the end to the fields of the tuple, and rebuilds the tuple after the
    call.
    """

    name = "tuple-of-tuples"
    title = "A tuple that leaves a region becomes a tuple of tuples"
    reference = (
        "apache/tvm pull request 5616, "
        '"[RELAY][BYOC] Fix the creation of tuple of tuples in PartitionGraph", May 2020'
    )
    link = "https://github.com/apache/tvm/pull/5616"
    era = "until May 2020"
    fix = "End the fields, and build the tuple outside of the region (later versions do)."
    cause = ""
    recorded = f"""
def @main(%x: {T}) {{
  @region_0(%x)
}}

def @region_0(%i0: {T}, Compiler="mychip", global_symbol="region_0", Primitive=1, Inline=1) {{
  %0 = nn.relu(%i0);
  %1 = tanh(%0);
  %2 = (%0, %1);
  %3 = exp(%0);
  (%2, %3)
}}
"""

    def program(self) -> IRModule:
        """The annotated input module of the pass: the ends of a tuple and of a tensor."""
        value = relay.nn.relu(compiler_begin(relay.var("x", shape=(4,)), "mychip"))
        pair = compiler_end(relay.Tuple([value, relay.tanh(value)]), "mychip")
        return typed(relay.Tuple([pair, compiler_end(relay.exp(value), "mychip")]))

    def shown(self) -> Symptom:
        mod = parse(self.recorded)
        assert _depth(mod) == 2
        return Symptom("the region returns a tuple that has a tuple in it", mod)

    def diagnosis(self) -> ExpectedDiagnosis:
        return lint_says(self.program())

    def today(self) -> str:
        depth = _depth(PartitionGraph()(self.program()))
        return f"the tuples of the region's result are {depth} deep"


def _depth(mod: IRModule) -> int:
    """The nesting depth of tuples in the result of the region of a partitioned module."""
    (region,) = regions_of(mod)
    depth, level = 0, [region.body]
    while any(isinstance(e, Tuple) for e in level):
        depth += 1
        level = [f for e in level if isinstance(e, Tuple) for f in e.fields]
    return depth
