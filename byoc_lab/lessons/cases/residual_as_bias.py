"""The case of a residual that is matched as a bias."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab import relay
from byoc_lab.lessons.cases.base import ExpectedDiagnosis, PipelineCase, Symptom, lint_says
from byoc_lab.lessons.cases.networks import CHANNELS, conv, image, typed
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.expr import Call, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns import is_op, wildcard


class ResidualAsBias(PipelineCase):
    """The sum of two branches is matched by the pattern for conv2d and bias.

    `add(conv, wildcard())` was meant for a bias, with one number per channel. It also matches the
    residual of a network, a tensor of the result's size. A code generator that reads one number per
    channel then computes wrong results. The change added checks to the patterns for bias and for
    sum, so that each matches only its own case.
    """

    name = "residual-as-bias"
    title = "A residual connection is matched as a bias"
    reference = 'apache/tvm pull request 12314, "[BYOC-DNNL] Bug Fix", August 2022'
    link = "https://github.com/apache/tvm/pull/12314"
    era = "until 0.9"
    fix = "Require one number per channel in the check of the bias pattern."
    cause = "BYL032"
    codes = ("BYL032",)

    def plain(self) -> IRModule:
        data = image()
        return typed(relay.nn.relu(relay.add(conv(data), data)))

    def passes(self) -> list[Pass]:
        return _pipeline(None)

    def right_passes(self) -> list[Pass]:
        return _pipeline(is_bias)

    def diagnosis(self) -> ExpectedDiagnosis:
        return lint_says(self.module())

    def symptom(self, mod: IRModule) -> Symptom | None:
        composites = [n for n in post_order(mod["main"]) if isinstance(n, Function)]
        for func in composites:
            if str(func.attrs.get("Composite", "")).endswith("conv2d_bias"):
                sizes = [p.checked_type.shape for p in func.params]
                if len(sizes) == 2:  # the branch is the data of the convolution itself
                    return Symptom("the bias of mychip.conv2d_bias is the data", mod)
        return None


def is_bias(match: Call) -> bool:
    """Whether one operand of the add has one number per channel."""
    shapes = [arg.checked_type.concrete_shape for arg in match.args]
    return any(shape in ((CHANNELS, 1, 1), (1, CHANNELS, 1, 1)) for shape in shapes)


def _pipeline(check: Callable[[Call], bool] | None) -> list[Pass]:
    conv2d = is_op("nn.conv2d")(wildcard(), wildcard())
    table: list[tuple[Any, ...]] = [
        ("mychip.conv2d_bias", is_op("add")(conv2d, wildcard()), check),
        ("mychip.conv2d", conv2d, None),
    ]
    return [MergeComposite(table), AnnotateTarget("mychip"), MergeCompilerRegions()]
