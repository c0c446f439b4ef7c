"""Selection and sorting compared with ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from tests.relay.op.onnx_runs import close, numbers, run, run_onnx

x34, where34 = numbers((3, 4), 0), np.array([[0, 3], [1, 1], [2, 0]])


CALLS = [  # our call, ONNX operator, its inputs, its attributes; our inputs are the float ones
    (lambda a: relay.reverse(a, 1), "Slice", [x34, [-1], [-9], [1], [-1]], {}),
    (
        lambda a: relay.strided_slice(a, [2, -3], [0, 4], [-1, 2]),
        "Slice",
        [x34, [2, -3], [0, 4], [0, 1], [-1, 2]],
        {},
    ),
    (lambda a: relay.tile(a, (2, 3)), "Tile", [x34, [2, 3]], {}),
    (lambda a: relay.cumsum(a, 1), "CumSum", [x34, 1], {}),
    (lambda a: relay.cumsum(a, 0, exclusive=True), "CumSum", [x34, 0], {"exclusive": 1}),
    (lambda a: relay.take(a, relay.const(where34), 1), "Gather", [x34, where34], {"axis": 1}),
    (
        lambda a: relay.gather(a, 1, relay.const(where34)),
        "GatherElements",
        [x34, where34],
        {"axis": 1},
    ),
    (lambda a: relay.gather_nd(a, relay.const(where34.T)), "GatherND", [x34, where34], {}),
    (lambda a: relay.topk(a, 2, 1, "values"), "TopK", [x34, [2]], {"results": 2}),
    (lambda a: relay.broadcast_to(a, (2, 3, 4)), "Expand", [x34, [2, 3, 4]], {}),
    (
        lambda a: relay.cast(relay.argmax(a, 1), "int64"),
        "ArgMax",
        [x34],
        {"axis": 1, "keepdims": 0},
    ),
    (
        lambda a: relay.cast(relay.argmin(a, 0, True), "int64"),
        "ArgMin",
        [x34],
        {"axis": 0, "keepdims": 1},
    ),
]


@pytest.mark.parametrize(("call", "op", "inputs", "attributes"), CALLS, ids=[c[1] for c in CALLS])
def test_selection_and_sorting_agree_with_onnxruntime(call, op, inputs, attributes) -> None:
    arrays = [np.asarray(i) for i in inputs]
    close(run(call, arrays[0]), run_onnx(op, *arrays, **attributes))
