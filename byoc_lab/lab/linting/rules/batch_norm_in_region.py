"""Lint rule BYL023 batch-norm-in-region: SimplifyInference will run on an annotated batch norm."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from byoc_lab.lab.linting.base import Finding, LintRule, Sample, Subject, called
from byoc_lab.lab.linting.batch_norms import BATCH_NORM, DECOMPOSED, fold_then_annotate
from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.edits import Proposal
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.ir.expr import Call, Op, TupleGetItem

_T = "Tensor[(1, 2, 4, 4), float32]"
_S = "Tensor[(2), float32]"
_HEAD = f"def @main(%x: {_T}, %gamma: {_S}, %beta: {_S}, %mean: {_S}, %var: {_S}) {{\n"
_PLAIN = f"{_HEAD}  %0 = nn.batch_norm(%x, %gamma, %beta, %mean, %var);\n  %0.0\n}}"
_ANNOTATED = (
    f'{_HEAD}  %0 = annotation.compiler_begin(%x, compiler="dnnl");\n'
    '  %1 = annotation.compiler_begin(%gamma, compiler="dnnl");\n'
    '  %2 = annotation.compiler_begin(%beta, compiler="dnnl");\n'
    '  %3 = annotation.compiler_begin(%mean, compiler="dnnl");\n'
    '  %4 = annotation.compiler_begin(%var, compiler="dnnl");\n'
    "  %5 = nn.batch_norm(%0, %1, %2, %3, %4);\n  %6 = %5.0;\n"
    '  annotation.compiler_end(%6, compiler="dnnl")\n}'
)


def _right() -> Sequence[Pass]:
    return [SimplifyInference(), AnnotateTarget("dnnl"), PartitionGraph()]


def _too_late() -> Sequence[Pass]:
    merged = [AnnotateTarget("dnnl"), MergeCompilerRegions()]
    return [*merged, SimplifyInference(), PartitionGraph()]


def _unmerged() -> Sequence[Pass]:
    return [AnnotateTarget("dnnl"), SimplifyInference(), PartitionGraph()]


class BatchNormInRegion(LintRule):
    """SimplifyInference will run on a batch norm, or another norm, that is inside a region.

    ## Why is this bad?
    SimplifyInference replaces the norm by a dozen operators on its statistics, inside the region.
    Their constants have no `compiler_begin`, so PartitionGraph refuses the module, and no pass can
    fold them any more (see BYL015).

    ## What to do instead
    Run SimplifyInference, FoldConstant and FoldScaleAxis before AnnotateTarget.

    ## References
    The thread "[External codegen] How to prevent batch norm from being decomposed?" (TVM forum,
    January 2020).
    """

    code, name = "BYL023", "batch-norm-in-region"
    VALID = (
        Sample(_PLAIN, pipeline=_right),
        # an annotation between the batch norm and its .0 hides it
        Sample(_PLAIN, pipeline=_unmerged),
        Sample(_ANNOTATED),
    )
    INVALID = (
        Sample(_ANNOTATED, points_at="nn.batch_norm", pipeline=lambda: [SimplifyInference()]),
        Sample(_PLAIN, points_at="nn.batch_norm", pipeline=_too_late),
    )

    def check(self, subject: Subject) -> Iterator[Finding]:
        context = subject.context
        if not any(isinstance(p, SimplifyInference) for p in context.while_annotated()):
            return
        norms = [n for n in subject.nodes if isinstance(n, Call) and n.op_name in DECOMPOSED]
        if subject.annotated:
            norms = [n for n in norms if _in_region(n, subject) and _is_visible(n, subject)]
        else:
            norms = [n for n in norms if self._will_be_annotated(n, subject)]
        if not norms:
            return
        when = "is" if subject.annotated else "will be"
        others = f", and {len(norms) - 1} more likewise" if len(norms) > 1 else ""
        compilers = context.targets or tuple(dict.fromkeys(r.target for r in subject.offloaded))
        annotate = Proposal(
            "remove the annotations, fold the norms, and annotate again",
            make=partial(fold_then_annotate, compilers=compilers),
        )
        region = subject.regions.of(norms[0])
        where = "a region" if region is None else f"region {subject.number(region)}"
        yield self.finding(
            f"{called(norms[0])} {when} inside {where} when SimplifyInference runs, which "
            f"decomposes it there{others}",
            "run SimplifyInference, FoldConstant and FoldScaleAxis before AnnotateTarget, under "
            "PassContext(opt_level=3)",
            norms[0],
            subject,
            others=norms[1:],
            proposals=[annotate] if subject.annotated else (),
        )

    def _merged_before(self, context: Context) -> bool:
        """Whether merging removes the annotations inside regions before SimplifyInference runs."""
        for p in context.while_annotated():
            if isinstance(p, SimplifyInference):
                return False
            if isinstance(p, MergeCompilerRegions):
                return True
        return False

    def _will_be_annotated(self, norm: Call, subject: Subject) -> bool:
        context = subject.context
        passes = [p for p in context.running if isinstance(p, AnnotateTarget)]
        if not passes or any(
            isinstance(p, SimplifyInference) for p in context.before(AnnotateTarget)
        ):
            return False
        if norm.op_name == BATCH_NORM and not self._merged_before(context):
            return False
        op = norm.op
        assert isinstance(op, Op)
        return any(p.predicate(op, t) is not None for p in passes for t in p.targets)


def _is_visible(norm: Call, subject: Subject) -> bool:
    """Whether SimplifyInference finds the norm; it finds a batch norm only through field 0 of its
    result."""
    users = subject.users[norm]
    return norm.op_name != BATCH_NORM or any(
        isinstance(u, TupleGetItem) and u.index == 0 for u in users
    )


def _in_region(node: Call, subject: Subject) -> bool:
    return subject.offloaded_region(node) is not None
