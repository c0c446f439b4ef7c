"""Lint rule BYL025 leftover-multiply: samples, and agreement with FoldScaleAxis."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import lint, relay
from byoc_lab.lab.linting import Severity
from byoc_lab.lab.linting.rules.leftover_multiply import LeftoverMultiply
from byoc_lab.passes import AnnotateTarget, FoldScaleAxis, InferType, MergeCompilerRegions
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.passes import Sequential
from byoc_lab.relay import nn
from tests.lab.linting.samples import RuleChecks


class TestLeftoverMultiply(RuleChecks):
    rule = LeftoverMultiply


REGION = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 4, 4), float32], %g: Tensor[{given}, float32]) {{
  @dnnl_0(%x, %g)
}}
def @dnnl_0(%i0: Tensor[(1, 2, 4, 4), float32], %i1: Tensor[{given}, float32], Compiler="dnnl",
    Primitive=1, global_symbol="dnnl_0") -> Tensor[(1, 3, 4, 4), float32] {{
  %0 = multiply(%i1, meta[relay.Constant][0] /* ty=Tensor[{constant}, float32] */);
  nn.conv2d(%i0, %0, padding=[0, 0, 0, 0], channels=3, kernel_size=[1, 1])
}}
"""


def findings(given: str, constant: str) -> list:
    text = REGION.format(given=given, constant=constant)
    return lint(relay.parse(text)).by_code("BYL025")


@pytest.mark.filterwarnings("ignore::byoc_lab.errors.ElidedMetadataWarning")
def test_scale_computed_at_run_time_is_a_hint() -> None:
    """FoldScaleAxis moved the scale, a gate of squeeze-and-excitation, to a constant weight."""
    (finding,) = findings(given="(2, 1, 1)", constant="(3, 2, 1, 1)")
    assert finding.severity is Severity.INFO
    assert "the weight of nn.conv2d, a constant, is multiplied by %i1" in finding.message
    assert "if it is computed" in finding.what_to_do


@pytest.mark.filterwarnings("ignore::byoc_lab.errors.ElidedMetadataWarning")
def test_weight_passed_as_a_parameter_gives_a_warning_to_bind_it() -> None:
    (finding,) = findings(given="(3, 2, 1, 1)", constant="(3, 1, 1, 1)")
    assert finding.severity is Severity.WARNING
    assert finding.what_to_do.startswith("bind the value that @main passes for %i1")


def constant(*shape: int) -> relay.Constant:
    return relay.const(np.full(shape, 1.5, "float32"))


IMAGE = relay.var("x", shape=(1, 4, 6, 6))
ROWS = relay.var("x", shape=(2, 4))
PRODUCTS = {
    "channels": nn.conv2d(IMAGE, constant(4, 4, 3, 3)) * constant(4, 1, 1),
    "scalar": nn.conv2d(IMAGE, constant(4, 4, 3, 3)) * constant(),
    "pixels": nn.conv2d(IMAGE, constant(4, 4, 3, 3)) * constant(4, 4),
    "groups": nn.conv2d(IMAGE, constant(4, 2, 3, 3), groups=2) * constant(4, 1, 1),
    "conv1d": nn.conv1d(relay.var("x", shape=(1, 4, 8)), constant(4, 4, 3)) * constant(4, 1),
    "units": nn.dense(ROWS, constant(5, 4)) * constant(5),
    "rows": nn.dense(ROWS, constant(5, 4)) * constant(2, 1),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_scale_is_a_finding_exactly_if_fold_scale_axis_moves_it(name: str) -> None:
    mod = InferType()(relay.IRModule.from_expr(PRODUCTS[name]))
    with PassContext(opt_level=3):
        folded = Sequential([FoldScaleAxis()])(mod)
    annotated = Sequential([AnnotateTarget("dnnl"), MergeCompilerRegions(), InferType()])(mod)
    assert bool(lint(annotated).by_code("BYL025")) == ("multiply" not in str(folded))


def test_scaled_result_that_is_used_twice_has_no_finding() -> None:
    conv = nn.conv2d(IMAGE, constant(4, 4, 3, 3))
    mod = InferType()(relay.IRModule.from_expr(conv * constant(4, 1, 1) + nn.relu(conv)))
    annotated = Sequential([AnnotateTarget("dnnl"), MergeCompilerRegions(), InferType()])(mod)
    assert not lint(annotated).by_code("BYL025")
