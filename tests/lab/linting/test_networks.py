"""Real pipelines: no stage has a finding, with any information given to the linter."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from byoc_lab import lint, relay, trace
from byoc_lab.passes import InferType, Sequential
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.pipelines import named_pipeline
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.module import IRModule
from tests.lab.shortened import short_mobilenet, short_squeezenet

testing = relay.testing
NETWORKS: dict[str, Callable[[], tuple[IRModule, dict[str, object]]]] = {
    "mobilenet": short_mobilenet,
    "squeezenet": short_squeezenet,
    "lenet": lambda: testing.lenet.get_workload(batch_size=1),
}
SLOW: dict[str, Callable[[], tuple[IRModule, dict[str, object]]]] = {
    "mlp": lambda: testing.mlp.get_workload(batch_size=1),
    "mobilenet": testing.mobilenet.get_workload,
    "squeezenet": testing.squeezenet.get_workload,
    "resnet": testing.resnet.get_workload,
    "dcgan": lambda: testing.dcgan.get_workload(batch_size=1),
    "inception_v3": lambda: testing.inception_v3.get_workload(image_shape=(3, 299, 299)),
    "densenet": testing.densenet.get_workload,
    "vgg": lambda: testing.vgg.get_workload(batch_size=1),
    "resnet-50": lambda: testing.resnet.get_workload(num_layers=50),
}
PIPELINES = ("dnnl", "partition_for_dnnl", "ccompiler")


def _check(mod: IRModule, pipeline: str) -> None:
    recorded = trace(mod, pipeline)
    assert recorded.error is None
    for stage in recorded.stages:
        assert stage.findings_before == [] and stage.findings_after == [], stage.name
    backend = "ccompiler" if pipeline == "ccompiler" else "dnnl"
    for stage in recorded.stages:
        assert not lint(stage.before, backend=backend), stage.name
    assert not lint(recorded.final, backend=backend)


def _bound(made: tuple[IRModule, dict[str, object]]) -> IRModule:
    mod, params = made
    mod["main"] = bind_params_by_name(mod["main"], params)
    return mod


@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("name", NETWORKS)
def test_no_stage_of_a_network_has_a_finding(name: str, pipeline: str) -> None:
    _check(_bound(NETWORKS[name]()), pipeline)


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", PIPELINES)
@pytest.mark.parametrize("name", SLOW)
def test_no_stage_of_a_large_network_has_a_finding(name: str, pipeline: str) -> None:
    _check(_bound(SLOW[name]()), pipeline)


@pytest.mark.parametrize("pipeline", PIPELINES)
def test_parameters_without_values_have_no_finding(pipeline: str) -> None:
    mod, _ = short_mobilenet()
    recorded = trace(mod, pipeline)
    assert [f for stage in recorded.stages for f in stage.findings_after] == []


@pytest.mark.parametrize("name", NETWORKS)
def test_stage_has_no_finding_with_its_remaining_passes(name: str) -> None:
    passes = named_pipeline("dnnl")
    mod = InferType()(_bound(NETWORKS[name]()))
    with PassContext(opt_level=3):
        for n, p in enumerate(passes):
            assert not lint(mod, passes[n:], "dnnl"), p.info.name
            mod = Sequential([p])(mod)
