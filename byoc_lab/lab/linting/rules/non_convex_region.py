"""Lint rule BYL007 non-convex-region: a region needs its own result."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject, called
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Expr

_HEAD = "def @main(%x: Tensor[(10, 10), float32]) {\n"


class NonConvexRegion(LintRule):
    """A value leaves a region, is used outside, and the result enters the same region again.

    ## Why is this bad?
    The region would have to finish before one of its own inputs is available. TVM's PartitionGraph
    recurses until the process crashes; byoc_lab's raises an error.

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
            '  %2 = annotation.compiler_end(%1, compiler="A");\n  %3 = abs(%2);\n'
            '  %4 = annotation.compiler_begin(%2, compiler="A");\n'
            '  %5 = annotation.compiler_begin(%3, compiler="A");\n  %6 = add(%4, %5);\n'
            '  annotation.compiler_end(%6, compiler="A")\n}'
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
        for region in subject.all_regions:
            path = _way_back(region, subject)
            if path:
                shown = " -> ".join(called(n) for n in path)
                yield self.finding(
                    f"region {subject.number(region)} of {region.target} depends on its own "
                    f"result: {shown}",
                    "end the region where the value leaves it, and begin a new one where the value "
                    "is used; with MergeCompilerRegions, also annotate the operators in between "
                    'with "default"',
                    path[-1],
                    subject,
                    0,
                )


def _way_back(region: Region, subject: Subject) -> list[Expr]:
    """A path from an end of the region over nodes outside it to one of its begins, or []."""
    place, members, ends = subject.place, region.nodes, set(region.outputs)
    first = min((place[e] for e in ends), default=len(place))
    # Searches backwards from the begins: maps each node to the one that it is an operand of.
    goes_to: dict[Expr, Expr | None] = {b: None for b in region.inputs if place[b] > first}
    todo: list[Expr] = list(goes_to)
    while todo:
        node = todo.pop()
        for operand in node.parts():
            if operand in goes_to or place[operand] < first:
                continue
            goes_to[operand] = node
            if operand in ends:
                return _followed(operand, goes_to)
            if operand not in members:
                todo.append(operand)
    return []


def _followed(end: Expr, goes_to: dict[Expr, Expr | None]) -> list[Expr]:
    path: list[Expr] = []
    at: Expr | None = end
    while at is not None:
        path.append(at)
        at = goes_to[at]
    return [n for n in path if not is_annotation(n) or n is end or n is path[-1]]
