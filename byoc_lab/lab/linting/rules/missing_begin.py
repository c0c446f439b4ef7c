"""Lint rule BYL001 missing-begin: a value enters a region without `compiler_begin`."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject, called
from byoc_lab.relay.analysis.annotations import BEGIN, END, compiler_of, is_annotation
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Let, Tuple, TupleGetItem, Var, describe

_HEAD = "def @main(%x: Tensor[(10, 10), float32], %y: Tensor[(10, 10), float32]) {\n"


def _begin(value: str) -> str:
    return f'annotation.compiler_begin({value}, compiler="A")'


def _end(value: str) -> str:
    return f'annotation.compiler_end({value}, compiler="A")'


class MissingBegin(LintRule):
    """A value enters a region without `compiler_begin`.

    ## Why is this bad?
    Only a begin tells PartitionGraph that a value comes from outside. Without one, PartitionGraph
    treats the producer as a part of the region: on a variable or constant it stops with "Arg
    regions are inconsistent"; on the end of another region it puts the call of that region into
    this one, which leaves free variables. The partitioner of January 2020 nested the first region
    inside the second. An end says where a value leaves one region, not where it enters the next.

    ## What to do instead
    Wrap the argument in `compiler_begin` with the region's compiler. Constants need one too.

    ## References
    TVM 0.16, src/relay/analysis/annotated_region_set.cc.
    """

    code, name = "BYL001", "missing-begin"
    VALID = (
        Sample(f"{_HEAD}  %0 = {_begin('%x')};\n  %1 = nn.relu(%0);\n  {_end('%1')}\n}}"),
        Sample(
            f"{_HEAD}  %0 = {_begin('%x')};\n  %1 = nn.relu(%0);\n  %2 = {_end('%1')};\n"
            f"  %3 = {_begin('%2')};\n  %4 = abs(%3);\n  {_end('%4')}\n}}"
        ),
    )
    INVALID = (
        Sample(
            f"{_HEAD}  %0 = {_begin('%x')};\n  %1 = add(%0, %y);\n  {_end('%1')}\n}}",
            points_at="add",
            argument=1,
        ),
        Sample(
            f"{_HEAD}  %0 = {_begin('%x')};\n  %1 = nn.relu(%0);\n  %2 = {_end('%1')};\n"
            f"  %3 = {_begin('%y')};\n  %4 = add(%2, %3);\n  {_end('%4')}\n}}",
            points_at="add",
            argument=0,
        ),
        Sample(f"{_HEAD}  %0 = nn.relu(%x);\n  {_end('%0')}\n}}", points_at="nn.relu", argument=0),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        for problem in subject.problems_of("inconsistent"):
            region: Region = problem.details["region"]
            for outside in problem.details["outside"]:
                yield self._edge(problem.node, outside, region.target, subject)
        for node in subject.nodes:
            region_of_node = None if is_annotation(node) else subject.regions.of(node)
            if region_of_node is not None:
                for value in _operands(node):
                    if is_annotation(value, END):
                        yield self._edge(node, value, region_of_node.target, subject)
        for problem in subject.problems_of("no-region"):
            yield from self._closes_nothing(problem.node, subject)

    def _closes_nothing(self, end: Expr, subject: Subject) -> Iterator[Finding]:
        """Report every edge on which inputs enter, for an end whose region was never begun."""
        assert isinstance(end, Call)
        compiler, value = compiler_of(end), end.args[0]
        edges = list(_entering_edges(value))
        for user, outside in edges:
            yield self._edge(user, outside, compiler, subject)
        if not edges:
            yield self.finding(
                f"compiler_end[{compiler}] closes no region: {describe(value)} is not in one",
                f'remove this end, or put compiler_begin(..., "{compiler}") on the inputs of the '
                f"call that it closes",
                end,
                subject,
                0,
            )

    def _edge(self, user: Expr, value: Expr, compiler: str, subject: Subject) -> Finding:
        position = list(_operands(user)).index(value)
        origin = describe(value)
        if is_annotation(value, END):
            origin = f"a value that left its own region ({origin})"
        constant = ", constants included" if isinstance(value, Constant) else ""
        return self.finding(
            f"{called(user)} is inside a region of {compiler}, and its argument {position} comes "
            f"from outside without compiler_begin: {origin}",
            f'wrap argument {position} of {called(user)} in compiler_begin(..., "{compiler}"); '
            f"every value that enters a region needs one{constant}",
            user,
            subject,
            position,
        )


def _operands(node: Expr) -> tuple[Expr, ...]:
    return node.args if isinstance(node, Call) else node.parts()


def _entering_edges(value: Expr) -> Iterator[tuple[Expr, Expr]]:
    """The edges (user, operand) on which values enter the dataflow above an end."""
    seen: set[Expr] = set()
    todo = [value]
    while todo:
        node = todo.pop()
        if node in seen or not isinstance(node, (Call, Tuple, TupleGetItem)) or is_annotation(node):
            continue
        seen.add(node)
        for operand in _operands(node):
            if is_annotation(operand, BEGIN):
                continue
            if isinstance(operand, (Var, Constant, Let)) or is_annotation(operand, END):
                yield node, operand
            else:
                todo.append(operand)
