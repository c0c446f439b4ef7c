"""Lint rule BYL012 region-cycle: merging creates regions that depend on each other."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject
from byoc_lab.lab.linting.boundaries import ends_on, leaving_edges
from byoc_lab.lab.linting.cycles import shown
from byoc_lab.lab.linting.edits import Proposal
from byoc_lab.lab.linting.merging import merge_cycles
from byoc_lab.relay.analysis.annotations import DEFAULT
from byoc_lab.relay.ir.expr import Expr, Var

_T = "Tensor[(10, 10), float32]"
_HEAD = f"def @main(%x: {_T}, %c: bool) {{\n"
_RELU = (
    '  %0 = annotation.compiler_begin(%x, compiler="A");\n  %1 = nn.relu(%0);\n'
    '  %2 = annotation.compiler_end(%1, compiler="A");\n'
)


def _add(first: str, second: str) -> str:
    return (
        f'  %6 = annotation.compiler_begin({first}, compiler="A");\n'
        f'  %7 = annotation.compiler_begin({second}, compiler="A");\n  %8 = add(%6, %7);\n'
        '  annotation.compiler_end(%8, compiler="A")\n}'
    )


def _lets(between: str) -> str:
    return (
        f'{_HEAD}  %0 = annotation.compiler_begin(%x, compiler="A");\n  %1 = nn.relu(%0);\n'
        '  let %u = annotation.compiler_end(%1, compiler="A");\n'
        f"  let %v = {between};\n"
        '  %2 = annotation.compiler_end(%1, compiler="A");\n'
        f"{_add('%2', '%v').replace('%6', '%3').replace('%7', '%4').replace('%8', '%5')}"
    )


class RegionCycle(LintRule):
    """MergeCompilerRegions joins two regions although a path outside connects them.

    ## Why is this bad?
    The joined region depends on its own result. MergeCompilerRegions does not join two regions if
    the path between them passes through a region of another compiler. But it does not detect a path
    through a `let`, an `if`, a reference or a tuple that belongs to no region. TVM's PartitionGraph
    then recurses until the process crashes; byoc_lab's PartitionGraph raises an error. If the path
    passes through a `let`, the call reads a variable before it is bound, and both versions of
    PartitionGraph refuse the module.

    ## What to do instead
    Leave out MergeCompilerRegions, or one of the two regions; or annotate the nodes on the path as
    a `default` region, which MergeCompilerRegions detects. Run ToGraphNormalForm before
    AnnotateTarget if the path passes through a `let`.

    ## References
    TVM 0.16, src/relay/transforms/merge_compiler_regions.cc.
    """

    code, name = "BYL012", "region-cycle"
    severity = Severity.WARNING
    VALID = (
        Sample(
            f'{_HEAD}{_RELU}  %3 = annotation.compiler_begin(%2, compiler="B");\n  %4 = abs(%3);\n'
            f'  %5 = annotation.compiler_end(%4, compiler="B");\n{_add("%2", "%5")}'
        ),
    )
    INVALID = (
        Sample(
            f"{_HEAD}{_RELU}  %3 = (%2, %x);\n  %4 = %3.0;\n{_add('%2', '%4')}",
            points_at="annotation.compiler_begin",
        ),
        Sample(_lets("abs(%u)"), points_at="annotation.compiler_begin"),
        Sample(_lets("abs(%x)"), points_at="annotation.compiler_begin"),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        for region, path, between in merge_cycles(subject):
            if not between:
                bound = any(isinstance(n, Var) for n in path)
                advice = (
                    "run ToGraphNormalForm before AnnotateTarget"
                    if bound
                    else 'annotate the nodes in between with "default"'
                )
                yield self.finding(
                    f"MergeCompilerRegions joins two regions of {region.target}, although a path "
                    f"outside leads from one to the other: {shown(path)}",
                    f"leave out MergeCompilerRegions, or {advice}",
                    path[-1],
                    subject,
                    0,
                    others=path,
                    proposals=_close_default(path, subject),
                )


def _close_default(path: list[Expr], subject: Subject) -> list[Proposal]:
    """Add missing ends to "default" regions on the path, because merging ignores regions without
    ends."""
    regions = dict.fromkeys(r for n in path if (r := subject.regions.of(n)) is not None)
    return [
        Proposal(
            'put compiler_end(..., "default") where the path leaves "default"',
            subject.name,
            ends_on(leaving_edges(region.nodes, subject), DEFAULT),
        )
        for region in regions
        if region.target == DEFAULT and not region.outputs
    ]
