"""The case of a check that expects the operands of an add in one order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab import relay
from byoc_lab.lessons.cases.base import (
    ExpectedDiagnosis,
    PipelineCase,
    patterns_say,
)
from byoc_lab.lessons.cases.networks import CHANNELS, conv, image, numbers, typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.expr import Call, Constant
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import is_op, wildcard


class ReversedAdd(PipelineCase):
    """The pattern matches `add(bias, conv)` as well, and the check of the pattern looks at args[1].

    An add is commutative, so in the pattern matcher `is_op("add")(conv, bias)` matches both orders.
    A check or code generator gets the call of the module, with its operands in the order of the
    module. A check that takes args[1] as the bias then sees the convolution, and refuses. The fix
    is to identify the operand by its kind.
    """

    name = "reversed-add"
    title = "A check that expects the bias second refuses a bias that comes first"
    reference = "TVM 0.16, src/relay/ir/dataflow_matcher.cc (commutative operators), 2024"
    era = "0.7 to 0.19"
    fix = "Identify the operand by its kind (a constant, a call of conv2d), not by its position."
    cause = "refused"
    not_offloaded = "conv2d with a bias is not offloaded"

    def plain(self) -> IRModule:
        return typed(relay.nn.relu(relay.add(numbers(CHANNELS, 1, 1), conv(image()))))

    def passes(self) -> list[Pass]:
        return _pipeline(second_is_constant)

    def right_passes(self) -> list[Pass]:
        return _pipeline(one_is_constant)

    def diagnosis(self) -> ExpectedDiagnosis:
        return patterns_say(_table(second_is_constant), self.plain())


def second_is_constant(match: Call) -> bool:
    """The author's check: operand 1 is a constant."""
    return isinstance(match.args[1], Constant)


def one_is_constant(match: Call) -> bool:
    """A check that does not depend on the order."""
    return any(isinstance(arg, Constant) for arg in match.args)


def _table(check: Callable[[Call], bool]) -> list[tuple[Any, ...]]:
    conv_bias = is_op("add")(is_op("nn.conv2d")(wildcard(), wildcard()), wildcard())
    return [("mychip.conv2d_bias", conv_bias, check)]


def _pipeline(check: Callable[[Call], bool]) -> list[Pass]:
    return [MergeComposite(_table(check)), AnnotateTarget("mychip"), MergeCompilerRegions()]
