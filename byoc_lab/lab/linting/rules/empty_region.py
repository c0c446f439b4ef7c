"""Lint rule BYL011 empty-region: an end directly on a begin, or an external function without
operators."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject
from byoc_lab.lab.linting.edits import Proposal, Remove
from byoc_lab.lab.linting.external import is_external, name_of
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import Call

_HEAD = "def @main(%x: Tensor[(10, 10), float32]) {\n"
_BEGIN = '  %0 = annotation.compiler_begin(%x, compiler="A");\n'


class EmptyRegion(LintRule):
    """A region is empty: an end directly follows its begin, or the external function that
    PartitionGraph created from it has no operator.

    ## Why is this bad?
    PartitionGraph turns it into a function that returns its arguments, and the back end copies the
    values needlessly. Some back ends refuse it: in TensorRT, an input cannot be an output.
    AnnotateTarget creates such regions for fields of a tuple that it annotates together with an
    offloaded operator in the tuple.

    ## What to do instead
    Remove the begins and ends of the region. For tuples: AnnotateTarget(...,
    include_non_call_ops=False).

    ## References
    TVM 0.16, src/relay/transforms/partition_graph.cc; github.com/apache/tvm/pull/7581.
    """

    code, name = "BYL011", "empty-region"
    severity = Severity.WARNING
    VALID = (
        Sample(
            f'{_HEAD}{_BEGIN}  %1 = nn.relu(%0);\n  annotation.compiler_end(%1, compiler="A")\n}}'
        ),
    )
    INVALID = (
        Sample(
            f'{_HEAD}{_BEGIN}  annotation.compiler_end(%0, compiler="A")\n}}',
            points_at="annotation.compiler_end",
        ),
        Sample(
            'def @r(%a: Tensor[(10), float32], Compiler="A", global_symbol="r") {\n  %a\n}\n'
            "def @main(%x: Tensor[(10), float32]) {\n  @r(%x)\n}",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        if is_external(subject.func) and not any(isinstance(n, Call) for n in subject.nodes):
            yield self.finding(
                f"external function {name_of(subject.func, subject.name, subject.mod)} has no "
                f"operator: it computes nothing",
                "annotate with AnnotateTarget(..., include_non_call_ops=False), or without the "
                "begins and ends around it",
                subject.func,
                subject,
            )
        for region in subject.offloaded:
            members = subject.in_order(region)
            if not region.outputs or not all(is_annotation(n) for n in members):
                continue
            annotations = tuple(Remove(n) for n in members if is_annotation(n))
            yield self.finding(
                f"region {subject.number(region)} of {region.target} has nothing in it: its end "
                f"is directly on its begin",
                "remove its begins and ends",
                region.outputs[0],
                subject,
                0,
                others=region.inputs,
                proposals=[Proposal("remove the empty region", subject.name, annotations)],
            )
