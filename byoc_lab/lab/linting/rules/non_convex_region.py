"""Lint rule BYL007 non-convex-region: a region needs its own result."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject
from byoc_lab.lab.linting.cycles import cycles, shown
from byoc_lab.lab.linting.edits import Begin, End, Proposal
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Expr

_HEAD = "def @main(%x: Tensor[(10, 10), float32]) {\n"


class NonConvexRegion(LintRule):
    """A value leaves a region, is used outside, and the result enters the same region again.

    ## Why is this bad?
    The region would have to finish before one of its own inputs is available. TVM's PartitionGraph
    recurses until the process crashes; byoc_lab's PartitionGraph raises an error.

    ## What to do instead
    End the region at the value that leaves it and begin a new region there: the result is two
    functions. If MergeCompilerRegions runs afterwards, put the operators in between into a
    `default` region; otherwise it merges the two regions again.

    ## References
    TVM 0.16, src/relay/transforms/partition_graph.cc.
    """

    code, name = "BYL007", "non-convex-region"
    VALID = (
        Sample(
            f'{_HEAD}  %0 = annotation.compiler_begin(%x, compiler="A");\n  %1 = nn.relu(%0);\n'
            '  %2 = annotation.compiler_end(%1, compiler="A");\n'
            '  %3 = annotation.compiler_begin(%2, compiler="default");\n  %4 = abs(%3);\n'
            '  %5 = annotation.compiler_end(%4, compiler="default");\n'
            '  %6 = annotation.compiler_begin(%2, compiler="A");\n'
            '  %7 = annotation.compiler_begin(%5, compiler="A");\n  %8 = add(%6, %7);\n'
            '  annotation.compiler_end(%8, compiler="A")\n}'
        ),
    )
    INVALID = (
        Sample(
            f'{_HEAD}  %0 = annotation.compiler_begin(%x, compiler="A");\n  %1 = nn.relu(%0);\n'
            '  %2 = annotation.compiler_end(%1, compiler="A");\n  %3 = abs(%2);\n'
            '  %4 = annotation.compiler_begin(%3, compiler="A");\n  %5 = add(%1, %4);\n'
            '  annotation.compiler_end(%5, compiler="A")\n}',
            points_at="annotation.compiler_begin",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        if not subject.annotated:
            return
        found = cycles(subject, subject.regions)
        if not found and subject.merging_fails:
            found = cycles(subject, subject.regions, with_default=True)
        for region, path in found:
            yield self.finding(
                f"region {subject.number(region)} of {region.target} depends on its own "
                f"result: {shown(path)}",
                "end the region where the value leaves it, and begin a new one where the value "
                "is used; with MergeCompilerRegions, also annotate the operators in between "
                'with "default"',
                path[-1],
                subject,
                0,
                others=path[:1],
                proposals=_cuts(path, region, subject),
            )


def _cuts(path: list[Expr], region: Region, subject: Subject) -> list[Proposal]:
    """End the region at the value that leaves it; members that use the value begin a second
    region."""
    value = path[0].parts()[-1]
    members = [u for u in subject.users.get(value, ()) if u in region.nodes and u is not path[0]]
    edges = [(u, n) for u in members for n, p in enumerate(u.parts()) if p is value]
    if not edges:
        return []
    cut = [
        e for edge in edges for e in (End((edge,), region.target), Begin((edge,), region.target))
    ]
    return [Proposal("end the region where the value leaves it", subject.name, tuple(cut))]
