"""The case of a value that leaves a region several times."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lessons.cases.base import DumpCase, ExpectedDiagnosis, Symptom, lint_says, regions_of
from byoc_lab.lessons.cases.networks import typed
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.relay.ir.expr import Expr, Tuple
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.annotation.regions import compiler_begin, compiler_end
from byoc_lab.relay.text.parser import parse

T = "Tensor[(10, 10), float32]"


class DuplicateOutputs(DumpCase):
    """A region returns the same value three times, because three operators outside use it.

    PartitionGraph of April 2020 made one output of a region for each compiler_end. AnnotateTarget
    inserts an end for each user of a value, so a value with three users left the region three
    times. The back end then computes or copies it three times, and a runtime that expects one
    buffer per value fails. Since the change, all ends of one value form one output.
    """

    name = "duplicate-outputs"
    title = "A value with three users leaves its region three times"
    reference = (
        'apache/tvm pull request 5320, "[BYOC] Prevent duplicate outputs in subgraph Tuple", '
        "April 2020"
    )
    link = "https://github.com/apache/tvm/pull/5320"
    era = "April 2020"
    fix = "Make one output for each value that leaves a region (all later versions do)."
    cause = ""
    recorded = f"""
def @main(%x: {T}) {{
  %0 = @region_0(%x);
  %1 = %0.0;
  %2 = nn.relu(%1);
  %3 = %0.1;
  %4 = tanh(%3);
  %5 = %0.2;
  %6 = log(%5);
  (%2, %4, %6)
}}

def @region_0(%i0: {T}, Compiler="mychip", global_symbol="region_0", Primitive=1, Inline=1)
    -> ({T}, {T}, {T}) {{
  %0 = abs(%i0);
  (%0, %0, %0)
}}
"""

    def program(self) -> IRModule:
        """The annotated input module of the pass: abs in a region, three users outside."""
        value = relay.abs(compiler_begin(relay.var("x", shape=(10, 10)), "mychip"))
        users = (relay.nn.relu, relay.tanh, relay.log)
        return typed(relay.Tuple([user(compiler_end(value, "mychip")) for user in users]))

    def shown(self) -> Symptom:
        mod = parse(self.recorded)
        fields = _outputs(mod)
        assert len(fields) > len(set(fields))
        return Symptom(f"the region returns one value {len(fields)} times", mod)

    def diagnosis(self) -> ExpectedDiagnosis:
        return lint_says(self.program())

    def today(self) -> str:
        return f"the region has {len(_outputs(PartitionGraph()(self.program())))} output"


def _outputs(mod: IRModule) -> tuple[Expr, ...]:
    """The outputs of the region of a partitioned module."""
    (region,) = regions_of(mod)
    body = region.body
    return body.fields if isinstance(body, Tuple) else (body,)
