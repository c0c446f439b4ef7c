"""Lint rule BYL027 tuple-boundary: a tuple enters a region as one argument."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject
from byoc_lab.lab.linting.edits import Begin, Proposal, Remove
from byoc_lab.relay.analysis.annotations import BEGIN, compiler_of, is_annotation
from byoc_lab.relay.ir.expr import Call, Tuple
from byoc_lab.relay.ir.types import TupleType

_T = "Tensor[(20, 300), float32]"
_HEAD = f"def @main(%x: {_T}, %y: {_T}) {{\n"
_END = '  annotation.compiler_end({}, compiler="dnnl")\n}}'
_WHOLE = (
    f"{_HEAD}  %0 = (%x, %y);\n"
    '  %1 = annotation.compiler_begin(%0, compiler="dnnl");\n'
    f"  %2 = concatenate(%1);\n{_END.format('%2')}"
)


class TupleBoundary(LintRule):
    """A tuple crosses the boundary of a region: its begin is on the tuple, not on the fields.

    It is reported for the back ends that are known: `lint(mod, backend=...)`, or the targets of
    `lint(mod, pipeline=...)`.

    ## Why is this bad?
    The region's function gets one parameter of a tuple type. Code generators get tensors, and most
    refuse such a function when the module is built.

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
    )
    INVALID = (Sample(_WHOLE, points_at="annotation.compiler_begin", backend="dnnl"),)

    def check(self, subject: Subject) -> Iterator[Finding]:
        known = subject.context.backends
        if not known or not subject.annotated:
            return
        for node in subject.nodes:
            if not is_annotation(node, BEGIN) or compiler_of(node) not in known:
                continue
            typed = subject.typed.get(node.args[0])
            if typed is None or not isinstance(typed.checked_type, TupleType):
                continue
            compiler = compiler_of(node)
            yield self.finding(
                f"a tuple enters a region of {compiler} as one argument: the function of the "
                f"region will have a parameter of type {typed.checked_type}, and code generators "
                f"get tensors",
                f'put compiler_begin(..., "{compiler}") on the fields of the tuple',
                node,
                subject,
                0,
                proposals=_on_fields(node, subject),
            )


def _on_fields(begin: Call, subject: Subject) -> list[Proposal]:
    made = begin.args[0]
    compiler = compiler_of(begin)
    if not isinstance(made, Tuple) or subject.users[made] != [begin]:
        return []
    begins = [Begin(((made, n),), compiler) for n in range(len(made.fields))]
    title = f'put compiler_begin(..., "{compiler}") on each field of the tuple'
    return [Proposal(title, subject.name, (*begins, Remove(begin)))]
