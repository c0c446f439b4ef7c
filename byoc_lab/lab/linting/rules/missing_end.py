"""Lint rule BYL002 missing-end: a value leaves a region without `compiler_end`."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject, called
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Expr

_HEAD = "def @main(%x: Tensor[(10, 10), float32]) {\n"
_BEGIN = 'annotation.compiler_begin(%x, compiler="A")'


class MissingEnd(LintRule):
    """A value leaves a region without `compiler_end`, or a region has no end at all.

    ## Why is this bad?
    PartitionGraph replaces every begin by a parameter of the region's function, and creates that
    function at the first end. For a region without an end it replaces the begins but creates no
    function: the parameters (`%A_0_i0`) remain as free variables. A value that is used outside the
    region without an end pulls its user into the region, with the same result.

    ## What to do instead
    Put `compiler_end` on every value that is used outside the region: on the result of the
    function, and on operands of calls that do not belong to the region.

    ## References
    TVM 0.16, src/relay/transforms/partition_graph.cc.
    """

    code, name = "BYL002", "missing-end"
    VALID = (
        Sample(
            f"{_HEAD}  %0 = {_BEGIN};\n  %1 = nn.relu(%0);\n"
            '  annotation.compiler_end(%1, compiler="A")\n}'
        ),
    )
    INVALID = (
        Sample(f"{_HEAD}  %0 = {_BEGIN};\n  nn.relu(%0)\n}}", points_at="nn.relu"),
        Sample(
            f"{_HEAD}  %0 = {_BEGIN};\n  %1 = nn.relu(%0);\n"
            '  %2 = annotation.compiler_end(%1, compiler="A");\n  %3 = exp(%1);\n'
            "  add(%2, %3)\n}",
            points_at="exp",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        for region in subject.all_regions:
            if _opens_at_let_value(region, subject):
                continue  # the rule free-variable reports it
            if not region.outputs:
                yield self._never_closed(region, subject)
                continue
            for node in _dead_ends(region, subject):
                yield self.finding(
                    f"{called(node)} uses a value of region {subject.number(region)} "
                    f"({region.target}) from before its compiler_end, which pulls {called(node)} "
                    f"into the region; its result has no compiler_end",
                    "use the compiler_end of that value as the argument, or put compiler_end on "
                    "this result as well",
                    node,
                    subject,
                )

    def _never_closed(self, region: Region, subject: Subject) -> Finding:
        last = _last(region, subject)
        return self.finding(
            f"region {subject.number(region)} of {region.target} has a begin and no end",
            f'put compiler_end(..., "{region.target}") on {called(last)}, where the value leaves '
            f"the region",
            last,
            subject,
        )


def _last(region: Region, subject: Subject) -> Expr:
    """The member that is computed last, where the end belongs."""
    return subject.in_order(region)[-1]


def _dead_ends(region: Region, subject: Subject) -> list[Expr]:
    """The first members of each branch that leads to no end of the region."""
    members = region.nodes
    todo: list[Expr] = list(region.outputs)
    leads_to_end = set(todo)
    while todo:
        new = {p for p in todo.pop().parts() if p in members} - leads_to_end
        leads_to_end |= new
        todo += new
    dead = [
        node
        for node in members - leads_to_end
        if not is_annotation(node) and not leads_to_end.isdisjoint(node.parts())
    ]
    return sorted(dead, key=lambda node: subject.place[node])


def _opens_at_let_value(region: Region, subject: Subject) -> bool:
    return not subject.let_values.isdisjoint(region.inputs)
