"""ONNX models of a few nodes whose operators, inputs and attributes do not fit together."""

from __future__ import annotations

import random as _random
from typing import Any

import numpy as np

from byoc_lab.importers.onnx import from_onnx
from tests.fuzz.examine import Steps, limited

SHAPES = [(), (0,), (1,), (2,), (10,), (2, 2), (1, 3, 8, 8), (3, 3, 1, 1), (4, 3, 3, 3)]
INPUTS = [[1, 3, 8, 8], [1, 3, 8, 8], [2, 3], [], ["n", 3, 8, 8], [0, 3], [10**6, 10**6, 3], [-1]]
FLOATS = [0, 1, -1, 0.5, float("nan"), 1e38, float("inf")]
INTEGERS = [0, 1, -1, 2, 3, 2**31, -(2**63), 2**62]
ATTRIBUTES: list[Any] = [*INTEGERS, 10**9, 1.5, float("nan"), b"x", b"\xff", "SAME_UPPER", "VALID"]
ATTRIBUTES += ["nearest", "linear", "constant", [1, 1], [2, 2], [-1, -1], [0], [10**9], [1.0]]
ATTRIBUTES += [[1, 1, 1, 1], [2**40] * 4, ["a"]]
OPSETS = [1, 7, 9, 11, 13, 17, 21]


def make(random: _random.Random) -> bytes:
    from onnx import TensorProto, defs, helper, numpy_helper

    operators = sorted({s.name for s in defs.get_all_schemas() if s.domain == ""})
    values, nodes, initializers = ["x", "y"], [], []
    for n in range(random.choice([1, 1, 2, 4])):
        schema = defs.get_schema(random.choice(operators))
        inputs = []
        for _ in range(random.choice([schema.min_input, min(schema.max_input, 5), 1, 2, 3])):
            if random.random() < 0.4:
                name = f"weight_{len(initializers)}"
                initializers.append(numpy_helper.from_array(_array(random), name))
                inputs.append(name)
            else:
                inputs.append(random.choice([*values, *values, ""]))
        names = sorted(schema.attributes)
        chosen = random.sample(names, min(len(names), random.choice([0, 0, 1, 2, 3])))
        attributes = {name: random.choice(ATTRIBUTES) for name in chosen}
        outputs = [f"out_{n}_{k}" for k in range(random.choice([1, 1, 1, 2, 3]))]
        nodes.append(helper.make_node(schema.name, inputs, outputs, **attributes))
        values += outputs
    kinds = [TensorProto.FLOAT] * 3 + [TensorProto.INT64, TensorProto.INT8, TensorProto.BOOL]
    given = [
        helper.make_tensor_value_info("x", random.choice(kinds), random.choice(INPUTS)),
        helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 3, 8, 8]),
    ]
    results = [helper.make_tensor_value_info(o, TensorProto.FLOAT, None) for o in nodes[-1].output]
    graph = helper.make_graph(nodes, "net", given, results, initializers)
    opset = helper.make_opsetid("", random.choice(OPSETS))
    return helper.make_model(graph, opset_imports=[opset]).SerializeToString()


def examine(data: bytes) -> int:
    steps = Steps()
    with limited():
        found = steps.do(from_onnx, data)
        if found is not None:
            steps.do(found[0].astext)
    return steps.done


def _array(random: _random.Random) -> np.ndarray:
    shape = random.choice(SHAPES)
    if random.random() < 0.5:
        return np.full(shape, random.choice(INTEGERS), np.int64)
    return np.full(shape, random.choice(FLOATS), np.float32)
