"""Lint rule BYL011 empty-region: an end directly on a begin."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject
from byoc_lab.lab.linting.edits import Proposal, Remove
from byoc_lab.relay.analysis.annotations import is_annotation

_HEAD = "def @main(%x: Tensor[(10, 10), float32]) {\n"
_BEGIN = '  %0 = annotation.compiler_begin(%x, compiler="A");\n'


class EmptyRegion(LintRule):
    """A region has nothing in it: an end directly follows its begin.

    ## Why is this bad?
    PartitionGraph makes a function of it that returns its arguments, and the back end copies the
    values for nothing.

    ## What to do instead
    Remove the begins and ends of the region.

    ## References
    TVM 0.16, src/relay/transforms/partition_graph.cc.
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
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
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
