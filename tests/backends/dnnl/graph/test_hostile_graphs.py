"""Fuzzing: valid graphs and saved modules with a random change.

Each is refused with a typed error, or runs; nothing ends the process.
"""

from __future__ import annotations

import copy
import json
import math
from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.backends.dnnl import native
from tests.backends.dnnl.graph.net import RELU, Net, residual_net
from tests.backends.dnnl.graph.test_edges import OPERANDS
from tests.sweeps import some

pytestmark = pytest.mark.native
REFUSED = (ValueError, TypeError, MemoryError)
SMALL = 100_000  # elements; graphs with more are built but not run

HOSTILE: list[Any] = [
    *(-1, 0, 1, 2, 3, 4, 5, 7, 16, 63, 64, 65, 255, 256, 1000, 65536),
    *(2**31 - 2, 2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**62, 2**63 - 1, -(2**31), -(2**63)),
    *(2**63, 2**64, 2**64 + 1, 10**30, 0.5, 1e38, 1e39, 1e308, -0.0, math.inf, math.nan),
    *(None, True, False, "", "a", "x" * 5000, "relu", "linear", "conv2d", "\0", "\ud800", "1"),
    *([], [0], [1], [-1], [2**63], [1, 1], [0, 1, 2], [1] * 7, [1] * 100, {}, {"a": 1}, [[]]),
    *([2**31 - 1, 2**31 - 1], [2**20] * 4, [1, 3, 16, 16], [1, 20, 16, 16], [20]),
]


def seeds() -> list[dict[str, Any]]:
    """Graphs with every kind of operation and every kind of post-op."""
    net, output = residual_net()
    graphs = [{**net.graph, "outputs": [output]}]
    for kind, (shapes, attrs) in OPERANDS.items():
        net = Net()
        operands = [net.given("inputs" if n else "constants", *s) for n, s in enumerate(shapes)]
        chain = [RELU, {"kind": "binary", "alg": "mul", "input": net.const()}]
        net.graph["outputs"] = [net.op(kind, operands, chain, **attrs)]
        graphs.append(net.graph)
    net = Net()
    data = net.input(1, 4, 6, 6)
    pooled = net.op("avg_pool2d", [data], pool_size=[3, 3], padding=[1, 1, 1, 1], strides=[1, 1])
    turned = net.op("transpose", [pooled], axes=(0, 2, 3, 1))
    flat = net.op("reshape", [turned], shape=(36, 4))
    normal = net.op("log_softmax", [flat], [{"kind": "sum", "input": flat}], axis=-1)
    larger = net.op("resample2d", [data], size=[9, 12], alg="linear")
    least = net.op("reduce", [larger], alg="min", axis=2)
    net.graph["outputs"] = [normal, least, net.op("global_max_pool2d", [larger])]
    return [*graphs, net.graph]


SEEDS = seeds()


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every (container, key) inside a JSON value."""
    found: list[tuple[Any, Any]] = []
    todo = [value]
    while todo:
        node = todo.pop()
        keys = node if isinstance(node, dict) else range(len(node))
        for key in keys:
            found.append((node, key))
            if isinstance(node[key], dict | list):
                todo.append(node[key])
    return found


@st.composite
def mutated(draw) -> str:
    graph = copy.deepcopy(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(1, 3))):
        node, key = draw(st.sampled_from(places(graph)))
        action = draw(st.sampled_from(["replace", "replace", "nudge", "delete", "copy", "swap"]))
        others = places(graph)
        other, at = draw(st.sampled_from(others))
        if action == "replace":
            node[key] = copy.deepcopy(draw(st.sampled_from(HOSTILE)))
        elif action == "nudge" and type(node[key]) is int:
            node[key] += draw(st.sampled_from([-1, 1, 2]))
        elif action == "delete":
            del node[key]
        elif action == "copy":
            node[key] = copy.deepcopy(other[at])
        elif action == "swap":
            node[key], other[at] = copy.deepcopy(other[at]), copy.deepcopy(node[key])
        if not places(graph):
            break
    return json.dumps(graph)


def shapes_of(text: str, role: str) -> list[list[int]]:
    graph = json.loads(text)
    return [graph["tensors"][tensor]["shape"] for tensor in graph[role]]


def create(text: str) -> Any:
    """The module of an accepted graph, run once if the graph is small; None for a refused graph."""
    try:
        module = native.function("create_graph")(text, [], False, "fixed")
    except REFUSED:
        return None
    run(module, text)
    return module


def run(module: Any, text: str) -> None:
    tensors = json.loads(text)["tensors"]
    if sum(math.prod(tensor["shape"]) for tensor in tensors) > SMALL:
        return
    made = {
        role: [np.zeros(shape, np.float32) for shape in shapes_of(text, role)]
        for role in ("inputs", "constants", "outputs")
    }
    symbol = module["get_symbol"]()
    if module["get_const_vars"]():
        module["__init_" + symbol](made["constants"])
    module[symbol](*made["inputs"], *made["outputs"])
    assert json.loads(module["get_stats"]())["initialized"]
    for batch in (2, 5):
        shapes = [[batch, *shape[1:]] for shape in shapes_of(text, "inputs")]
        try:
            results = module["output_shapes"](shapes)
            outputs = [np.empty(tuple(shape), np.float32) for shape in results]
            module[symbol](*(np.zeros(shape, np.float32) for shape in shapes), *outputs)
        except REFUSED:
            pass


def test_unchanged_seed_graphs_are_accepted() -> None:
    for graph in SEEDS:
        assert create(json.dumps(graph)) is not None


@pytest.mark.slow
@given(mutated())
@settings(max_examples=some(2_000))
def test_changed_graph_is_refused_or_runs_without_a_crash(text: str) -> None:
    create(text)


@st.composite
def cut_up(draw, data: bytes) -> bytes:
    """Bytes with some parts overwritten, removed, duplicated or inserted."""
    changed = bytearray(data)
    # Lengths and the JSON are at the beginning: most of the changes are made there.
    position = st.one_of(st.integers(0, 23), st.integers(0, len(data) - 1))
    for _ in range(draw(st.integers(1, 4))):
        at, length = draw(position), draw(st.sampled_from([1, 4, 8, 100]))
        action = draw(st.sampled_from(["overwrite", "remove", "insert", "truncate", "number"]))
        if action == "overwrite":
            changed[at : at + 1] = bytes([draw(st.integers(0, 255))])
        elif action == "remove":
            del changed[at : at + length]
        elif action == "insert":
            changed[at:at] = draw(st.binary(min_size=1, max_size=16))
        elif action == "truncate":
            del changed[at:]
        else:
            value = draw(st.sampled_from([0, 1, 2**31, 2**32, 2**63 - 1, 2**63, 2**64 - 1]))
            changed[at : at + 8] = value.to_bytes(8, "little")
    return bytes(changed)


@cache
def saved() -> bytes:
    net, output = residual_net()
    text = json.dumps({**net.graph, "outputs": [output]})
    module = native.function("create_graph")(text, net.arrays["constants"], False, "fixed")
    return bytes(module["save_to_bytes"]())


def load(data: bytes) -> None:
    import tvm_ffi

    loader = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.byoc_lab_dnnl")
    try:
        module = loader(data)
    except REFUSED:
        return
    run(module, module.inspect_source())


def test_unchanged_saved_module_is_accepted_and_one_with_extra_bytes_refused() -> None:
    load(saved())
    import tvm_ffi

    loader = tvm_ffi.get_global_func("ffi.Module.load_from_bytes.byoc_lab_dnnl")
    with pytest.raises(ValueError, match="has 1 bytes behind its end"):
        loader(saved() + b"x")


@pytest.mark.slow
@given(st.data())
@settings(max_examples=some(3_000))
def test_changed_bytes_are_refused_or_run_without_a_crash(drawn: st.DataObject) -> None:
    load(drawn.draw(cut_up(saved())))
