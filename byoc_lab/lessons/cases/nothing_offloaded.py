"""The case of a test that passes although nothing is offloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab import relay
from byoc_lab.lessons.cases.base import (
    ExpectedDiagnosis,
    PipelineCase,
    patterns_say,
)
from byoc_lab.lessons.cases.networks import CHANNELS, image, numbers, typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.expr import Call
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_op, wildcard


class NothingOffloaded(PipelineCase):
    """The numbers are right, the test passes, and the back end computed nothing.

    A reviewer of new patterns noticed that the tests only compare numbers, and would pass if none
    of the patterns matched: calls that are not offloaded run on the host, with the same result.
    Here the convolution has groups, which the predicate of the author's back end refuses. The fix
    is a test that checks the offload: the composites by name, or `program.assert_offloaded()`,
    which counts the runs of the compiled code.
    """

    name = "nothing-offloaded"
    title = "A test of numbers passes although nothing was offloaded"
    reference = 'apache/tvm pull request 9797, "DNNL-BYOC enhancement" (review), December 2021'
    link = "https://github.com/apache/tvm/pull/9797"
    era = "all"
    fix = "Test what was offloaded, not only the numbers."
    cause = "refused"
    not_offloaded = "the numbers are right, and the host computes all of them"

    def plain(self) -> IRModule:
        weight = numbers(CHANNELS, 1, 3, 3)
        grouped = relay.nn.conv2d(
            image(), weight, channels=CHANNELS, kernel_size=(3, 3), padding=(1, 1), groups=CHANNELS
        )
        return typed(relay.nn.relu(grouped))

    def passes(self) -> list[Pass]:
        return _pipeline(without_groups)

    def right_passes(self) -> list[Pass]:
        return _pipeline(None)

    def diagnosis(self) -> ExpectedDiagnosis:
        return patterns_say(_table(without_groups), self.plain())


def without_groups(match: Call) -> bool:
    """The check of the author: no convolution with groups."""
    conv2d = match.args[0]
    return isinstance(conv2d, Call) and conv2d.attrs.groups == 1


def _table(check: Callable[[Call], bool] | None) -> list[tuple[Any, ...]]:
    conv_relu = is_op("nn.relu")(is_op("nn.conv2d")(wildcard(), wildcard()))
    return [("mychip.conv2d_relu", conv_relu, check)]


def _pipeline(check: Callable[[Call], bool] | None) -> list[Pass]:
    return [MergeComposite(_table(check)), AnnotateTarget("mychip"), MergeCompilerRegions()]
