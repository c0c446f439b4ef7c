"""Lint rule BYL014 raw-value-outside: a let, if, closure or reference uses a value in a region."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject, called
from byoc_lab.lab.linting.boundaries import ends_on, leaving_edges
from byoc_lab.lab.linting.edits import Proposal
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function, Tuple, TupleGetItem

_T = "Tensor[(10, 10), float32]"
_HEAD = f"def @main(%x: {_T}, %c: bool) {{\n"
_RELU = (
    '  %0 = annotation.compiler_begin(%x, compiler="A");\n  %1 = nn.relu(%0);\n'
    '  %2 = annotation.compiler_end(%1, compiler="A");\n'
)


class RawValueOutside(LintRule):
    """A `let`, `if`, match, closure or reference uses a value of a region without its end.

    ## Why is this bad?
    These nodes never belong to a region, so the value leaves it there. The region has an end
    elsewhere and becomes a function. For this use, however, PartitionGraph also keeps the region's
    operators in place. They use the variables that it created for the begins, which are free there.

    ## What to do instead
    Use the region's `compiler_end` of that value, or insert one.

    ## References
    TVM 0.16, src/relay/analysis/annotated_region_set.cc.
    """

    code, name = "BYL014", "raw-value-outside"
    VALID = (
        Sample(f"{_HEAD}{_RELU}  let %a = %2;\n  add(%a, %2)\n}}"),
        Sample(f"{_HEAD}{_RELU}  if (%c) {{ %2 }} else {{ %x }}\n}}"),
    )
    INVALID = (
        Sample(f"{_HEAD}{_RELU}  let %a = %1;\n  add(%a, %2)\n}}", points_at="nn.relu"),
        Sample(
            f"{_HEAD}{_RELU}  %3 = if (%c) {{ %1 }} else {{ %x }};\n  add(%3, %2)\n}}",
            points_at="nn.relu",
        ),
        Sample(f"{_HEAD}{_RELU}  %3 = ref(%1);\n  (%3, %2)\n}}", points_at="nn.relu"),
        Sample(f"{_HEAD}{_RELU}  %3 = fn () {{ %1 }};\n  (%3, %2)\n}}", points_at="nn.relu"),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        for region in subject.offloaded:
            if not region.outputs:
                continue  # the rule missing-end reports it
            edges = [e for e in leaving_edges(region.nodes, subject) if _scope(e[0], subject)]
            for user in dict.fromkeys(user for user, _ in edges):
                mine = [e for e in edges if e[0] is user]
                value = user.parts()[mine[0][1]]
                beside = [e for e in edges if e[0].parts()[e[1]] is value]
                title = f'put compiler_end(..., "{region.target}") on {called(value)}'
                yield self.finding(
                    f"a {type(user).__name__.lower()} uses the result of {called(value)}, inside "
                    f"region {subject.number(region)} of {region.target}, without its compiler_end",
                    f"use the compiler_end of {called(value)} there, or put one",
                    value,
                    subject,
                    others=[user],
                    proposals=[
                        Proposal(title, subject.name, ends_on(e, region.target))
                        for e in (beside, mine)
                    ],
                )


def _scope(user: Expr, subject: Subject) -> bool:
    if isinstance(user, Call):  # a call never belongs to the region of its callee
        return not is_annotation(user) and subject.regions.of(user) is None
    if isinstance(user, Function):
        return user is not subject.func
    return not isinstance(user, (Tuple, TupleGetItem))
