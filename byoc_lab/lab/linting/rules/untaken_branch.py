"""Lint rule BYL039 untaken-branch: a region computes operators of a branch that is not taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from byoc_lab.errors import counted
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.ancestor_tree import AncestorTree
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
        if not subject.offloaded or not any(isinstance(n, If) for n in subject.nodes):
            return
        branches: AncestorTree[_Branch] = AncestorTree()
        branch_of = _innermost_branches(subject.nodes, branches)
        for region in subject.offloaded:
            called_in = branches.common(branch_of[end] for end in region.outputs)
            inside: dict[_Branch, list[Expr]] = {}
            for node in filter(_computes, subject.in_order(region)):
                branch = branches.below(called_in, branch_of[node])
                if branch is not None:
                    inside.setdefault(branch, []).append(node)
            if inside and region.outputs:
                yield self._untaken(next(iter(inside.values())), region, subject)

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


class _Branch:
    """One branch of an `if`."""


def _innermost_branches(
    nodes: Sequence[Expr], branches: AncestorTree[_Branch]
) -> dict[Expr, _Branch | None]:
    """The innermost branch that contains all uses of each node. `nodes` has operands before users;
    the branches are added to `branches`, each below the branch around its `if`."""
    found: dict[Expr, _Branch | None] = {nodes[-1]: None}
    for node in reversed(nodes):
        around = found[node]
        uses = [(part, around) for part in node.parts()]
        if isinstance(node, If):
            then, other = _Branch(), _Branch()
            branches.add(then, around)
            branches.add(other, around)
            uses = [(node.cond, around), (node.true_branch, then), (node.false_branch, other)]
        for part, branch in uses:
            found[part] = branches.common((found.get(part, branch), branch))
    return found


def _computes(node: Expr) -> bool:
    return isinstance(node, Call) and not is_annotation(node)
