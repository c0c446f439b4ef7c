"""The case of a multiply that FoldScaleAxis leaves on a weight."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lessons.cases.base import (
    ExpectedDiagnosis,
    PipelineCase,
    Symptom,
    lint_says,
    operators_in,
    regions_of,
)
from byoc_lab.lessons.cases.networks import batch_norm, conv, image, typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.fold.backward_fold_scale_axis import BackwardFoldScaleAxis
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.ir.module import IRModule


class LeftoverMultiply(PipelineCase):
    """The weight of a convolution is multiplied by the scale of a batch norm in every run.

    The author expected only conv2d, add and relu after the folding. The pass moves the scale of a
    batch norm to the weight as a multiply; only FoldConstant computes the product. FoldScaleAxis of
    0.16 ends with FoldConstant. Its parts, BackwardFoldScaleAxis and ForwardFoldScaleAxis, do not,
    so the multiply stays in the region. It also stays if the weight is a parameter of @main: bind
    the parameters first.
    """

    name = "leftover-multiply"
    title = "A multiply on the weight stays after FoldScaleAxis"
    reference = (
        'apache/tvm issue 4739, "FoldScaleAxis + FoldConstant suboptimal on Conv + BN + Relu?", '
        "January 2020"
    )
    link = "https://github.com/apache/tvm/issues/4739"
    era = "all"
    fix = "Bind the parameters, and run FoldConstant after the fold of the scales, too."
    cause = "BYL025"

    def plain(self) -> IRModule:
        return typed(relay.nn.relu(batch_norm(conv(image()))))

    def passes(self) -> list[Pass]:
        return [*_folding(), *_annotation()]

    def right_passes(self) -> list[Pass]:
        return [*_folding(), FoldConstant(), *_annotation()]

    def diagnosis(self) -> ExpectedDiagnosis:
        return lint_says(PartitionGraph()(self.module()))

    def symptom(self, mod: IRModule) -> Symptom | None:
        partitioned = PartitionGraph()(mod)
        if any("multiply" in operators_in(f) for f in regions_of(partitioned)):
            return Symptom("a region multiplies the weight in every run", partitioned)
        return None


def _folding() -> list[Pass]:
    return [SimplifyInference(), FoldConstant(), BackwardFoldScaleAxis()]


def _annotation() -> list[Pass]:
    return [AnnotateTarget("dnnl"), MergeCompilerRegions()]
