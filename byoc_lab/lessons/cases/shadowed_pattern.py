"""The case of a pattern that a shorter pattern hides."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lessons.cases.base import PipelineCase, Symptom
from byoc_lab.lessons.cases.networks import conv, image, typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import is_op, wildcard


class ShadowedPattern(PipelineCase):
    """The fused pattern never matches, because a shorter pattern precedes it in the table.

    MergeComposite tries the entries of a table in order. Calls that the first entry matched are
    inside a composite function, which later entries do not search. With conv2d before conv2d_relu,
    every convolution is offloaded alone, and relu runs separately. The fix is the order of the
    table: the longer pattern first.
    """

    name = "shadowed-pattern"
    title = "A short pattern before a long one hides it"
    reference = "TVM 0.16, src/relay/transforms/merge_composite.cc, 2024"
    era = "all"
    fix = "Put the longer patterns first."
    cause = "BYL030"

    def plain(self) -> IRModule:
        return typed(relay.nn.relu(conv(image())))

    def passes(self) -> list[Pass]:
        return _pipeline("dnnl.conv2d", "dnnl.conv2d_relu")

    def right_passes(self) -> list[Pass]:
        return _pipeline("dnnl.conv2d_relu", "dnnl.conv2d")

    def symptom(self, mod: IRModule) -> Symptom | None:
        composites = [n for n in post_order(mod["main"]) if isinstance(n, Function)]
        names = {str(f.attrs["Composite"]) for f in composites if "Composite" in f.attrs}
        if "dnnl.conv2d_relu" in names:
            return None
        return Symptom("no composite is dnnl.conv2d_relu: relu runs by itself", mod)


def _pipeline(*order: str) -> list[Pass]:
    conv2d = is_op("nn.conv2d")(wildcard(), wildcard())
    table = {"dnnl.conv2d": conv2d, "dnnl.conv2d_relu": is_op("nn.relu")(conv2d)}
    entries = [(name, table[name]) for name in order]
    return [MergeComposite(entries), AnnotateTarget("dnnl"), MergeCompilerRegions()]
