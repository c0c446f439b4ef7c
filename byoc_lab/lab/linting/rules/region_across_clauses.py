"""Lint rule BYL010 region-across-clauses: a region extends beyond a clause of a match."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.adt import Clause, Match
from byoc_lab.relay.ir.expr import Call, Expr, Var, describe

_T = "Tensor[(4), float32]"
_HEAD = (
    '#[version = "0.0.5"]\ntype Option[A] { Some(A), None }\n'
    f"def @main(%x: {_T}, %o: Option[{_T}]) {{\n"
    '  %0 = annotation.compiler_begin(%x, compiler="A");\n  %1 = nn.relu(%0);\n'
)
_END = '{{ annotation.compiler_end({}, compiler="A") }}'
_SOME = (
    '    Some(%y) => { %2 = annotation.compiler_begin(%y, compiler="A"); %3 = add(%1, %2);'
    ' annotation.compiler_end(%3, compiler="A") },\n'
)


class RegionAcrossClauses(LintRule):
    """A region reads a variable of one clause of a `match` and has an output outside that clause.

    ## Why is this bad?
    A region becomes one call, which is evaluated wherever one of its outputs is used. Its argument,
    a pattern variable, only has a value in its clause: in another clause, or after the match, the
    call uses an unbound variable. PartitionGraph reports nothing (in TVM 0.16 it may not
    terminate), and the module fails when it runs.

    ## What to do instead
    End the region before the match, and begin another region inside the clause.

    ## References
    TVM 0.16, src/relay/transforms/partition_graph.cc, `GetRegion` and the calls it creates.
    """

    code, name = "BYL010", "region-across-clauses"
    VALID = (
        Sample(f"{_HEAD}  match (%o) {{\n{_SOME}    None => {{ %x }}\n  }}\n}}"),
        Sample(
            f"{_HEAD}  %4 = tanh(%1);\n"
            f"  match (%o) {{\n    Some(_) => {_END.format('%1')},\n"
            f"    None => {_END.format('%4')}\n  }}\n}}"
        ),
    )
    INVALID = (
        Sample(
            f"{_HEAD}  %4 = tanh(%1);\n  match (%o) {{\n{_SOME}    None => {_END.format('%4')}\n"
            "  }\n}",
            points_at="annotation.compiler_end",
        ),
        Sample(
            f"{_HEAD}  %5 = match (%o) {{\n{_SOME}    None => {{ %x }}\n  }};\n"
            '  %6 = annotation.compiler_end(%1, compiler="A");\n  (%5, %6)\n}',
            points_at="annotation.compiler_end",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        bound = {
            variable: (node, clause)
            for node in subject.nodes
            if isinstance(node, Match)
            for clause in node.clauses
            for variable in clause.lhs.vars
        }
        for region in subject.offloaded if bound else ():
            read = [v for begin in region.inputs for v in free_vars(begin) if v in bound]
            for variable in dict.fromkeys(read):
                outside = _outside(subject.func, *bound[variable])
                for end in region.outputs:
                    if end in outside:
                        yield self._leaves(variable, end, region, subject)

    def _leaves(self, variable: Var, end: Call, region: Region, subject: Subject) -> Finding:
        where = f"region {subject.number(region)} of {region.target}"
        return self.finding(
            f"{where} reads %{variable.name_hint}, bound by one clause of a match, and its output "
            f"{describe(end.args[0])} is used outside that clause",
            "end the region before the match, and begin another region inside the clause",
            end,
            subject,
        )


def _outside(root: Expr, match: Match, clause: Clause) -> set[Expr]:
    """The nodes that are reachable without passing through this clause of the match."""
    seen: set[Expr] = set()
    todo = [root]
    while todo:
        node = todo.pop()
        if node in seen:
            continue
        seen.add(node)
        others = [c.rhs for c in match.clauses if c is not clause]
        todo += [match.data, *others] if node is match else node.parts()
    return seen
