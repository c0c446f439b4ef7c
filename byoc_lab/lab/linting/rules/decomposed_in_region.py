"""Lint rule BYL015 decomposed-in-region: a batch norm was decomposed inside a region."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject
from byoc_lab.lab.linting.batch_norms import Decomposed, decomposed, fold_then_annotate
from byoc_lab.lab.linting.edits import Proposal
from byoc_lab.relay.ir.expr import Constant, Expr

_T = "Tensor[(1, 2, 4, 4), float32]"
_S = "Tensor[(2), float32]"
_HEAD = (
    f"def @main(%x: {_T}, %gamma: {_S}, %beta: {_S}, %mean: {_S}, %var: {_S}) {{\n"
    '  %0 = annotation.compiler_begin(%x, compiler="dnnl");\n'
    '  %1 = annotation.compiler_begin(%gamma, compiler="dnnl");\n'
    '  %2 = annotation.compiler_begin(%beta, compiler="dnnl");\n'
    '  %3 = annotation.compiler_begin(%mean, compiler="dnnl");\n'
    '  %4 = annotation.compiler_begin(%var, compiler="dnnl");\n'
)


class DecomposedInRegion(LintRule):
    """SimplifyInference ran after the annotation, and decomposed a batch norm inside a region.

    ## Why is this bad?
    The batch norm has become a dozen operators on its statistics. Their constants have no
    `compiler_begin`, so PartitionGraph refuses the module. PartitionGraph of January 2020 gave the
    back end a region full of sqrt, divide and expand_dims. FoldConstant and FoldScaleAxis can no
    longer remove them, because they do not look through annotations.

    ## What to do instead
    Bind the parameters, then run SimplifyInference, FoldConstant, FoldScaleAxis and FoldConstant,
    and annotate after that.

    ## References
    The thread "[External codegen] How to prevent batch norm from being decomposed?" (TVM forum,
    January 2020).
    """

    code, name = "BYL015", "decomposed-in-region"
    explains = ("BYL001", "BYL002", "BYL006", "BYL024", "BYL025")
    VALID = (
        Sample(
            f"{_HEAD}  %5 = nn.batch_norm(%0, %1, %2, %3, %4);\n  %6 = %5.0;\n"
            '  annotation.compiler_end(%6, compiler="dnnl")\n}'
        ),
    )
    INVALID = (
        Sample(
            f"{_HEAD}  %5 = add(%4, 1e-05f);\n  %6 = sqrt(%5);\n  %7 = divide(1f, %6);\n"
            "  %8 = multiply(%7, %1);\n  %9 = expand_dims(%8, axis=1, num_newaxis=2);\n"
            "  %10 = multiply(%0, %9);\n  %11 = negative(%3);\n  %12 = multiply(%11, %8);\n"
            "  %13 = add(%12, %2);\n  %14 = expand_dims(%13, axis=1, num_newaxis=2);\n"
            '  %15 = add(%10, %14);\n  annotation.compiler_end(%15, compiler="dnnl")\n}',
            points_at="sqrt",
        ),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        if not subject.annotated:
            return
        norms = [n for n in decomposed(subject) if _after_annotation(n, subject)]
        if not norms:
            return
        nodes: frozenset[Expr] = frozenset().union(*(n.nodes for n in norms))
        count = f"{len(norms)} batch norms were" if len(norms) > 1 else "a batch norm was"
        regions = [r for n in norms if (r := subject.offloaded_region(n.deviation)) is not None]
        compilers = dict.fromkeys(region.target for region in regions)
        where = f"regions of {', '.join(compilers)}"
        if len(regions) == 1:
            where = f"region {subject.number(regions[0])} of {regions[0].target}"
        yield self.finding(
            f"{count} decomposed inside {where}: SimplifyInference ran after the annotation",
            "run SimplifyInference, FoldConstant and FoldScaleAxis before the annotation, under "
            "PassContext(opt_level=3)",
            norms[0].deviation,
            subject,
            covers=nodes,
            proposals=[
                Proposal(
                    "remove the annotations, run FoldConstant, FoldScaleAxis and FoldConstant, and "
                    "annotate again",
                    make=partial(fold_then_annotate, compilers=tuple(compilers)),
                )
            ],
        )


def _after_annotation(norm: Decomposed, subject: Subject) -> bool:
    """Whether a node is in a region and has a constant without a begin, which AnnotateTarget never
    leaves."""
    return subject.offloaded_region(norm.deviation) is not None and any(
        isinstance(part, Constant) for node in norm.nodes for part in node.parts()
    )
