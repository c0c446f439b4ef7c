"""Malformed graphs and constants: each is refused with the names of the operation and the
tensor."""

from __future__ import annotations

import copy
import json
from functools import cache
from typing import Any

import pytest

from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.native import DnnlRegion
from tests.backends.dnnl.graph.net import RELU, Net, residual_net

pytestmark = pytest.mark.native

BIG = 2**31 - 1


@cache
def residual_graph() -> dict[str, Any]:
    net, output = residual_net()
    return {**net.graph, "outputs": [output]}


def edit(path: str, value: Any) -> str:
    """The residual network's JSON with the value at one path changed, such as "ops.0.kind"."""
    graph = copy.deepcopy(residual_graph())
    *parents, last = [int(key) if key.isdigit() else key for key in path.split(".")]
    place = graph
    for key in parents:
        place = place[key]
    if value is DELETE:
        del place[last]
    else:
        place[last] = value
    return json.dumps(graph)


DELETE = object()
MALFORMED = {
    "no JSON": ("hello", ValueError, "not JSON"),
    "nothing": ("", ValueError, "not JSON"),
    "cut off": (edit("version", 1)[:400], ValueError, "not JSON"),
    "a list": ("[]", TypeError, "graph: expected an object"),
    "deep": ("[" * 1_000_000, ValueError, "nest deeper"),
    "format": (edit("format", "onnx"), ValueError, "format: expected 'byoc_lab.dnnl.graph'"),
    "version": (edit("version", 2), ValueError, "version: expected 1, found 2"),
    "no version": (edit("version", DELETE), ValueError, "key 'version' is missing"),
    "unknown key": (edit("extra", 1), ValueError, "unknown key 'extra'"),
    "symbol": (edit("symbol", 5), TypeError, "symbol: expected a string"),
    "tensors": (edit("tensors", 5), TypeError, "tensors: expected a list"),
    "dtype": (edit("tensors.0.dtype", "int4"), TypeError, "tensor 0 'input_1': dtype: .*'int4'"),
    "dtypes": (edit("tensors.0.dtype", "int8"), TypeError, "weight .*expected dtype int8.*float32"),
    "size 0": (edit("tensors.0.shape", [1, 0]), ValueError, "input_1.*every dimension in"),
    "fraction": (edit("tensors.0.shape", [1.5]), TypeError, "input_1': shape: expected integers"),
    "overflow": (edit("tensors.0.shape", [BIG] * 4), ValueError, "input_1.*too large"),
    "wraps to 0": (
        edit("tensors.0.shape", [2**30, 2**30, 16, 1]),
        ValueError,
        "input_1.*too large",
    ),
    "huge size": (edit("tensors.0.shape", [2**63 - 1]), ValueError, "input_1.*every dimension in"),
    "input id": (edit("inputs", [99]), ValueError, "inputs: tensor id 99 is out of range"),
    "negative id": (edit("ops.0.inputs", [-1, 1]), ValueError, "conv2d_0.*id -1 is out of range"),
    "id type": (edit("ops.0.inputs", ["a", 1]), TypeError, "conv2d_0.*expected a tensor id"),
    "twice": (edit("inputs", [0, 0]), ValueError, "tensor 'input_1' is defined twice"),
    "redefined": (edit("ops.1.output", 3), ValueError, "conv2d_1.*'conv2d_0' is defined twice"),
    "cycle": (edit("ops.0.inputs", [6, 1, 2]), ValueError, "conv2d_0.*used before it is defined"),
    "own output": (edit("ops.0.inputs", [3, 1, 2]), ValueError, "'conv2d_0' is used before"),
    "no output": (edit("outputs", []), ValueError, "outputs: expected at least one"),
    "output id": (edit("outputs", [14]), ValueError, "outputs: tensor id 14 is out of range"),
    "kind": (edit("ops.0.kind", "conv9d"), ValueError, "op 0 'conv2d_0': unknown kind 'conv9d'"),
    "no name": (edit("ops.0.name", DELETE), ValueError, "op 0: key 'name' is missing"),
    "op key": (edit("ops.0.color", 1), ValueError, "op 0: unknown key 'color'"),
    "op is text": (edit("ops.0", "conv"), TypeError, "op 0: expected an object"),
    "operands": (edit("ops.0.inputs", [0]), ValueError, "conv2d_0.*expected inputs"),
    "attr": (edit("ops.0.attrs.pad", 1), ValueError, "conv2d_0.*unknown key 'pad'"),
    "attr type": (edit("ops.0.attrs.padding", 1), TypeError, "conv2d_0.*padding: expected a list"),
    "attr value": (edit("ops.0.attrs.groups", 0), ValueError, "conv2d_0.*groups: .*found 0"),
    "no attr": (edit("ops.2.attrs.pool_size", DELETE), ValueError, "'pool_size' is missing"),
    "shape": (edit("tensors.3.shape", [1, 20, 9, 9]), ValueError, "conv2d_0.*output .*expected"),
    "weight": (edit("tensors.1.shape", [20, 4, 3, 3]), ValueError, "weight .tensor 'constant_1'"),
    "view": (edit("tensors.9.shape", [1, 21]), ValueError, "reshape_4.*of 20 elements"),
    "post-op kind": (edit("ops.0.post_ops.0.kind", "conv"), ValueError, "post-op 0: unknown kind"),
    "alg": (edit("ops.0.post_ops.0.alg", "reul"), ValueError, "post-op 0: unknown alg 'reul'"),
    "alpha": (edit("ops.0.post_ops.0.alpha", "x"), TypeError, "post-op 0: alpha: expected a num"),
    "infinite": (edit("ops.0.post_ops.0.alpha", 1e99), ValueError, "post-op 0: alpha: .*finite"),
    "sum shape": (edit("ops.1.post_ops.0.input", 0), ValueError, "post-op 0: input .*'input_1'"),
    "sum of later": (edit("ops.1.post_ops.0.input", 7), ValueError, "post-op 0.*used before"),
    "sum key": (edit("ops.1.post_ops.0.alg", "add"), ValueError, "post-op 0: unknown key 'alg'"),
    "view's": (edit("ops.4.post_ops", [RELU]), ValueError, "reshape takes no post-ops"),
    "post_ops": (edit("ops.0.post_ops", {}), TypeError, "post_ops: expected a list"),
}


@pytest.mark.parametrize("case", MALFORMED)
def test_malformed_graph_is_refused(case) -> None:
    text, kind, message = MALFORMED[case]
    with pytest.raises(kind, match=message):
        native.function("create_graph")(text, [], False, "fixed")


def test_truncated_graph_is_refused() -> None:
    text = edit("version", 1)
    for length in range(0, len(text), 37):
        with pytest.raises((ValueError, TypeError)):
            native.function("create_graph")(text[:length], [], False, "fixed")


def test_wrong_constants_are_named_in_the_error() -> None:
    net, output = residual_net()
    net.graph["outputs"] = [output]
    constants = list(net.arrays["constants"])
    constants[2] = constants[2][:, :5]
    with pytest.raises(ValueError, match="constant 'constant_3': expected shape"):
        DnnlRegion(net.graph, constants)
    with pytest.raises(ValueError, match="expected 6 constants, found 2"):
        DnnlRegion(net.graph, constants[:2])
    with pytest.raises(TypeError, match=r"constant 0: .*found list"):
        DnnlRegion(net.graph, [[1.0], *constants[1:]])


def test_tensor_larger_than_memory_raises_memory_error() -> None:
    """The tensor fits the address space but no memory: an error, not a dead process."""
    net = Net()
    a, b = net.input(2**22, 1), net.input(1, 2**22)
    graph = net.graph
    graph["tensors"] += [
        {"name": name, "shape": [2**22, 2**22], "dtype": "float32"} for name in ("c", "d")
    ]
    attrs = {"alg": "add"}
    graph["ops"] = [
        {"name": "outer", "kind": "binary", "inputs": [a, b], "output": 2, "attrs": attrs},
        {"name": "again", "kind": "binary", "inputs": [2, 2], "output": 3, "attrs": attrs},
    ]
    graph["outputs"] = [3]
    with pytest.raises(MemoryError, match="cannot allocate"):
        DnnlRegion(graph)
