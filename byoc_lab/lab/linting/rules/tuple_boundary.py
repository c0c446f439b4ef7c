"""Lint rule BYL027 tuple-boundary: a tuple enters a region as one argument."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject
from byoc_lab.lab.linting.bound import bound_constant
from byoc_lab.lab.linting.edits import Begin, Edge, Proposal, Remove
from byoc_lab.lab.linting.external import is_external, symbol_of
from byoc_lab.relay.analysis.annotations import BEGIN, compiler_of, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function, Tuple
from byoc_lab.relay.ir.types import TupleType

_T = "Tensor[(20, 300), float32]"
_HEAD = f"def @main(%x: {_T}, %y: {_T}) {{\n"
_END = '  annotation.compiler_end({}, compiler="dnnl")\n}}'
_WHOLE = (
    f"{_HEAD}  %0 = (%x, %y);\n"
    '  %1 = annotation.compiler_begin(%0, compiler="dnnl");\n'
    f"  %2 = concatenate(%1);\n{_END.format('%2')}"
)
_CONSTANT = (
    f"def @main(%x: {_T}) {{\n  %0 = (1f, 2f);\n"
    '  %1 = annotation.compiler_begin(%0, compiler="dnnl");\n  %2 = %1.0;\n'
    '  %3 = annotation.compiler_begin(%x, compiler="dnnl");\n'
    f"  %4 = add(%3, %2);\n{_END.format('%4')}"
)
_PARTITIONED = (
    f"{_HEAD}  %0 = (%x, %y);\n  @f(%0)\n}}\n"
    f'def @f(%pair: ({_T}, {_T}), Compiler="dnnl", Primitive=1, global_symbol="f") {{\n'
    "  concatenate(%pair)\n}"
)


class TupleBoundary(LintRule):
    """A tuple crosses the boundary of a region: its begin is on the tuple, not on the fields.

    It is reported for the back ends that are known: `lint(mod, backend=...)`, or the targets of
    `lint(mod, pipeline=...)`. After partitioning, it is reported for the parameter of the region's
    function. A tuple of constants is not reported, because PartitionGraph moves it into the
    function; it does not move a nested tuple.

    ## Why is this bad?
    The region's function gets one parameter of a tuple type. Code generators get tensors, and
    `byoc_lab.build` refuses such a function.

    ## What to do instead
    Put the begins on the fields, so that the tuple is made inside the region.

    ## References
    TVM 0.16, src/relay/transforms/annotate_target.cc (targets of tuples).
    """

    code, name = "BYL027", "tuple-boundary"
    severity = Severity.WARNING
    VALID = (
        Sample(
            f'{_HEAD}  %0 = annotation.compiler_begin(%x, compiler="dnnl");\n'
            '  %1 = annotation.compiler_begin(%y, compiler="dnnl");\n'
            f"  %2 = (%0, %1);\n  %3 = concatenate(%2);\n{_END.format('%3')}",
            backend="dnnl",
        ),
        Sample(_WHOLE),
        Sample(_CONSTANT, backend="dnnl"),
    )
    INVALID = (
        Sample(_WHOLE, points_at="annotation.compiler_begin", backend="dnnl"),
        Sample(_PARTITIONED, backend="dnnl"),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        known = subject.context.backends
        for node in subject.nodes if known else ():
            if isinstance(node, Function) and is_external(node):
                compiler = str(node.attrs["Compiler"])
                if compiler in known:
                    yield from self._parameters(node, compiler, subject)
            elif is_annotation(node, BEGIN) and compiler_of(node) in known:
                yield from self._begin(node, subject)

    def _begin(self, node: Call, subject: Subject) -> Iterator[Finding]:
        typed = subject.typed.get(node.args[0])
        if typed is None or not isinstance(typed.checked_type, TupleType):
            return
        if bound_constant(node, subject) is not None:
            return
        compiler = compiler_of(node)
        region = subject.regions.of(node)
        assert region is not None  # its begin opens it
        yield self.finding(
            f"a tuple enters region {subject.number(region)} of {compiler} as one argument: the "
            f"function of the region will have a parameter of type {typed.checked_type}, and code "
            f"generators get tensors",
            f'put compiler_begin(..., "{compiler}") on the fields of the tuple',
            node,
            subject,
            0,
            proposals=_on_fields(node, subject),
        )

    def _parameters(self, func: Function, compiler: str, subject: Subject) -> Iterator[Finding]:
        for param in func.params:
            typed = subject.typed.get(param)
            if typed is not None and isinstance(typed.checked_type, TupleType):
                symbol = symbol_of(func) or subject.name
                yield self.finding(
                    f"parameter %{param.name_hint} of the external function {symbol} has the type "
                    f"{typed.checked_type}, and the code generator of {compiler} gets tensors",
                    f'annotate again, with compiler_begin(..., "{compiler}") on the fields of the '
                    f"tuple",
                    param,
                    subject,
                )


def _on_fields(begin: Call, subject: Subject) -> list[Proposal]:
    compiler = compiler_of(begin)
    edges = _field_edges(begin, subject)
    if not edges:
        return []
    begins = [Begin((edge,), compiler) for edge in edges]
    title = f'put compiler_begin(..., "{compiler}") on each field of the tuple'
    return [Proposal(title, subject.name, (*begins, Remove(begin)))]


def _field_edges(begin: Call, subject: Subject) -> list[Edge]:
    """The edges on which tensors enter the tuple below a begin, nested tuples included; none if
    something else uses a tuple, or if a field is a tuple that is not written in place."""
    edges: list[Edge] = []
    todo: list[tuple[Tuple, Expr]] = []
    if isinstance(begin.args[0], Tuple):
        todo.append((begin.args[0], begin))
    while todo:
        made, user = todo.pop()
        if subject.users[made] != [user]:
            return []
        for n, value in enumerate(made.fields):
            if isinstance(value, Tuple):
                todo.append((value, made))
            elif isinstance(subject.typed[value].checked_type, TupleType):
                return []
            else:
                edges.append((made, n))
    return edges
