"""The case of a pattern without the bias that the code generator needs."""

from __future__ import annotations

from typing import Any

from byoc_lab.lessons.cases.base import (
    ExpectedDiagnosis,
    PipelineCase,
    patterns_say,
)
from byoc_lab.lessons.cases.networks import conv, image, typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_op, wildcard


class MandatoryBias(PipelineCase):
    """The pattern matches a convolution without bias, and the code generator needs one.

    The pattern of a back end had an optional bias, but its code generator always expected a bias,
    and failed. As a temporary fix the pattern required the bias, and convolutions without a bias
    stayed on the host. The question then became: why is this convolution not offloaded? The
    diagnosis of the table: the pattern needs one operator more.
    """

    name = "mandatory-bias"
    title = "A pattern requires a bias, and convolutions without one stay on the host"
    reference = (
        'apache/tvm pull request 9244, "[microNPU] Enforce bias when pattern matching '
        'conv2d", October 2021'
    )
    link = "https://github.com/apache/tvm/pull/9244"
    era = "all"
    fix = "Make the bias optional in pattern and code generator, or add a bias of zeros."
    cause = "never"
    not_offloaded = "a convolution without bias is not offloaded"

    def plain(self) -> IRModule:
        return typed(conv(image()))

    def passes(self) -> list[Pass]:
        return _pipeline(_table(optional=False))

    def right_passes(self) -> list[Pass]:
        return _pipeline(_table(optional=True))

    def diagnosis(self) -> ExpectedDiagnosis:
        return patterns_say(_table(optional=False), self.plain())


def _table(optional: bool) -> list[tuple[Any, ...]]:
    conv2d = is_op("nn.conv2d")(wildcard(), wildcard())
    with_bias = is_op("nn.bias_add")(conv2d, wildcard())
    return [("mychip.conv2d", with_bias | conv2d if optional else with_bias)]


def _pipeline(table: list[tuple[Any, ...]]) -> list[Pass]:
    return [MergeComposite(table), AnnotateTarget("mychip"), MergeCompilerRegions()]
