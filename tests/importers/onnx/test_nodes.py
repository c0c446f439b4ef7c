"""The node tests of the onnx package: right results, or an error that names the operator.

The package (1.14.1) lies in the oracle's environment.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, numpy_helper

import byoc_lab
from byoc_lab.errors import UnsupportedOperatorError
from byoc_lab.importers.onnx import from_onnx

from .golden import package_data

FOLDER = package_data("node")
pytestmark = pytest.mark.skipif(FOLDER is None, reason="the data of onnx 1.14.1 is not installed")

AT_LEAST = 738  # TVM 0.16's own importer takes 743 of the 924, and 666 of them are right
ALL = 924
NAMES_ITS_NODE = re.compile(
    r"(node '.+'|the node that (computes '.+'|has no outputs)), operator \S+, opset \d+"
)

# To bfloat16 this release of the package cuts bits off, where later ones and Relay round.
TOLERANCES = {"float16": (1e-3, 1e-3), "bfloat16": (2**-7, 0.0)}


def names() -> list[str]:
    """Node tests; those of functions' expansions are of the same operators."""
    assert FOLDER is not None
    return sorted(p.name for p in FOLDER.iterdir() if "expanded" not in p.name)


def _tensor(path: Path, info: Any) -> Any:
    """A stored array; a list of them for a sequence; None for other values. bfloat16 is stored as
    uint16."""
    kind = info.type.WhichOneof("value")
    if kind == "sequence_type":
        sequence = onnx.SequenceProto()
        sequence.ParseFromString(path.read_bytes())
        return numpy_helper.to_list(sequence)
    if kind != "tensor_type":
        return None
    tensor = TensorProto()
    tensor.ParseFromString(path.read_bytes())
    if info.type.tensor_type.elem_type == TensorProto.BFLOAT16:
        tensor.data_type = TensorProto.BFLOAT16
    return numpy_helper.to_array(tensor)


def outcome(name: str) -> str:
    """The word "right", or "unsupported" for an error that names the node.

    An assertion fails for a wrong result.
    """
    assert FOLDER is not None
    folder = FOLDER / name
    model = onnx.load(str(folder / "model.onnx"))
    data = folder / "test_data_set_0"
    given = [_tensor(data / f"input_{i}.pb", v) for i, v in enumerate(model.graph.input)]
    wanted = [_tensor(data / f"output_{i}.pb", v) for i, v in enumerate(model.graph.output)]
    shapes = {
        v.name: a.shape
        for v, a in zip(model.graph.input, given, strict=True)
        if isinstance(a, np.ndarray)
    }
    for v in model.graph.input:  # some models declare another rank than their data has
        if v.name in shapes and len(v.type.tensor_type.shape.dim) != len(shapes[v.name]):
            v.type.tensor_type.ClearField("shape")
    try:
        mod, _ = from_onnx(model, shape=shapes)
    except UnsupportedOperatorError as error:
        message = str(error)
        assert NAMES_ITS_NODE.search(message), f"{name}: {message}"
        return "unsupported"
    found = byoc_lab.evaluate(mod, given).outputs
    flat = [a for w in wanted for a in (w if isinstance(w, list) else [w])]
    for ours, theirs in zip(found, flat, strict=True):
        assert ours.shape == theirs.shape and ours.dtype == theirs.dtype, name
        if theirs.dtype.kind in "biu":
            np.testing.assert_array_equal(ours, theirs, err_msg=name)
        else:
            rtol, atol = TOLERANCES.get(theirs.dtype.name, (1e-3, 1e-5))
            pair = (x.astype(np.float64) for x in (ours, theirs))
            np.testing.assert_allclose(*pair, rtol=rtol, atol=atol, err_msg=name)
    return "right"


def test_every_node_is_right_or_refused_by_name() -> None:
    counts = Counter(map(outcome, names()))
    assert counts.total() == ALL
    assert counts["right"] >= AT_LEAST, counts
