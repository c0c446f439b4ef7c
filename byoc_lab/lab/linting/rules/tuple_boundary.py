"""Lint rule BYL027 tuple-boundary: a tuple enters a region as one argument."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from byoc_lab.lab.linting.ahead import merged_ahead, sources
from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject, called
from byoc_lab.lab.linting.bound import bound_constant
from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.edits import Begin, Edge, Proposal, Remove, compilers_in
from byoc_lab.lab.linting.external import is_external, name_of
from byoc_lab.relay.analysis.annotations import BEGIN, begin, compiler_of, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function, Tuple, TupleGetItem
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TupleType, Type
from byoc_lab.relay.ir.visit import post_order, rebuild
from byoc_lab.relay.typing.infer import infer_module

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

    It is reported for known back ends: `lint(mod, backend=...)`, or the targets of `lint(mod,
    pipeline=...)`. It is also reported for the regions that the pipeline will make: AnnotateTarget
    puts one begin on a tuple that the host computes, such as the result of `split`. After
    partitioning, it is reported for the parameter of the region's function. A tuple of constants is
    not reported, because PartitionGraph moves it into the function; it does not move a nested
    tuple.

    ## Why is this bad?
    The region's function gets one parameter of a tuple type. Code generators expect tensors, and
    `byoc_lab.build` refuses such a function.

    ## What to do instead
    Put the begins on the fields, so that the tuple is built inside the region.

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
            elif is_annotation(node, BEGIN):
                yield from self._begin(node, subject)

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        """The tuples that will enter regions after the pipeline."""
        unary = any(  # a call of a tuple, such as concatenate, has one argument
            isinstance(n, Call) and len(n.args) == 1 for n in post_order(*mod.functions.values())
        )
        plain = unary and context.backends and not compilers_in(mod)
        ahead = merged_ahead(mod, context) if plain else None
        for gv, func in ahead.functions.items() if ahead is not None else ():
            subject = Subject(func, gv.name_hint, ahead or mod, context)
            begins = [n for n in subject.nodes if is_annotation(n, BEGIN)]
            tuples = {b: ty for b in begins if (ty := _tuple_type(b, subject)) is not None}
            places = sources(func, mod.functions[gv]) if tuples and gv in mod.functions else {}
            users = {u: b for b in tuples for u in subject.users[b] if isinstance(u, Call)}
            for user, node in users.items():
                compiler = compiler_of(node)
                yield self.finding(
                    f"a tuple will enter a region of {compiler} as one argument, for "
                    f"{called(user)}: its function gets a parameter of type {tuples[node]}, and "
                    f"code generators get tensors",
                    f'after AnnotateTarget, put compiler_begin(..., "{compiler}") on the fields of '
                    f"the tuple, as fix(annotated module, backend={compiler!r}) does",
                    places.get(user),
                    function=gv.name_hint,
                )

    def _begin(self, node: Call, subject: Subject) -> Iterator[Finding]:
        entering = _tuple_type(node, subject)
        if entering is None:
            return
        compiler = compiler_of(node)
        region = subject.regions.of(node)
        assert region is not None  # the tuple's begin opens the region
        yield self.finding(
            f"a tuple enters region {subject.number(region)} of {compiler} as one argument: the "
            f"function of the region will have a parameter of type {entering}, and code "
            f"generators get tensors",
            f'put compiler_begin(..., "{compiler}") on the fields of the tuple',
            node,
            subject,
            0,
            proposals=[_on_fields(node, entering, subject)],
        )

    def _parameters(self, func: Function, compiler: str, subject: Subject) -> Iterator[Finding]:
        for param in func.params:
            typed = subject.typed.get(param)
            if typed is not None and isinstance(typed.checked_type, TupleType):
                symbol = name_of(func, subject.name, subject.mod)
                yield self.finding(
                    f"parameter %{param.name_hint} of the external function {symbol} has the type "
                    f"{typed.checked_type}, and the code generator of {compiler} gets tensors",
                    f'annotate again, with compiler_begin(..., "{compiler}") on the fields of the '
                    f"tuple",
                    param,
                    subject,
                )


def _tuple_type(node: Call, subject: Subject) -> TupleType | None:
    """The type of a tuple that enters, through a begin, a region of a known back end; None for
    other values, and for constants that PartitionGraph binds."""
    if compiler_of(node) not in subject.context.backends:
        return None
    entering = _type_of(node.args[0], subject)
    if not isinstance(entering, TupleType) or bound_constant(node, subject) is not None:
        return None
    return entering


def _type_of(value: Expr, subject: Subject) -> Type | None:
    """The type of a value; None if it is not known (a global function has no type here)."""
    typed = subject.typed.get(value)
    return typed.checked_type if typed is not None and typed.is_typed else None


def _on_fields(node: Call, entering: TupleType, subject: Subject) -> Proposal:
    compiler = compiler_of(node)
    title = f'put compiler_begin(..., "{compiler}") on each field of the tuple'
    edges = _field_edges(node, subject)
    if not edges:
        return Proposal(title, make=partial(_made_inside, node=node, entering=entering))
    begins = [Begin((edge,), compiler) for edge in edges]
    return Proposal(title, subject.name, (*begins, Remove(node)))


def _made_inside(mod: IRModule, node: Call, entering: TupleType) -> IRModule:
    """The module with a tuple that is built inside the region from the fields of the entering
    tuple."""

    def opened(pre: Expr, post: Expr) -> Expr:
        if pre is not node:
            return post
        assert isinstance(post, Call)
        return _of_fields(post.args[0], entering, compiler_of(node))

    return infer_module(
        mod.with_functions({gv: rebuild(f, opened) for gv, f in mod.functions.items()})
    )


def _of_fields(value: Expr, ty: Type, compiler: str) -> Expr:
    """A tensor with a begin, or a tuple built from such values, so that only tensors enter a region
    of `compiler`."""
    if not isinstance(ty, TupleType):
        return begin(value, compiler)
    if isinstance(value, Tuple):
        fields: Sequence[Expr] = value.fields
    else:
        fields = [TupleGetItem(value, n) for n in range(len(ty.fields))]
    return Tuple([_of_fields(f, t, compiler) for f, t in zip(fields, ty.fields, strict=True)])


def _field_edges(begin: Call, subject: Subject) -> list[Edge]:
    """The edges on which tensors enter the tuple of a begin, including nested tuples; none if a
    tuple has other users, or if a field is a tuple that is not a literal."""
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
            elif isinstance(_type_of(value, subject), TupleType):
                return []
            else:
                edges.append((made, n))
    return edges
