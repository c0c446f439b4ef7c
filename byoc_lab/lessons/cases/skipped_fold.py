"""The case of an opt_level that skips FoldScaleAxis."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lessons.cases.base import PipelineCase, Symptom, operators_in, regions_of
from byoc_lab.lessons.cases.networks import batch_norm, conv, image, typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.ir.module import IRModule


class SkippedFold(PipelineCase):
    """FoldScaleAxis is in the pipeline but does not run: the opt_level of the context is too low.

    A Sequential skips a pass whose level is above the level of the PassContext. FoldScaleAxis has
    level 3, and a PassContext has level 2 by default. The multiply of the batch norm stays next to
    the convolution; the numbers are right, but one more kernel runs. The fix is
    `PassContext(opt_level=3)` around the pipeline.
    """

    name = "skipped-fold"
    title = "FoldScaleAxis is skipped without a message"
    reference = (
        "TVM 0.16, src/relay/ir/transform.cc and src/relay/transforms/fold_scale_axis.cc, 2024"
    )
    era = "all"
    fix = "Run the pipeline under PassContext(opt_level=3)."
    cause = "BYL016"
    codes = ("BYL025",)

    level = 2

    def plain(self) -> IRModule:
        return typed(relay.nn.relu(batch_norm(conv(image()))))

    def passes(self) -> list[Pass]:
        folding = [SimplifyInference(), FoldConstant(), FoldScaleAxis(), FoldConstant()]
        return [*folding, AnnotateTarget("dnnl"), MergeCompilerRegions()]

    def right_passes(self) -> list[Pass]:
        return self.passes()  # because of opt_level 3

    def symptom(self, mod: IRModule) -> Symptom | None:
        partitioned = PartitionGraph()(mod)
        if any("multiply" in operators_in(f) for f in regions_of(partitioned)):
            return Symptom("the multiply of the batch norm is still there", partitioned)
        return None
