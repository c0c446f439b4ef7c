"""Lint rule BYL039 untaken-branch: a region computes operators of a branch that is not taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from byoc_lab.errors import counted
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Call, Expr, If

_T = "Tensor[(4), float32]"


def _begin(value: str) -> str:
    return f'annotation.compiler_begin({value}, compiler="A")'


def _end(value: str) -> str:
    return f'annotation.compiler_end({value}, compiler="A")'


_HEAD = f"def @main(%c: bool, %x: {_T}) {{\n  %0 = {_begin('%x')};\n  %1 = nn.relu(%0);\n"
_BRANCHES = "  if (%c) {{\n    {}\n  }} else {{\n    {}\n  }}\n}}"


class UntakenBranch(LintRule):
    """A region computes operators that only one branch of an `if` needs, and is also called without
    that branch.

    It is reported for modules between annotation (or MergeCompilerRegions) and PartitionGraph.

    ## Why is this bad?
    MergeCompilerRegions merges regions of one target across the branches of an `if`. A region is
    one function, which computes all its operators at each call, including operators of a branch
    that is not taken. The results are right, and no message reports the unneeded work.

    ## What to do instead
    If the operators of the branch cost more than a call of a region, leave MergeCompilerRegions
    out, or end the region before the `if`.

    ## References
    TVM 0.16, src/relay/transforms/merge_compiler_regions.cc.
    """

    code, name = "BYL039", "untaken-branch"
    severity = Severity.WARNING
    VALID = (
        Sample(_HEAD + _BRANCHES.format(_end("tanh(%1)"), "%x")),
        Sample(
            f"{_HEAD}  %2 = {_end('%1')};\n" + _BRANCHES.format(_end(f"tanh({_begin('%2')})"), "%2")
        ),
    )
    INVALID = (
        Sample(
            f"{_HEAD}  %2 = {_end('%1')};\n" + _BRANCHES.format(_end("tanh(%1)"), "%2"),
            points_at="tanh",
        ),
        Sample(
            _HEAD + _BRANCHES.format(_end("tanh(%1)"), _end("exp(%1)")),
            points_at="tanh",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        ifs = [n for n in subject.nodes if isinstance(n, If)] if subject.offloaded else []
        told: set[Region] = set()
        for node in ifs:
            for branch in (node.true_branch, node.false_branch):
                outside = _without(subject.func, node, branch)
                for region in subject.offloaded:
                    inside = [n for n in subject.in_order(region) if _computes(n, outside)]
                    also = any(end in outside for end in region.outputs)
                    if inside and also and region not in told:
                        told.add(region)
                        yield self._untaken(inside, region, subject)

    def _untaken(self, inside: list[Expr], region: Region, subject: Subject) -> Finding:
        names = Counter(n.op_name for n in inside if isinstance(n, Call))
        listed = ", ".join(f"{count} {name}" for name, count in names.items())
        return self.finding(
            f"region {subject.number(region)} of {region.target} computes "
            f"{counted(len(inside), 'operator')} ({listed}) of one branch of an if each time that "
            f"another of its results is needed, whether that branch is taken or not",
            "leave MergeCompilerRegions out, or end the region before the if, if these operators "
            "cost more than another region",
            inside[0],
            subject,
            others=inside[1:],
        )


def _computes(node: Expr, outside: set[Expr]) -> bool:
    return isinstance(node, Call) and not is_annotation(node) and node not in outside


def _without(root: Expr, node: If, branch: Expr) -> set[Expr]:
    """The nodes that are reachable without passing through a branch of an if."""
    seen: set[Expr] = set()
    todo = [root]
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            todo += [p for p in at.parts() if at is not node or p is not branch]
    return seen
