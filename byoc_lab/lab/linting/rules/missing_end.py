"""Lint rule BYL002 missing-end: a value leaves a region without `compiler_end`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject, called
from byoc_lab.lab.linting.boundaries import core_of, ends_on, leaving_edges, was_meant
from byoc_lab.lab.linting.edits import Edge, Proposal, Remove
from byoc_lab.relay.analysis.annotations import BEGIN, is_annotation
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Call, Expr, Function, Tuple, TupleGetItem

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
    explains = ("BYL001",)
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
        for region in subject.offloaded:
            if not subject.let_values.isdisjoint(region.inputs):
                continue  # the rule free-variable reports it
            if region.outputs:
                yield from self._left_beside_an_end(region, subject)
            else:
                yield from self._never_closed(region, subject)

    def _never_closed(self, region: Region, subject: Subject) -> Iterator[Finding]:
        members = region.nodes
        core = core_of(region, subject, members)
        if any(is_annotation(u, BEGIN) for u, _ in leaving_edges(members, subject)):
            return  # the rule nested-partition reports the begin there
        edges, further = (leaving_edges(nodes, subject) for nodes in (core, members))
        last = max((_value(e) for e in edges), key=subject.place.__getitem__)
        pulled = [n for n in members - core if not is_annotation(n)]
        yield self.finding(
            f"region {subject.number(region)} of {region.target} has a begin and no end",
            f'put compiler_end(..., "{region.target}") on {called(last)}, where the value leaves '
            f"the region",
            last,
            subject,
            others=[n for n in subject.in_order(region) if _is_doubtful(n, region, subject)],
            covers=frozenset(pulled),
            proposals=[
                *_closing(edges, region, subject),
                *(_closing(further, region, subject) if pulled else ()),
                *_dropping(region, subject),
            ],
        )

    def _left_beside_an_end(self, region: Region, subject: Subject) -> Iterator[Finding]:
        """Report the first members of each branch that does not lead to an end of the region."""
        closed = _leading_out(region, subject)
        edges = [e for e in leaving_edges(closed, subject) if e[0] in region.nodes]
        dead = region.nodes - closed
        exits = leaving_edges(dead, subject)
        core = core_of(region, subject, dead)
        likely = leaving_edges(core, subject) if len(core) < len(region.nodes) else []
        for node in dict.fromkeys(user for user, _ in edges):
            mine = [e for e in edges if e[0] is node]
            beside = [e for e in edges if _value(e) in {_value(m) for m in mine}]
            yield self.finding(
                f"{called(node)} uses a value of region {subject.number(region)} "
                f"({region.target}) instead of its compiler_end, which pulls {called(node)} into "
                f"the region; the result of {called(node)} has no compiler_end",
                "use the compiler_end of that value as the argument, or put compiler_end on "
                "this result as well",
                node,
                subject,
                covers=frozenset(dead),
                others=[u for u, _ in exits if u is not subject.func],
                proposals=[
                    *_closing(likely, region, subject),
                    *_closing(beside, region, subject),
                    *_closing(exits, region, subject),
                ],
            )


def _is_doubtful(node: Expr, region: Region, subject: Subject) -> bool:
    """Whether there is no evidence that a member belongs to the region."""
    outside = subject.operators_of.get("", set())
    return not is_annotation(node) and not was_meant(node, region.target, subject, outside)


def _value(edge: Edge) -> Expr:
    user, index = edge
    return user.parts()[index]


def _closing(edges: Sequence[Edge], region: Region, subject: Subject) -> list[Proposal]:
    if not edges:
        return []
    where = ", ".join(dict.fromkeys(called(_value(e)) for e in edges))
    title = f'put compiler_end(..., "{region.target}") on {where}'
    return [Proposal(title, subject.name, ends_on(edges, region.target))]


def _dropping(region: Region, subject: Subject) -> list[Proposal]:
    begins = tuple(map(Remove, region.inputs))
    return [Proposal(f"remove the begins of {region.target} without an end", subject.name, begins)]


def _leading_out(region: Region, subject: Subject) -> Set[Expr]:
    """The members that lead to an end of the region, or to a use that another rule reports."""
    members = region.nodes
    todo: list[Expr] = list(region.outputs)
    for user, index in leaving_edges(members, subject):
        dataflow = isinstance(user, (Call, Tuple, TupleGetItem)) and not is_annotation(user)
        if not dataflow and not (isinstance(user, Function) and user is subject.func):
            todo.append(user.parts()[index])
    found = set(todo)
    while todo:
        new = {p for p in todo.pop().parts() if p in members} - found
        found |= new
        todo += new
    return found
