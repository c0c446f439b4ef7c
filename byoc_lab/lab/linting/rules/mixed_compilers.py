"""Lint rule BYL006 mixed-compilers: one region names two compilers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject, called
from byoc_lab.lab.linting.edits import Proposal, Remove, Retarget
from byoc_lab.relay.analysis.annotations import DEFAULT, END, compiler_of, is_annotation
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Call

_T = "Tensor[(10, 10), float32]"
_HEAD = f"def @main(%x: {_T}, %y: {_T}) {{\n"


class MixedCompilers(LintRule):
    """One region names two compilers.

    ## Why is this bad?
    One back end compiles a whole region. PartitionGraph rejects an end that names a different
    compiler than the begin ("region->GetTarget() == target"). It silently accepts two begins of
    different compilers on the arguments of one operator, and assigns the operator to the compiler
    of the first begin.

    ## What to do instead
    Use one compiler for all begins and ends of a region. To change the compiler, end the region and
    begin another. If the module was annotated twice, annotate it once with a list of targets.

    ## References
    TVM 0.16, src/relay/analysis/annotated_region_set.cc.
    """

    code, name = "BYL006", "mixed-compilers"
    VALID = (
        Sample(
            f'{_HEAD}  %0 = annotation.compiler_begin(%x, compiler="A");\n'
            '  %1 = annotation.compiler_begin(%y, compiler="A");\n  %2 = add(%0, %1);\n'
            '  annotation.compiler_end(%2, compiler="A")\n}'
        ),
    )
    INVALID = (
        Sample(
            f'{_HEAD}  %0 = annotation.compiler_begin(%x, compiler="A");\n  %1 = nn.relu(%0);\n'
            '  annotation.compiler_end(%1, compiler="B")\n}',
            points_at="annotation.compiler_end",
        ),
        Sample(
            f'{_HEAD}  %0 = annotation.compiler_begin(%x, compiler="A");\n'
            '  %1 = annotation.compiler_begin(%y, compiler="B");\n  %2 = add(%0, %1);\n'
            '  annotation.compiler_end(%2, compiler="A")\n}',
            points_at="annotation.compiler_begin",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        nodes = [p.node for kind in ("target", "mixed-targets") for p in subject.problems_of(kind)]
        regions = dict.fromkeys(r for n in nodes if (r := subject.regions.of(n)) is not None)
        for region in regions:
            yield from self._odd_ones(region, subject)

    def _odd_ones(self, region: Region, subject: Subject) -> Iterator[Finding]:
        """Report the annotations whose compiler differs from most annotations of their region."""
        members: list[Call] = [n for n in subject.in_order(region) if is_annotation(n)]
        names = [compiler_of(n) for n in members]
        count = Counter(names)
        elsewhere = Counter(compiler_of(n) for n in subject.nodes if is_annotation(n))
        usual = max(dict.fromkeys(names), key=lambda c: (count[c], elsewhere[c] - count[c]))
        undecided = list(count.values()).count(count[usual]) > 1
        for node, other in zip(members, names, strict=True):
            if other == usual:
                continue
            hint = ""
            if DEFAULT in (other, usual):
                hint = "; annotate a module once, with a list of targets, not once per target"
            remake = [
                Proposal(f"{called(node)}: {usual} in place of {other}", subject.name, edits)
                for edits in [(Retarget(node, usual),)]
            ]
            reverse = tuple(
                Retarget(n, other) for n, c in zip(members, names, strict=True) if c == usual
            )
            number = subject.number(region)
            if is_annotation(node, END):
                message = f"region {number} was opened for {usual} and is closed for {other}"
            else:
                message = f"region {number} has a begin of {other} among annotations of {usual}"
            yield self.finding(
                message,
                f"name one compiler in all begins and ends of the region{hint}",
                node,
                subject,
                0,
                others=[n for n in members if n is not node] if undecided else (),
                proposals=[
                    *remake,
                    Proposal(f"name {other} in the whole region", subject.name, reverse),
                    Proposal(f"remove {called(node)}[{other}]", subject.name, (Remove(node),)),
                ],
            )
