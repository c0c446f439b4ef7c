"""Lint rule BYL022 annotated-constant: constants will be folded after they were annotated."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.analysis.annotations import BEGIN, is_annotation
from byoc_lab.relay.ir.expr import Call, Constant, Expr

_HEAD = "def @main(%x: Tensor[(2, 3), float32]) {\n"
_PLAIN = f"{_HEAD}  nn.relu(add(%x, 1f))\n}}"
_ANNOTATED = (
    f'{_HEAD}  %0 = annotation.compiler_begin(%x, compiler="dnnl");\n'
    '  %1 = annotation.compiler_begin(1f, compiler="dnnl");\n  %2 = add(%0, %1);\n'
    '  annotation.compiler_end(%2, compiler="dnnl")\n}'
)


def _right() -> Sequence[Pass]:
    return [FoldConstant(), AnnotateTarget("dnnl"), PartitionGraph()]


def _too_late() -> Sequence[Pass]:
    return [AnnotateTarget("dnnl"), FoldConstant(), PartitionGraph()]


class AnnotatedConstant(LintRule):
    """FoldConstant will run while constants of the module have a `compiler_begin`.

    ## Why is this bad?
    FoldConstant evaluates calls whose arguments are all constants. A `compiler_begin` of a constant
    is such a call, but no implementation of it exists, so the pass fails
    ("annotation.compiler_begin doesn't have an FTVMStrategy registered").

    ## What to do instead
    Run FoldConstant and FoldScaleAxis before AnnotateTarget, or after PartitionGraph.

    ## References
    TVM 0.16, src/relay/transforms/fold_constant.cc.
    """

    code, name = "BYL022", "annotated-constant"
    VALID = (
        Sample(_PLAIN, pipeline=_right),
        Sample(_ANNOTATED),
        Sample(_HEAD + "  nn.relu(%x)\n}", pipeline=_too_late),
    )
    INVALID = (
        Sample(
            _ANNOTATED, points_at="annotation.compiler_begin", pipeline=lambda: [FoldConstant()]
        ),
        Sample(_PLAIN, points_at="add", argument=1, pipeline=_too_late),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        context = subject.context
        if not any(isinstance(p, FoldConstant) for p in context.while_annotated()):
            return
        if not subject.annotated and not context.has(AnnotateTarget):
            return
        for node in subject.nodes:
            if not isinstance(node, Call) or is_annotation(node) is not subject.annotated:
                continue
            if subject.annotated and not is_annotation(node, BEGIN):
                continue
            place = next((n for n, a in enumerate(node.args) if isinstance(a, Constant)), None)
            if place is None:
                continue
            what = "has" if subject.annotated else "will have"
            yield self.finding(
                f"a constant {what} a compiler_begin when FoldConstant runs, which cannot "
                f"evaluate it",
                "run FoldConstant before AnnotateTarget, or after PartitionGraph",
                node,
                subject,
                place,
                others=_constants(subject)[1:],
            )
            return  # one finding for all constants: the cause is the order of the passes


def _constants(subject: Subject) -> list[Expr]:
    return [n for n in subject.nodes if isinstance(n, Constant)]
