"""The first line of a bisection result names unchecked parts and says if it is inconclusive."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab import backends, passes, relay, transform
from byoc_lab.relay.ir.module import IRModule

NAME = "edu_nhwc"
PARTITION = [transform.AnnotateTarget(NAME), transform.PartitionGraph()]
NO_CODE = "nothing is offloaded, so no code was checked"


@pytest.fixture(autouse=True)
def back_end() -> Any:
    def codegen(function: relay.Function, symbol: str) -> backends.PythonRegion:
        return backends.PythonRegion(lambda a: np.maximum(a, 0))

    backends.register(NAME, supports=["nn.relu"], codegen=codegen)
    yield
    backends.unregister(NAME)


def network(operator: str = "nn.relu") -> IRModule:
    x = relay.var("x", shape=(1, 4, 8, 8))
    weight = relay.const(np.ones((4, 4, 3, 3), np.float32))
    body = relay.nn.conv2d(x, weight, padding=(1, 1))
    return passes.InferType()(IRModule.from_expr(relay.op.get(operator)(body)))


def skipped() -> passes.ConvertLayout:
    return passes.ConvertLayout({"nn.conv2d": ["NHWC", "HWIO"]})


@pytest.mark.parametrize(
    ("operator", "pipeline", "first", "conclusive"),
    [
        ("tanh", PARTITION, f"inconclusive: no pass changed the numbers; {NO_CODE}", False),
        ("tanh", [skipped(), *PARTITION], "inconclusive: no pass changed the numbers; "
         f"ConvertLayout was skipped; {NO_CODE}", False),
        ("tanh", [skipped()], "inconclusive: no pass changed the module; ConvertLayout was "
         "skipped", False),
        ("nn.relu", [skipped(), *PARTITION], "no difference found in what was checked; "
         "ConvertLayout was skipped", True),
        ("nn.relu", PARTITION, "no difference found", True),
        ("nn.relu", ["ToANormalForm"], "no pass changed the numbers", True),
        ("nn.relu", ["FoldConstant"], "no pass changed the module", True),
    ],
)  # fmt: skip
def test_first_line_of_a_bisection_names_unchecked_parts(
    operator: str, pipeline: Sequence[Any], first: str, conclusive: bool
) -> None:
    found = byoc_lab.bisect(network(operator), pipeline)
    assert (str(found).splitlines()[0], found.conclusive) == (first, conclusive)
    assert not found and found.ok == conclusive


def test_without_kernels_no_region_is_reported_as_unchecked() -> None:
    found = byoc_lab.bisect(network("tanh"), PARTITION, kernels=False)
    assert found.ok and str(found).startswith("no pass changed the numbers\n")


def test_network_whose_clip_no_back_end_computes_is_inconclusive() -> None:
    """DNNL refuses a clip to an empty interval, so no kernel computes it."""
    mod = IRModule.from_expr(relay.clip(relay.var("x", shape=(2, 4)), 1, -1))
    assert byoc_lab.validate(mod, byoc_lab.trace(mod, "dnnl").result).ok
    found = byoc_lab.bisect(mod, "dnnl")
    assert not found.conclusive and "nothing is offloaded" in str(found)
