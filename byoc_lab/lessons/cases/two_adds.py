"""The case of a bias and a batch norm that leave two adds."""

from __future__ import annotations

from typing import Any

from byoc_lab import relay
from byoc_lab.lessons.cases.base import (
    ExpectedDiagnosis,
    PipelineCase,
    Symptom,
    operators_in,
    patterns_say,
    regions_of,
    run_passes,
)
from byoc_lab.lessons.cases.networks import CHANNELS, batch_norm, conv, image, numbers, typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.passes.simplify.canonicalize_ops import CanonicalizeOps
from byoc_lab.passes.simplify.simplify_expr import SimplifyExpr
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_op, wildcard


class TwoAdds(PipelineCase):
    """A convolution with a bias and a batch norm becomes conv2d, add, add, and one add is not
    matched.

    Folding turns the batch norm into a scale of the weight and an add. The bias of the convolution
    is also an add, so there are two adds in a row, but the pattern conv2d + bias + relu accepts
    only one. SimplifyExpr rewrites `add(add(x, c1), c2)` to one add of a constant; its rule was
    added for exactly this sequence.
    """

    name = "two-adds"
    title = "conv2d, bias and batch norm leave two adds, and the pattern takes one"
    reference = (
        'apache/tvm pull request 9671, "[SimplifyExpr] Simplify consecutive adds with '
        'constants", December 2021'
    )
    link = "https://github.com/apache/tvm/pull/9671"
    era = "until 0.8; in later ones without SimplifyExpr"
    fix = "Run SimplifyExpr and FoldConstant after the batch norm is folded."
    cause = "never"

    def plain(self) -> IRModule:
        biased = relay.nn.bias_add(conv(image()), numbers(CHANNELS))
        return typed(relay.nn.relu(batch_norm(biased)))

    def passes(self) -> list[Pass]:
        return [
            *_folding(),
            MergeComposite(_table()),
            AnnotateTarget("mychip"),
            MergeCompilerRegions(),
        ]

    def right_passes(self) -> list[Pass]:
        one_add = [CanonicalizeOps(), FoldConstant(), SimplifyExpr(), FoldConstant()]
        return [*_folding(), *one_add, *_annotation()]

    def diagnosis(self) -> ExpectedDiagnosis:
        return patterns_say(_table(), run_passes(self.plain(), _folding()))

    def symptom(self, mod: IRModule) -> Symptom | None:
        partitioned = PartitionGraph()(mod)
        if any("nn.relu" in operators_in(f) for f in regions_of(partitioned)):
            return None
        return Symptom("nothing is offloaded: there are two adds before relu", partitioned)


def _folding() -> list[Pass]:
    return [SimplifyInference(), FoldConstant(), FoldScaleAxis(), FoldConstant()]


def _annotation() -> list[Pass]:
    return [MergeComposite(_table()), AnnotateTarget("mychip"), MergeCompilerRegions()]


def _table() -> list[tuple[Any, ...]]:
    conv2d = is_op("nn.conv2d")(wildcard(), wildcard())
    biased = is_op("nn.bias_add")(conv2d, wildcard()) | is_op("add")(conv2d, wildcard())
    return [("mychip.conv2d_bias_relu", is_op("nn.relu")(biased))]
