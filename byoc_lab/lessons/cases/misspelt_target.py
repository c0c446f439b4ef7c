"""The case of a misspelt target."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lessons.cases.base import PipelineCase
from byoc_lab.lessons.cases.networks import conv, image, typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.module import IRModule


class MisspeltTarget(PipelineCase):
    """AnnotateTarget gets a name that no back end has, and leaves everything to the host.

    AnnotateTarget asks each operator for its attribute "target.<name>". For an unknown name, no
    operator has this attribute. Every pass succeeds, the module runs, and nothing is offloaded. The
    fix is the name; `lint` of the pipeline proposes the nearest one.
    """

    name = "misspelt-target"
    title = "A misspelt target offloads nothing, and nothing says so"
    reference = "TVM 0.16, src/relay/transforms/annotate_target.cc, 2024"
    era = "all"
    fix = "Correct the name, or register the back end."
    cause = "BYL017"
    not_offloaded = "the partitioned module has no region"

    def plain(self) -> IRModule:
        return typed(relay.nn.relu(conv(image())))

    def passes(self) -> list[Pass]:
        return [AnnotateTarget("dnll"), MergeCompilerRegions()]

    def right_passes(self) -> list[Pass]:
        return [AnnotateTarget("dnnl"), MergeCompilerRegions()]
