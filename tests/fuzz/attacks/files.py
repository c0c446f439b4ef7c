"""Damaged files of every format: none runs code, takes a long time, or needs much memory."""

from __future__ import annotations

import io
import json
import logging
import random as _random
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

import byoc_lab
from byoc_lab import importers, relay
from byoc_lab.commands.shared import read_arrays
from byoc_lab.compat.ir.ir import load_json, save_json
from byoc_lab.compat.runtime.params import load_param_dict, save_param_dict
from tests.fuzz.examine import Steps, limited

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2), float32]) {
  %0 = nn.relu(add(%x, meta[relay.Constant][0]));
  let %y = exp(%0) /* "é" */;
  %y
}
"""


TEXT_ALONE = "def @main(%x: Tensor[(1, 2), float32]) { exp(%x) }"


def make(random: _random.Random) -> bytes:
    """The name of a format, a newline, and a damaged file of it."""
    kind = random.choice(sorted(_samples()))
    data = bytearray(_samples()[kind])
    for _ in range(random.choice([1, 1, 2, 3, 8])):
        _damage(data, random)
    return kind.encode() + b"\n" + bytes(data)


def examine(data: bytes) -> int:
    kind, _, content = data.partition(b"\n")
    steps = Steps()
    logging.getLogger("torch").setLevel(logging.CRITICAL)  # logs each refused file
    with limited(), tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"file.{kind.decode()}")
        path.write_bytes(content)
        steps.do(_READERS[kind.decode()], path)
    return steps.done


def _damage(data: bytearray, random: _random.Random) -> None:
    at = random.randrange(len(data) + 1)
    match random.randrange(5):
        case 0:
            data[at : at + 1] = bytes([random.randrange(256)])
        case 1:
            data[at : at + random.choice([1, 4, 30])] = b""
        case 2:
            data[at:at] = data[at : at + random.choice([1, 8, 100])]
        case 3:
            data[at : at + 4] = random.choice([b"\xff\xff\xff\x7f", b"\0\0\0\0", b"9999", b"-1e9"])
        case _:
            other = random.randrange(len(data) + 1)
            data[at : at + 8] = data[other : other + 8]


@cache
def _samples() -> dict[str, bytes]:
    constant = relay.const(np.float32([[1, 2]]))
    mod = relay.parse(TEXT, init_meta_table={"relay.Constant": [constant]})
    with tempfile.TemporaryDirectory() as folder:
        trace = byoc_lab.trace(mod, "dnnl").save(Path(folder, "trace.byoc")).read_bytes()
    found = {
        "relay": mod.astext().encode(),
        "json": save_json(mod).encode(),
        "params": bytes(save_param_dict({"a": np.ones((2, 3), np.float32), "b": np.int8(1)})),
        "byoc": trace,
    }
    arrays = io.BytesIO()
    np.savez_compressed(arrays, x=np.ones((2, 3), np.float32), y=np.int8(1))
    found["npz"] = arrays.getvalue()
    found["jsonl"] = _recording()
    if find_spec("onnx"):
        found["onnx"] = _onnx_model()
    if find_spec("torch"):
        found["pt2"] = _pytorch_program()
    return found


def _recording() -> bytes:
    lines = [
        {"format": "byoc_lab recording", "version": 2, "tvm": "0.16.0"},
        {"event": "context", "opt_level": 3},
        {"event": "begin", "pass": "SimplifyExpr", "time": 1.0, "module": TEXT_ALONE},
        {"event": "end", "time": 2.0, "module": TEXT_ALONE.replace("exp", "log")},
    ]
    return "\n".join(map(json.dumps, lines)).encode()


def _pytorch_program() -> bytes:
    import torch

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.ReLU()).eval()
        program = torch.export.export(model, (torch.ones(2, 4),))
        saved = io.BytesIO()
        torch.export.save(program, saved)
    return saved.getvalue()


def _onnx_model() -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    shape = [1, 3, 8, 8]
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, shape) for n in "xy")
    weight = numpy_helper.from_array(np.ones((3, 3, 1, 1), np.float32), "w")
    nodes = [
        helper.make_node("Conv", ["x", "w"], ["c"], kernel_shape=[1, 1]),
        helper.make_node("LeakyRelu", ["c"], ["y"], alpha=0.1),
    ]
    graph = helper.make_graph(nodes, "net", [x], [y], [weight])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return model.SerializeToString()


def _read_trace(path: Path) -> str:
    trace = byoc_lab.load_trace(path)
    return str(trace) + trace.result.astext()


_READERS: dict[str, Callable[[Path], Any]] = {
    "relay": importers.load,
    "json": lambda path: load_json(path.read_bytes().decode(errors="replace")),
    "params": lambda path: load_param_dict(path.read_bytes()),
    "byoc": _read_trace,
    "onnx": importers.load,
    "pt2": importers.load,
    "npz": read_arrays,
    "jsonl": _read_trace,
}
