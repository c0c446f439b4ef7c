"""Lint rule BYL024 unfolded-constants: a region computes with constants alone."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject, called
from byoc_lab.lab.linting.batch_norms import fold_then_annotate
from byoc_lab.lab.linting.edits import Proposal
from byoc_lab.relay.analysis.annotations import is_annotation, skip_annotations
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op

_HEAD = (
    "def @main(%x: Tensor[(2, 3), float32]) {\n"
    '  %0 = annotation.compiler_begin(%x, compiler="A");\n'
    '  %1 = annotation.compiler_begin(2f, compiler="A");\n'
)
_END = '  annotation.compiler_end(%3, compiler="A")\n}'


class UnfoldedConstants(LintRule):
    """A region computes a value of constants alone, in every run.

    ## Why is this bad?
    The back end computes the same values in every run, and patterns that ask for a constant (a
    weight, a bias) do not match what is still a computation.

    ## What to do instead
    Run FoldConstant (and, for batch norms, FoldScaleAxis) before AnnotateTarget.

    ## References
    TVM 0.16, src/relay/transforms/fold_constant.cc.
    """

    code, name = "BYL024", "unfolded-constants"
    severity = Severity.WARNING
    VALID = (Sample(f"{_HEAD}  %2 = add(%0, %1);\n  %3 = sqrt(%2);\n{_END}"),)
    INVALID = (Sample(f"{_HEAD}  %2 = sqrt(%1);\n  %3 = add(%0, %2);\n{_END}", points_at="sqrt"),)

    def check(self, subject: Subject) -> Iterator[Finding]:
        for region in subject.offloaded:
            if not region.outputs:
                continue
            constant = _constant_nodes(region, subject)
            calls = [n for n in constant if isinstance(n, Call) and not is_annotation(n)]
            others = (
                n for n in region.nodes - constant if not is_annotation(n) and isinstance(n, Call)
            )
            if not calls or next(others, None) is None:
                continue
            tops = [n for n in calls if not constant.issuperset(subject.users[n])] or calls[-1:]
            yield self.finding(
                f"{', '.join(dict.fromkeys(map(called, tops)))} in region "
                f"{subject.number(region)} of {region.target} "
                f"{'has' if len(tops) == 1 else 'have'} only constants as operands",
                "run FoldConstant before AnnotateTarget",
                tops[0],
                subject,
                others=tops[1:],
                proposals=[
                    Proposal(
                        "remove the annotations, fold the constants, and annotate again",
                        make=partial(fold_then_annotate, compilers=(region.target,)),
                    )
                ],
            )


def _constant_nodes(region: Region, subject: Subject) -> set[Expr]:
    """The members of a region that are computed from constants alone."""
    found: set[Expr] = set()
    for node in subject.in_order(region):
        if isinstance(node, Call) and not isinstance(node.op, Op):
            continue
        operands = node.args if isinstance(node, Call) else node.parts()
        if operands and all(
            p in found or isinstance(skip_annotations(p), Constant) for p in operands
        ):
            found.add(node)
    return found
