"""Lint rule BYL006 mixed-compilers: one region names two compilers."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject, called
from byoc_lab.relay.analysis.annotations import compiler_of

_T = "Tensor[(10, 10), float32]"
_HEAD = f"def @main(%x: {_T}, %y: {_T}) {{\n"


class MixedCompilers(LintRule):
    """One region names two compilers.

    ## Why is this bad?
    A region goes to one back end. PartitionGraph rejects an end that names another compiler than
    the begin ("region->GetTarget() == target"). It silently accepts two begins of different
    compilers on the arguments of one operator, and the operator goes to the compiler that the first
    one names.

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
            points_at="add",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        for problem in subject.problems_of("target"):
            region, end = problem.details["region"], compiler_of(problem.node)
            hint = ""
            if "default" in (end, region.target):
                hint = "; annotate a module once, with a list of targets, not once per target"
            yield self.finding(
                f"region {subject.number(region)} was opened for {region.target} and is closed "
                f"for {end}",
                f"name one compiler in all begins and ends of the region{hint}",
                problem.node,
                subject,
            )
        for problem in subject.problems_of("mixed-targets"):
            first, other = problem.details["opened_for"]
            yield self.finding(
                f"{called(problem.node)} has arguments of regions of {first} and of {other}",
                f"change the begins of {other} to {first}, or end one of the regions here",
                problem.node,
                subject,
            )
