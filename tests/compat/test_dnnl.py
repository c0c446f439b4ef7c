"""DNNL for TVM scripts: exactly the operators that TVM 0.16 offloads are offloaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import byoc_lab
from byoc_lab.compat import relay, transform, tvm
from byoc_lab.relay.patterns import is_op, wildcard
from tests.parity.steps import DNNL_OPERATORS

contrib = relay.op.contrib


def own_table() -> list[tuple[Any, ...]]:
    """A script's pattern table with one entry."""
    dense = is_op("nn.dense")(wildcard(), wildcard())
    biased = is_op("nn.bias_add")(dense, wildcard())
    return [("dnnl.dense_relu", is_op("nn.relu")(biased))]


def canonical() -> list[Any]:
    """The passes by which TVM first turns nn.bias_add into add."""
    return [transform.CanonicalizeOps(), transform.InferType(), transform.SimplifyInference(),
            transform.FoldConstant()]  # fmt: skip


FLOWS: dict[str, Callable[[], list[Any]]] = {
    "plain": lambda: [transform.InferType()],
    "table": lambda: [transform.InferType(), merge(contrib.register.get_pattern_table("dnnl"))],
    "own": lambda: [transform.InferType(), merge(own_table())],
    "canonical": lambda: [*canonical(), merge(contrib.dnnl.pattern_table())],
}

# From TVM 0.16: the regions of each flow, in the order of FLOWS.
REGIONS = {
    "mlp": (4, 4, 2, 1),
    "squeezenet": (36, 36, 36, 10),
    "vgg": (15, 15, 13, 2),
    "dqn": (6, 6, 5, 2),
    "dcgan": (2, 2, 2, 8),
    "resnet": (3, 3, 3, 40),
    "mobilenet": (3, 3, 3, 56),
}


def merge(table: Any) -> Any:
    return transform.MergeComposite(table)


def regions(mod: Any) -> int:
    return sum("Compiler" in function.attrs for function in mod.functions.values())


@pytest.mark.parametrize("network", REGIONS)
def test_regions_equal_those_of_tvm(network: str) -> None:
    small = {"image_shape": (3, 32, 32)} if network == "vgg" else {}  # has 130 million weights
    mod, _ = getattr(relay.testing, network).get_workload(1, **small)
    found = []
    for begin in FLOWS.values():
        annotate, join = transform.AnnotateTarget("dnnl"), transform.MergeCompilerRegions()
        with tvm.transform.PassContext(opt_level=3):
            steps = [*begin(), annotate, join, transform.PartitionGraph()]
            found.append(regions(tvm.transform.Sequential(steps)(mod)))
    assert tuple(found) == REGIONS[network]


def test_supported_operators_equal_those_of_tvm() -> None:
    names = [
        name for name in tvm.ir.Op.list_op_names() if tvm.ir.Op.get(name).get_attr("target.dnnl")
    ]
    assert sorted(names) == sorted(DNNL_OPERATORS)


def test_passes_of_byoc_lab_offload_more_than_tvm() -> None:
    mod, _ = byoc_lab.relay.testing.mlp.get_workload(1)
    assert regions(byoc_lab.backends.partition(mod, "dnnl")) == 1
    assert byoc_lab.backends.get("dnnl").supports.keys() > set(DNNL_OPERATORS)
    table = byoc_lab.relay.op.contrib.get_pattern_table("dnnl")
    assert str(dict(e[:2] for e in table)["dnnl.dense_bias"]).count("nn.bias_add") == 1
    table = contrib.get_pattern_table("dnnl")
    assert "nn.bias_add" not in str(dict(e[:2] for e in table)["dnnl.dense_bias"])


def test_operator_and_table_registered_by_a_script_are_used() -> None:
    """An operator that only byoc_lab offloads, and a table registered as "dnnl"."""
    mod = tvm.IRModule.from_expr(
        relay.nn.bias_add(relay.var("x", shape=(2, 3)), relay.var("b", shape=(3,)))
    )
    annotate = tvm.transform.Sequential([transform.InferType(), transform.AnnotateTarget("dnnl")])
    op = tvm.ir.Op.get("nn.bias_add")
    try:
        assert 'compiler="dnnl"' not in str(annotate(mod))
        tvm.ir.register_op_attr("nn.bias_add", "target.dnnl", lambda call: True)
        assert 'compiler="dnnl"' in str(annotate(mod))
        contrib.register_pattern_table("dnnl", own_table)
        assert [e[0] for e in contrib.get_pattern_table("dnnl")] == ["dnnl.dense_relu"]
    finally:
        op.reset_attr("target.dnnl")
        contrib.register_pattern_table("dnnl", byoc_lab.dnnl.pattern_table)
