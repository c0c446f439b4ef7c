"""byoc_lab and a live TVM 0.16: one case, built and run on both sides, compared after each step.

In golden files each pass gets TVM's input; here every pass gets the result of byoc_lab's previous
pass, and constants of any size are compared by value.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.compat import tvm
from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.analysis.structural import first_difference

from . import cases, steps
from .client import Oracle, StepResult
from .compare import difference, expected_error, missing, run, targets_registered
from .fork import TUPLE_TARGETS
from .goldens.entry import DNNL_PIPELINE, targets
from .goldens.plan import longest_runs, plan

pytestmark = [pytest.mark.oracle, pytest.mark.slow]

# In addition to the runs of the golden files: values too large for a file.
WORKLOADS = [("networks.small_net_workload", ["InferType"]), ("networks.mobilenet_workload", [])]
# Random graphs, partitioned for two targets.
RANDOM = [
    (f"random_graphs.seed_{seed}", ["InferType", first, "MergeCompilerRegions", "PartitionGraph"])
    for seed in range(12)
    for first in (targets("A", "B"), targets("B", "A", include_non_call_ops=False))
]

# Runs after which the oracle's module differs from TVM 0.16's.
FORKED = [
    (entry.case, entry.steps)
    for entry in plan()
    if entry.step is not None and entry.path in TUPLE_TARGETS
]


@pytest.fixture(scope="module")
def oracle() -> Iterator[Oracle]:
    found = Oracle.find()
    assert found is not None
    with found, targets_registered():
        yield found


def _run_name(one: object) -> str:
    case, wanted = one  # type: ignore[misc]
    return "-".join([case, *map(steps.describe, wanted)])


@pytest.mark.parametrize(
    "case_and_steps", [*longest_runs(plan()), *WORKLOADS, *RANDOM], ids=_run_name
)
def test_each_step_gives_the_module_of_tvm(
    oracle: Oracle, case_and_steps: tuple[str, list]
) -> None:
    """Equal as built and after every step; if TVM fails, byoc_lab raises its error."""
    case, wanted = case_and_steps
    if name := missing(wanted):
        pytest.skip(f"byoc_lab has no pass {name}")
    module = cases.load(case, tvm, relay, np)
    for result in oracle.run(case, wanted):
        so_far = wanted[: result.step + 1]
        if (case, so_far) in FORKED:
            return
        module = _step(module, so_far, result)


def _step(module: tvm.IRModule, so_far: list, result: StepResult) -> tvm.IRModule:
    """byoc_lab's module after the last step of `so_far`, compared with the oracle's before."""
    if result.error is not None:
        with pytest.raises(expected_error(result.error.message)):
            run(so_far[-1], module)
        return module
    if not so_far:
        found = _difference_as_built(module, result.text)
        assert found is None, f"after building: {found}"
        return module
    module = run(so_far[-1], module)
    found = difference(module, result.text)
    assert found is None, f"after {steps.describe(so_far[-1])}: {found}"
    return module


def _difference_as_built(module: tvm.IRModule, text: str) -> object:
    """The difference of a case from TVM's; an ill-typed case is compared without types."""
    try:
        return difference(module, text)
    except TypeInferenceError:
        return first_difference(module, relay.parse(text, infer=False))


@pytest.mark.parametrize(
    ("case", "wanted"),
    [
        ("conv_bn_relu.two_blocks_constants", ["InferType", {"annotate": "all_inputs"}]),
        ("networks.small_net_constants", DNNL_PIPELINE[:5]),
        ("networks.small_net_constants", DNNL_PIPELINE),
        ("annotatable.branches", ["InferType", {"pass": "AnnotateTarget", "targets": ["A"]}]),
        ("annotatable.let", ["InferType"]),
    ],
    ids=str,
)
def test_tvm_reads_the_text_that_byoc_lab_prints(oracle: Oracle, case: str, wanted: list) -> None:
    """Printed with metadata, read by TVM and printed again, the module is unchanged."""
    module = cases.load(case, tvm, relay, np)
    for step in wanted:
        module = run(step, module)
    (result,) = oracle.run(module.astext(for_tvm=True), [])
    found = difference(module, result.text)
    assert found is None, found
