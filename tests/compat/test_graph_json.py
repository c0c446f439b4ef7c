"""The graph JSON of a module equals the one that TVM's graph executor gets, node for node."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings

import byoc_lab
from byoc_lab.compat import relay, tvm
from byoc_lab.compat.runtime.building import build, optimize
from byoc_lab.compat.runtime.graph_json import graph_of
from byoc_lab.errors import BuildError, InputError, UnknownNameError
from byoc_lab.passes import InferType, PassContext
from tests import image_strategies
from tests.parity import cases
from tests.parity.facts import graphs as graph_facts
from tests.parity.goldens.files import golden_path
from tests.sweeps import some

FACTS = json.loads(golden_path(graph_facts.GRAPHS).read_text(encoding="utf-8"))


def _of_case(name: str, level: int) -> dict[str, Any]:
    mod = cases.load(name, byoc_lab, byoc_lab.relay, np)
    with PassContext(opt_level=level, disabled_pass=graph_facts.LEFT_OUT):
        return graph_facts.brief(graph_of(optimize(mod)[0]).document())


@pytest.mark.parametrize("name", [name for name, graph in FACTS.items() if graph])
def test_graph_json_equals_that_of_tvm(name: str) -> None:
    case, _, level = name.rpartition(", level ")
    assert json.loads(json.dumps(_of_case(case, int(level)))) == FACTS[name]


@settings(max_examples=some(60))
@given(mod=image_strategies.modules())
def test_storage_is_not_reused_before_its_value_is_read(mod: Any) -> None:
    try:
        graph = graph_of(InferType()(mod)).document()
    except BuildError:
        return
    storage, rows = graph["attrs"]["storage_id"][1], graph["node_row_ptr"]
    sizes = [np.prod(shape) for shape in graph["attrs"]["shape"][1]]
    holds: dict[int, Any] = {}  # storage -> its current results: several after a reshape
    for n, node in enumerate(graph["nodes"]):
        read = [rows[at] + result for at, result, _ in node["inputs"]]
        assert all(entry in holds[storage[entry]] for entry in read)
        own = range(rows[n], rows[n + 1])
        if node.get("attrs", {}).get("func_name") == "__nop":
            assert storage[own[0]] == storage[read[0]] and sizes[own[0]] == sizes[read[0]]
            holds[storage[own[0]]].update(own)
        else:
            for entry in own:
                assert node["op"] != "null" or storage[entry] not in holds
                assert storage[entry] not in [storage[other] for other in read]
                holds[storage[entry]] = {entry}
    outputs = [rows[at] + result for at, result, _ in graph["heads"]]
    assert all(entry in holds[storage[entry]] for entry in outputs)
    inputs = [rows[at] for at in graph["arg_nodes"]]
    assert all(entry in holds[storage[entry]] for entry in inputs)  # they serve the next run, too


def test_region_nodes_name_their_compiler() -> None:
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    body = relay.nn.softmax(relay.nn.relu(relay.nn.dense(x, w)))
    mod = relay.op.contrib.dnnl.partition_for_dnnl(
        tvm.IRModule.from_expr(relay.Function([x, w], body))
    )
    built = build(mod, target="llvm", mod_name="mine")
    graph, library, params = built
    nodes = json.loads(graph)["nodes"]
    (region, *_) = [node for node in nodes if "Compiler" in node.get("attrs", {})]
    assert region["attrs"]["Compiler"] == "dnnl" and region["name"] in mod
    assert [node["name"] for node in nodes[:2]] == ["x", "w"]
    assert (library, params) == (built, {})


def _double() -> Any:
    y = relay.var("y", shape=(2,))
    return relay.Function([y], y + y)


@pytest.mark.parametrize(
    ("build_body", "what"),
    [
        (lambda c, x: relay.If(c, x, x + x), "cannot hold If"),
        (lambda c, x: relay.Call(_double(), [x]), "the call of a function"),
    ],
)
def test_graph_json_of_control_flow_raises_build_error_that_names_the_vm(
    build_body: Any, what: str
) -> None:
    c, x = relay.var("c", shape=(), dtype="bool"), relay.var("x", shape=(2,))
    mod = InferType()(tvm.IRModule.from_expr(relay.Function([c, x], build_body(c, x))))
    with pytest.raises(BuildError, match=f"{what}.*vm"):
        graph_of(mod)


def test_functions_of_the_graph_can_be_called() -> None:
    x, w = relay.var("x", shape=(2, 4)), relay.var("w", shape=(3, 4))
    body = relay.exp(relay.nn.relu(relay.nn.dense(x, w)))
    with PassContext(opt_level=4):
        built = build(tvm.IRModule.from_expr(relay.Function([x, w], body)), target="llvm")
    for name in (
        "fused_nn_dense_nn_relu_fast_exp",
        "tvmgen_default_fused_nn_dense_nn_relu_fast_exp",
    ):
        kernel = built.get_function(name)
        data, weight = np.eye(2, 4, dtype="float32"), np.ones((3, 4), "float32")
        result = tvm.nd.empty((2, 3))
        kernel(tvm.nd.array(data), weight, result)
        np.testing.assert_allclose(
            result.numpy(), np.exp(np.maximum(data @ weight.T, 0)), rtol=1e-5
        )
    with pytest.raises(InputError, match="takes 2 inputs and 1 arrays for its results, found 2"):
        kernel(data, weight)
    with pytest.raises(UnknownNameError, match="has no function 'fused_exp'; the graph's are"):
        built.get_function("fused_exp")


def test_unknown_shapes_raise_build_error() -> None:
    x = relay.var("x", shape=(relay.Any(), 2))
    mod = InferType()(tvm.IRModule.from_expr(relay.Function([x], relay.nn.relu(x))))
    with pytest.raises(BuildError, match="tensors of known shape"):
        graph_of(mod)
