"""`relax.explain`: the cause of each operator on the host, and changes that were tried."""

from __future__ import annotations

import json
from typing import Any

import pytest

from byoc_lab.backends import Refused
from byoc_lab.backends.dnnl import native
from byoc_lab.errors import ArgumentError
from byoc_lab.relax import backends, explain, partition_for_dnnl
from tests.plain_cells import plain

from .test_executable import two_regions
from .test_partition import module, symbol, var

relax = pytest.importorskip("tvm.relax")
op = relax.op
pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not native.available(), reason="the DNNL extension is not built"),
]


@pytest.mark.parametrize("cut", [False, True])
def test_each_operator_is_listed_once(cut: bool) -> None:
    mod = two_regions()
    found = explain(partition_for_dnnl(mod) if cut else mod)
    assert sorted(e.name for e in found.offloaded) == [
        "nn.conv2d", "nn.conv2d", "nn.gelu", "nn.relu",
    ]  # fmt: skip
    (left,) = found.host
    assert (left.name, left.cause) == ("cumsum", "no-pattern")
    assert left.reason == "DNNL has no counterpart of relax.cumsum"
    assert found.summary == "4 of 5 calls offloaded to dnnl, 1 on the host (1 no-pattern)"
    shown = json.loads(json.dumps(found.as_dict()))
    assert (shown["calls"][-1]["name"], shown["calls"][-1]["group"]) == ("cumsum", 0)
    assert [(g["call"], g["numbers"]) for g in shown["groups"]] == [("cumsum", [left.number])]
    assert found[left.call] is left
    row = (
        f"<td>1</td><td>cumsum ({left.number})</td><td>host</td><td>no-pattern: {left.reason}</td>"
    )
    assert row in plain(found._repr_html_())


def test_call_outside_of_a_dataflow_block_needs_a_pass() -> None:
    x = var("x", 1, 4, 9, 9)
    builder = relax.BlockBuilder()
    with builder.function("main", [x]):
        y = builder.emit(op.nn.relu(x))
        pooled = builder.emit(op.nn.max_pool2d(y, (3, 3), (2, 2), ceil_mode=True))
        builder.emit_func_output(pooled)
    relu, pool = explain(builder.get())
    assert relu.cause == "needs-pass" and "ConvertToDataflow" in relu.change
    assert pool.cause == "check" and "ceil_mode" in pool.reason and pool.change == ""


def test_sizes_that_are_not_known() -> None:
    n = symbol("n")

    def body(emit: Any, x: Any) -> Any:
        return emit(op.nn.softmax(emit(op.reshape(emit(op.nn.relu(x)), (n * 4, 6))), axis=0))

    found = explain(module([var("x", n, 4, 6)], body))
    assert [(e.name, e.cause) for e in found.host] == [
        ("reshape", "check"),
        ("nn.softmax", "check"),
    ]
    for e in found.host:
        assert e.change == ('give sizes with relax.transform.BindSymbolicVars({"n": size}) before')


def test_alike_calls_are_one_group() -> None:
    def body(emit: Any, x: Any) -> Any:
        return emit(op.erf(emit(op.erf(emit(op.nn.relu(x))))))

    found = explain(module([var("x", 2, 3)], body))
    (group,) = found.groups
    assert str(found).split("\n\n")[1:] == [str(group)]
    assert str(group).startswith(f"2 calls of erf not offloaded: {group[0].cause} (%")
    assert group.numbers == ", ".join(e.number for e in found.host)
    assert group.offloads == 0 and not group.change


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match=r"relax\.explain takes a module of TVM's Relax, found"):
        explain([])


def test_an_operand_of_a_refused_match_has_the_reason_of_the_check() -> None:
    dpl = relax.dpl
    product = dpl.is_op("relax.matmul")(dpl.wildcard(), dpl.wildcard())
    chain = dpl.is_op("relax.nn.relu")(product)
    refuse = lambda context: Refused("too small")  # noqa: E731
    backends.register("npu", patterns=[("npu.chain", chain, {}, refuse)])
    try:
        mod = module(
            [var("x", 4, 8), var("w", 8, 3)],
            lambda emit, x, w: emit(
                op.add(emit(op.nn.relu(emit(op.matmul(x, w)))), emit(op.matmul(x, w)))
            ),
        )
        found = explain(mod, "npu")
    finally:
        backends.unregister("npu")
    reasons = [(e.name, e.cause, e.reason) for e in found]
    assert reasons[0] == (
        "matmul", "check",
        "it is part of a match of npu.chain, whose check refuses: too small",
    )  # fmt: skip
    assert reasons[1][1:] == (
        "check",
        "the pattern matches, and the check of npu.chain refuses: too small",
    )
    assert reasons[2][:2] == ("matmul", "no-match")
