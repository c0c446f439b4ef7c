"""Lint rule BYL003 nested-partition: a region or external function inside another."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject, called
from byoc_lab.lab.linting.boundaries import ends_on, leaving_edges
from byoc_lab.lab.linting.edits import Edge, Proposal, Remove
from byoc_lab.relay.analysis.annotations import BEGIN, END, compiler_of, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function
from byoc_lab.relay.ir.visit import post_order

_T = "Tensor[(10, 10), float32]"
_HEAD = f"def @main(%x: {_T}) {{\n"
_X = 'annotation.compiler_begin(%x, compiler="A")'


class NestedPartition(LintRule):
    """A region begins inside another, or an external function is defined inside another.

    ## Why is this bad?
    Regions cannot nest: a back end gets one flat function. A begin on a value of an open region
    opens a second region inside the first, and neither can be closed properly; two begins or two
    ends in a row are the smallest case. The partitioner of January 2020 produced functions inside
    functions when a begin was missing between two regions; a back end then gets a call of a
    function that is not visible to it.

    ## What to do instead
    End the outer region before the inner region begins, and begin it again after the inner end. For
    a nested external function, look for the missing begin in the annotated module (BYL001).

    ## References
    The thread "[External codegen] A possible bug in partitioning" (TVM forum, January 2020).
    """

    code, name = "BYL003", "nested-partition"
    explains = ("BYL004", "BYL006", "BYL007", "BYL012")
    VALID = (
        Sample(
            f"{_HEAD}  %0 = {_X};\n  %1 = nn.relu(%0);\n"
            '  %2 = annotation.compiler_end(%1, compiler="A");\n'
            '  %3 = annotation.compiler_begin(%2, compiler="B");\n  %4 = abs(%3);\n'
            '  annotation.compiler_end(%4, compiler="B")\n}'
        ),
    )
    INVALID = (
        Sample(
            f"{_HEAD}  %0 = {_X};\n  %1 = nn.relu(%0);\n"
            '  %2 = annotation.compiler_begin(%1, compiler="B");\n  %3 = abs(%2);\n'
            '  %4 = annotation.compiler_end(%3, compiler="B");\n  %5 = exp(%4);\n'
            '  annotation.compiler_end(%5, compiler="A")\n}',
            points_at="annotation.compiler_begin",
        ),
        Sample(
            f"{_HEAD}  %0 = {_X};\n  %1 = nn.relu(%0);\n"
            '  %2 = annotation.compiler_end(%1, compiler="A");\n'
            '  annotation.compiler_end(%2, compiler="A")\n}',
            points_at="annotation.compiler_end",
        ),
        Sample(
            f'{_HEAD}  %2 = fn (%a: {_T}, Compiler="A") {{\n'
            f'    %1 = fn (%b: {_T}, Compiler="A") {{\n      nn.relu(%b)\n    }};\n'
            "    %1(%a)\n  };\n  %2(%x)\n}",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        for node in subject.nodes:
            if is_annotation(node, BEGIN):
                yield from self._begin_inside(node, subject)
            elif is_annotation(node, END) and is_annotation(_value(node), END):
                if not all(subject.is_dropped(compiler_of(n)) for n in (node, _value(node))):
                    yield self._closed_twice(node, subject)
            elif isinstance(node, Function) and node is not subject.func:
                yield from self._function_inside(node, subject)
        if _is_external(subject.func):
            yield from self._inside_external(subject.func, subject)

    def _closed_twice(self, outer: Call, subject: Subject) -> Finding:
        inner = _value(outer)
        return self.finding(
            "compiler_end directly on compiler_end: the value is closed twice",
            "remove one of the two; keep the one that names the compiler of the region",
            outer,
            subject,
            0,
            covers=frozenset((inner, outer)),
            proposals=[_without(outer, subject), _without(inner, subject)],
        )

    def _begin_inside(self, begin: Expr, subject: Subject) -> Iterator[Finding]:
        value = _value(begin)
        outer = None if is_annotation(value, END) else subject.offloaded_region(value)
        if outer is None:
            return
        if is_annotation(value, BEGIN):
            what, todo = "directly on another begin", "keep the begin whose compiler the end names"
            proposals = [_without(begin, subject), _without(value, subject)]
        else:
            what = f"inside the open region {subject.number(outer)} of {outer.target}"
            todo = f'close that region first: compiler_end(..., "{outer.target}") on this argument'
            beside = [e for e in leaving_edges(outer.nodes, subject) if _used(e) is value]
            title = f'put compiler_end(..., "{outer.target}") on {called(value)}'
            proposals = [
                Proposal(title, subject.name, ends_on(edges, outer.target))
                for edges in (beside, [(begin, 1)])
            ]
            proposals.append(_without(begin, subject))
        yield self.finding(
            f"compiler_begin[{compiler_of(begin)}] {what}: regions cannot nest",
            todo,
            begin,
            subject,
            0,
            covers=frozenset((begin, value)),
            proposals=proposals,
        )

    def _function_inside(self, func: Function, subject: Subject) -> Iterator[Finding]:
        if _is_external(func):
            yield from self._inside_external(func, subject)

    def _inside_external(self, outer: Function, subject: Subject) -> Iterator[Finding]:
        """Report the external functions defined directly inside the external function `outer`."""

        def enter(node: Expr) -> bool:
            return node is outer or not _is_external(node)

        for node in post_order(outer, enter=enter):
            if node is not outer and _is_external(node):
                yield self.finding(
                    f"external function {_label(node)} is defined inside external function "
                    f"{_label(outer)}",
                    "find the edge between the two regions that has no compiler_begin (lint the "
                    "annotated module: BYL001), wrap it, and partition again",
                    node,
                    subject,
                    covers=frozenset((outer,)),
                )


def _without(annotation: Expr, subject: Subject) -> Proposal:
    assert isinstance(annotation, Call)
    name = f"{called(annotation)}[{compiler_of(annotation)}]"
    return Proposal(f"remove {name}", subject.name, (Remove(annotation),))


def _used(edge: Edge) -> Expr:
    user, index = edge
    return user.parts()[index]


def _value(annotation: Expr) -> Expr:
    """The value on which a `compiler_begin` or `compiler_end` is placed."""
    assert isinstance(annotation, Call)
    return annotation.args[0]


def _is_external(node: Expr) -> bool:
    return isinstance(node, Function) and "Compiler" in node.attrs


def _label(func: Expr) -> str:
    assert isinstance(func, Function)
    attrs = func.attrs
    return str(attrs.get("global_symbol") or attrs.get("ExternalSymbol") or attrs["Compiler"])
