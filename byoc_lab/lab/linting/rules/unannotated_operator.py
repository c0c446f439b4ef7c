"""Lint rule BYL013 unannotated-operator: an operator without annotations between joined regions."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject, called
from byoc_lab.lab.linting.cycles import shown
from byoc_lab.lab.linting.edits import Begin, End, Proposal
from byoc_lab.lab.linting.merging import merge_cycles
from byoc_lab.relay.analysis.annotations import DEFAULT
from byoc_lab.relay.ir.expr import Call

_HEAD = "def @main(%x: Tensor[(10, 10), float32]) {\n"
_RELU = (
    '  %0 = annotation.compiler_begin(%x, compiler="A");\n  %1 = nn.relu(%0);\n'
    '  %2 = annotation.compiler_end(%1, compiler="A");\n'
)
_ADD = (
    '  %6 = annotation.compiler_begin(%2, compiler="A");\n'
    '  %7 = annotation.compiler_begin(%5, compiler="A");\n  %8 = add(%6, %7);\n'
    '  annotation.compiler_end(%8, compiler="A")\n}'
)


class UnannotatedOperator(LintRule):
    """An operator without annotations is between two regions that MergeCompilerRegions joins.

    ## Why is this bad?
    MergeCompilerRegions only follows annotations. It does not detect that one region depends on the
    other through this operator, and joins them: the joined region depends on its own result. TVM's
    PartitionGraph then recurses until the process crashes; byoc_lab's PartitionGraph raises an
    error. Without MergeCompilerRegions the module is valid.

    ## What to do instead
    Annotate the operator with "default", as AnnotateTarget does with every operator that is not
    offloaded.

    ## References
    TVM 0.16, src/relay/transforms/merge_compiler_regions.cc.
    """

    code, name = "BYL013", "unannotated-operator"
    severity = Severity.WARNING
    VALID = (
        Sample(
            f'{_HEAD}{_RELU}  %3 = annotation.compiler_begin(%2, compiler="default");\n'
            f'  %4 = abs(%3);\n  %5 = annotation.compiler_end(%4, compiler="default");\n{_ADD}'
        ),
    )
    INVALID = (Sample(f"{_HEAD}{_RELU}  %5 = abs(%2);\n{_ADD}", points_at="abs"),)

    def check(self, subject: Subject) -> Iterator[Finding]:
        for region, path, between in merge_cycles(subject):
            for node in between[:1]:
                names = ", ".join(map(called, between))
                yield self.finding(
                    f"{names} has no annotations and lies between regions of "
                    f"{region.target} that MergeCompilerRegions joins, which then "
                    f"need their own result: {shown(path)}",
                    f'annotate {names} with "default", or leave out MergeCompilerRegions',
                    node,
                    subject,
                    others=[*between[1:], path[0], path[-1]],
                    proposals=_around(between, subject),
                )


def _around(between: list[Call], subject: Subject) -> list[Proposal]:
    """Add begins and ends of "default" around each of the operators."""
    edits: list[Begin | End] = []
    for node in between:
        users = [(u, n) for u in subject.users[node] for n, p in enumerate(u.parts()) if p is node]
        edits.append(End(tuple(users), DEFAULT))
        edits += [Begin(((node, n),), DEFAULT) for n in range(1, len(node.args) + 1)]
    title = f'annotate {", ".join(map(called, between))} with "default"'
    return [Proposal(title, subject.name, tuple(edits))]
