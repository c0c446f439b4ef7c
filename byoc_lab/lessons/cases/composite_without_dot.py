"""The case of a composite whose name has no dot."""

from __future__ import annotations

from byoc_lab import relay
from byoc_lab.lessons.cases.base import PipelineCase
from byoc_lab.lessons.cases.networks import conv, image, typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_op, wildcard


class CompositeWithoutDot(PipelineCase):
    """A composite function is created but stays on the host, because its name has no dot.

    AnnotateTarget offloads a composite function to the back end named before the first dot of the
    composite's name: the convention is "{compiler}.{composite_name}". A name like
    "dnnl_conv2d_relu" has no dot, so it belongs to no back end, and no message reports it. The fix
    is the name.
    """

    name = "composite-without-dot"
    title = "A composite is created but never offloaded"
    reference = (
        'apache/tvm pull request 5261, "[RELAY][BYOC] Add support for composite functions in '
        'BYOC", April 2020'
    )
    link = "https://github.com/apache/tvm/pull/5261"
    era = "0.7 to 0.19"
    fix = 'Name the pattern "<back end>.<kernel>".'
    cause = "BYL018"
    not_offloaded = "nothing is offloaded, although there is a composite"

    def plain(self) -> IRModule:
        return typed(relay.nn.relu(conv(image())))

    def passes(self) -> list[Pass]:
        return _pipeline("dnnl_conv2d_relu")

    def right_passes(self) -> list[Pass]:
        return _pipeline("dnnl.conv2d_relu")


def _pipeline(name: str) -> list[Pass]:
    pattern = is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), wildcard()))
    return [MergeComposite([(name, pattern)]), AnnotateTarget("dnnl"), MergeCompilerRegions()]
