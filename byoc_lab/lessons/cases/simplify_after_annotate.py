"""The case of a pipeline that simplifies after the annotation."""

from __future__ import annotations

from byoc_lab.errors import PartitionError
from byoc_lab.lessons.cases.base import PipelineCase, Symptom
from byoc_lab.lessons.cases.networks import batch_norm, image, typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.ir.module import IRModule


class SimplifyAfterAnnotate(PipelineCase):
    """SimplifyInference follows AnnotateTarget in the list, and PartitionGraph stops.

    AnnotateTarget puts begins on the arguments of the batch norm. SimplifyInference then replaces
    the batch norm by arithmetic with new constants, which have no begin: "Arg regions are
    inconsistent". Linting the pipeline reports this before anything runs. The fix is the order: all
    passes that decompose and fold come before the annotation.
    """

    name = "simplify-after-annotate"
    title = "SimplifyInference after AnnotateTarget makes a module that cannot be partitioned"
    reference = (
        'TVM forum, "[External codegen] How to prevent batch norm from being decomposed?", '
        "January 2020"
    )
    link = "https://discuss.tvm.apache.org"
    era = "0.7 to 0.19"
    fix = "Put SimplifyInference and the folding before AnnotateTarget."
    cause = "BYL023"
    codes = ("BYL015",)

    def plain(self) -> IRModule:
        return typed(batch_norm(image()))

    def passes(self) -> list[Pass]:
        return [AnnotateTarget("dnnl"), MergeCompilerRegions(), SimplifyInference()]

    def right_passes(self) -> list[Pass]:
        folding = [SimplifyInference(), FoldConstant(), FoldScaleAxis(), FoldConstant()]
        return [*folding, AnnotateTarget("dnnl"), MergeCompilerRegions()]

    def symptom(self, mod: IRModule) -> Symptom | None:
        try:
            PartitionGraph()(mod)
        except PartitionError as error:
            return Symptom("PartitionGraph refuses the module", error=error)
        return None
