"""Lint rule BYL021 swapped-operands: AnnotateTarget will run on a partly annotated call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Severity, Subject, called
from byoc_lab.lab.linting.edits import Begin, Proposal, argument_edge
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.analysis.annotations import BEGIN, DEFAULT, compiler_of, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr

_T = "Tensor[(2, 3), float32]"
_HEAD = (
    f'def @main(%x: {_T}, %y: {_T}) {{\n  %0 = annotation.compiler_begin(%y, compiler="dnnl");\n'
)


def _annotate() -> Sequence[Pass]:
    return [AnnotateTarget("dnnl", era="0.16")]


class SwappedOperands(LintRule):
    """AnnotateTarget will run on a call whose first argument has no begin, but a later argument has
    one.

    ## Why is this bad?
    TVM's AnnotateTarget puts the arguments that already have a begin first: it turns `subtract(%x,
    begin(%y))` into `subtract(begin(%y), begin(%x))`. The module then computes wrong results,
    without a message. byoc_lab's AnnotateTarget keeps the order, except with era="0.16".

    ## What to do instead
    Put a begin on the other arguments, too, or remove the existing begin.

    ## References
    TVM 0.16, src/relay/transforms/annotate_target.cc, `AnnotateArgs`.
    """

    code, name = "BYL021", "swapped-operands"
    explains = ("BYL001",)
    VALID = (
        Sample(
            f'{_HEAD}  %1 = annotation.compiler_begin(%x, compiler="dnnl");\n'
            '  %2 = subtract(%1, %0);\n  annotation.compiler_end(%2, compiler="dnnl")\n}',
            pipeline=_annotate,
        ),
    )
    INVALID = (
        Sample(
            f'{_HEAD}  %1 = subtract(%x, %0);\n  annotation.compiler_end(%1, compiler="dnnl")\n}}',
            points_at="subtract",
            argument=0,
            pipeline=_annotate,
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        passes = [p for p in subject.context.running if isinstance(p, AnnotateTarget)]
        if not passes or not subject.annotated:
            return
        swaps = any(p.era for p in passes)
        calls = [n for n in subject.nodes if isinstance(n, Call) and _is_half_annotated(n)]
        if not calls:
            return
        begins: list[Begin] = []
        for call in calls:
            kept = next(a for a in call.args if _is_kept(a))
            begins += (
                Begin((argument_edge(call, n),), compiler_of(kept))
                for n, a in enumerate(call.args)
                if not _is_kept(a)
            )
        first, others = calls[0], f" (and {len(calls) - 1} more calls)" if calls[1:] else ""
        where = ", ".join(str(n) for n, a in enumerate(first.args) if _is_kept(a))
        who = "it will put them" if swaps else "that of TVM 0.16 puts them"
        title = f"put compiler_begin on the other arguments of {called(first)}{others}"
        yield self.finding(
            f"arguments with a begin ({where}) of {called(first)}{others} come after argument 0, "
            f"which has none, when AnnotateTarget runs: {who} first",
            "put a begin on the other arguments too, or remove it from these",
            first,
            subject,
            0,
            severity=Severity.ERROR if swaps else Severity.WARNING,
            covers=frozenset(calls),
            others=calls[1:],
            proposals=[Proposal(title, subject.name, tuple(begins))],
        )


def _is_half_annotated(call: Call) -> bool:
    """Whether some arguments have a begin that AnnotateTarget keeps, but the first argument has
    none."""
    if is_annotation(call) or not call.args or _is_kept(call.args[0]):
        return False
    return any(map(_is_kept, call.args))


def _is_kept(argument: Expr) -> bool:
    return is_annotation(argument, BEGIN) and compiler_of(argument) != DEFAULT
