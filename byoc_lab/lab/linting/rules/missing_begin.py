"""Lint rule BYL001 missing-begin: a value enters a region without `compiler_begin`.

A forgotten begin has one of three symptoms: the arguments of a node are partly in a region and
partly outside ("inconsistent"), an argument is the end of another region, or an end closes no
region ("no-region"). Its position is not known: it may be missing on the argument itself, or
further up, so that the operators between are outside by mistake. The rule collects the operators
above the argument (`_above`), keeps those that were probably meant to be in the region (`_likely`:
they are offloaded elsewhere in the function), and finds the arguments on which values enter them
(`_entering`).

One forgotten begin is likelier than several, so the position that needs the fewest begins is
reported; the others are further proposals of the finding, each of which `fix` proves or refuses.
The cost per fault is one walk over the dataflow above it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject, called
from byoc_lab.lab.linting.boundaries import was_meant
from byoc_lab.lab.linting.edits import Begin, End, Proposal, Remove, argument_edge
from byoc_lab.relay.analysis.annotations import BEGIN, END, compiler_of, is_annotation
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem, describe

_HEAD = "def @main(%x: Tensor[(10, 10), float32], %y: Tensor[(10, 10), float32]) {\n"


def _begin(value: str) -> str:
    return f'annotation.compiler_begin({value}, compiler="A")'


def _end(value: str) -> str:
    return f'annotation.compiler_end({value}, compiler="A")'


class MissingBegin(LintRule):
    """A value enters a region without `compiler_begin`.

    ## Why is this bad?
    Only a begin tells PartitionGraph that a value comes from outside. Without a begin,
    PartitionGraph treats the producer as a part of the region: for a variable or constant it stops
    with "Arg regions are inconsistent"; for the end of another region it puts the call of that
    region into this one, which leaves free variables. The partitioner of January 2020 nested the
    first region inside the second. An end marks where a value leaves one region, not where it
    enters the next. Begins of "default" are needed only by MergeCompilerRegions: a missing one is a
    warning.

    ## What to do instead
    Wrap the argument in `compiler_begin` with the region's compiler. Constants also need a begin.

    ## References
    TVM 0.16, src/relay/analysis/annotated_region_set.cc.
    """

    code, name = "BYL001", "missing-begin"
    explains = ("BYL012",)
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
        if not subject.annotated:
            return
        for problem in subject.problems_of("inconsistent"):
            region: Region = problem.details["region"]
            outside = set(problem.details["outside"])
            close = _close_before(problem.node, outside, region, subject)
            for position, value in enumerate(_operands(problem.node)):
                if value in outside:
                    yield from self._enters(problem.node, position, region.target, subject, close)
        for node in subject.nodes:
            home = None if is_annotation(node) else subject.offloaded_region(node)
            if home is not None:
                for position, value in enumerate(_operands(node)):
                    if is_annotation(value, END):
                        yield from self._edge(node, position, home.target, subject)
        for problem in subject.problems_of("no-region"):
            yield from self._closes_nothing(problem.node, subject)

    def _enters(
        self, user: Expr, position: int, compiler: str, subject: Subject, more: list[Proposal]
    ) -> Iterator[Finding]:
        """Report the edges at which a value enters: this argument, or the inputs of its
        producer."""
        above = _above(_operands(user)[position])
        likely = _likely(above, compiler, subject, chain=False) if above else set()
        edges = _entering([n for n in above if n in likely])
        if len(edges) != 1:  # one forgotten begin is likelier than several
            yield from self._edge(user, position, compiler, subject, more, others=above)
            return
        begins = tuple(Begin((argument_edge(*e),), compiler) for e in edges)
        proposal = Proposal(_title(edges, compiler), subject.name, begins)
        direct = Begin((argument_edge(user, position),), compiler)
        title = _title([(user, position)], compiler)
        proposals = [proposal, Proposal(title, subject.name, (direct,)), *more]
        for place, at in edges:
            yield from self._edge(
                place, at, compiler, subject, proposals, [user, *above], own=False
            )

    def _closes_nothing(self, end: Expr, subject: Subject) -> Iterator[Finding]:
        """Report the edges on which inputs enter, for an end whose region has no begin."""
        assert isinstance(end, Call)
        compiler = compiler_of(end)
        above = _above(end.args[0])
        likely = set(above[:1]) | _likely(above[1:], compiler, subject, chain=True)
        wholes = [_entering([n for n in above if n in inside]) for inside in (likely, set(above))]
        wholes.append(_entering(above[:1]))
        wholes.sort(key=len)  # one forgotten begin is likelier than several
        remove = Proposal(f"remove compiler_end[{compiler}]", subject.name, (Remove(end),))
        if not any(wholes):
            if subject.is_dropped(compiler) and not subject.context.may_merge:
                return
            yield self.finding(
                f"compiler_end[{compiler}] closes no region: {describe(end.args[0])} is not in one",
                f'remove this end, or put compiler_begin(..., "{compiler}") on the inputs of the '
                f"call that it closes",
                end,
                subject,
                0,
                severity=_severity(compiler, subject),
                proposals=[remove],
            )
            return
        proposals = []
        for edges in dict.fromkeys(map(tuple, wholes)):
            begins = tuple(Begin((argument_edge(*e),), compiler) for e in edges)
            if begins:
                proposals.append(Proposal(_title(edges, compiler), subject.name, begins))
        others = [n for n in above if n not in {user for user, _ in wholes[0]}]
        for user, position in wholes[0]:
            yield from self._edge(
                user, position, compiler, subject, [*proposals, remove], others, own=False
            )

    def _edge(
        self,
        user: Expr,
        position: int,
        compiler: str,
        subject: Subject,
        more: Sequence[Proposal] = (),
        others: Sequence[Expr] = (),
        own: bool = True,
    ) -> Iterator[Finding]:
        if subject.is_dropped(compiler) and not subject.context.may_merge:
            return
        value = _operands(user)[position]
        origin = describe(value)
        if is_annotation(value, END):
            origin = f"a value that left its own region ({origin})"
        constant = ", constants included" if isinstance(value, Constant) else ""
        begin = Begin((argument_edge(user, position),), compiler)
        title = _title([(user, position)], compiler)
        direct = [Proposal(title, subject.name, (begin,))] if own else []
        region = subject.regions.of(user)
        place = "in no region"
        if region is not None:
            place = f"inside region {subject.number(region)} of {region.target}"
        certain = region is not None and region.target == compiler
        place += ", and" if certain else f", but probably belongs to one of {compiler}:"
        yield self.finding(
            f"{called(user)} is {place} its argument {position} comes from outside without "
            f"compiler_begin: {origin}",
            f'wrap argument {position} of {called(user)} in compiler_begin(..., "{compiler}"); '
            f"every value that enters a region needs one{constant}",
            user,
            subject,
            position,
            severity=_severity(compiler, subject),
            covers=frozenset((user,)),
            others=others,
            proposals=[*direct, *more],
        )


_Argument = tuple[Expr, int]


def _severity(compiler: str, subject: Subject) -> Severity:
    return Severity.WARNING if subject.is_dropped(compiler) else Severity.ERROR


def _title(edges: Sequence[_Argument], compiler: str) -> str:
    where = ", ".join(f"argument {position} of {called(user)}" for user, position in edges)
    return f'put compiler_begin(..., "{compiler}") on {where}'


def _operands(node: Expr) -> tuple[Expr, ...]:
    return node.args if isinstance(node, Call) else node.parts()


def _close_before(
    node: Expr, outside: set[Expr], region: Region, subject: Subject
) -> list[Proposal]:
    """The other fix that makes the arguments consistent: end the region before this node."""
    edges = [
        argument_edge(node, n)
        for n, value in enumerate(_operands(node))
        if value not in outside and not is_annotation(value)
    ]
    if not edges:
        return []
    ends = tuple(End((edge,), region.target) for edge in edges)
    return [
        Proposal(f"end the region of {region.target} before {called(node)}", subject.name, ends)
    ]


def _above(value: Expr) -> list[Expr]:
    """The dataflow above an end that closes no region, users first."""
    found: dict[Expr, None] = {}
    todo = [value]
    while todo:
        node = todo.pop()
        if node not in found and _is_member(node):
            found[node] = None
            todo += _operands(node)
    return list(found)


def _is_member(node: Expr) -> bool:
    return isinstance(node, (Call, Tuple, TupleGetItem)) and not is_annotation(node)


def _likely(above: list[Expr], compiler: str, subject: Subject, chain: bool) -> set[Expr]:
    """The nodes above an end or an argument that were probably meant to be in its region.

    These are the nodes that are offloaded elsewhere. Without evidence, and if `chain` is set, also
    the rest, unless it starts at the end of another region of the same compiler: merging would have
    joined that region with this one.
    """
    if subject.unmerged:
        return set()  # every region has one operator
    here = set(above)
    outside = {
        n.op.name
        for n in subject.nodes
        if isinstance(n, Call) and isinstance(n.op, Op) and not is_annotation(n)
        if n not in here and subject.regions.of(n) is None
    }
    follows = any(
        is_annotation(p, END) and compiler_of(p) == compiler for n in above for p in _operands(n)
    )
    meant = {n: was_meant(n, compiler, subject, outside) for n in above}
    stopped: set[Expr] = set()
    for node in above:  # users first
        doubtful = not chain or follows
        if node in stopped or meant[node] is False or (meant[node] is None and doubtful):
            stopped.add(node)
            stopped.update(p for p in _operands(node) if p in here)
    return here - stopped


def _entering(members: Sequence[Expr]) -> list[_Argument]:
    """The arguments on which values enter this dataflow, without those that have a begin."""
    inside = set(members)
    return [
        (node, position)
        for node in members
        for position, operand in enumerate(_operands(node))
        if operand not in inside and not is_annotation(operand, BEGIN)
    ]
