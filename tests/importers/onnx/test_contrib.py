"""ONNX Runtime's own operators (domain com.microsoft) give ONNX Runtime's results."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import byoc_lab
from byoc_lab.importers.onnx import from_onnx
from byoc_lab.importers.onnx.converters import MICROSOFT, supported

onnx = pytest.importorskip("onnx")
ort = pytest.importorskip("onnxruntime")
from onnx import TensorProto as T  # noqa: E402
from onnx import helper as h  # noqa: E402
from onnx import numpy_helper as nh  # noqa: E402

from .test_edges import PAGE, SPECIAL  # noqa: E402

Case = tuple[str, list[np.ndarray | None], dict[str, Any]]


def random(*shape: int) -> np.ndarray:
    return np.random.default_rng(sum(shape)).normal(size=shape).astype("float32")


def operand(lengths: tuple[int, ...], turned: int, batched: int) -> np.ndarray:
    """An operand that becomes an array with these dimensions."""
    x = random(*lengths)
    x = np.swapaxes(x, -1, -2) if turned else x
    return np.ascontiguousarray(np.moveaxis(x, -2, 0) if batched else x)


FLAGS = [(a, b, c, d) for a in (0, 1) for b in (0, 1) for c in (0, 1) for d in (0, 1)]
BATCHED: list[Case] = [
    (
        "FusedMatMul",
        [operand((2, 6, 3, 4), a, c), operand((2, 6, 4, 5), b, d)],
        {"transA": a, "transB": b, "transBatchA": c, "transBatchB": d},
    )
    for a, b, c, d in FLAGS
]
ROWS, SCALE, BIAS, MORE = random(2, 3, 8), random(8), random(8) + 1, random(8) - 1
SKIPPED = [random(2, 3, 8) + 1, random(1, 3, 8), random(3, 8)]
CASES: list[Case] = [
    *((op, [SPECIAL], {}) for op in ("FastGelu", "Gelu", "QuickGelu")),
    ("FastGelu", [ROWS, BIAS], {}),
    ("BiasGelu", [ROWS, BIAS], {}),
    ("BiasGelu", [SPECIAL, np.zeros(SPECIAL.size, "float32")], {}),
    ("QuickGelu", [ROWS], {"alpha": 0.7}),
    *BATCHED,
    ("FusedMatMul", [random(3, 4), random(5, 4)], {"transB": 1, "alpha": 0.5}),
    ("FusedMatMul", [random(4), random(5, 4)], {"transA": 1, "transB": 1}),
    ("FusedMatMul", [random(3, 4), random(4)], {"transB": 1}),
    ("TransposeMatMul", [random(2, 4, 3), random(5, 4)], {"transA": 1, "transB": 1}),
    *(("SkipLayerNormalization", [ROWS, skip, SCALE, BIAS], {}) for skip in SKIPPED),
    *(("SkipSimplifiedLayerNormalization", [ROWS, skip, SCALE], {}) for skip in SKIPPED),
    ("SkipLayerNormalization", [ROWS, SKIPPED[0], SCALE, None, MORE], {"epsilon": 0.01}),
    ("SkipSimplifiedLayerNormalization", [ROWS, SKIPPED[0], SCALE, MORE], {"epsilon": 0.01}),
    ("SimplifiedLayerNormalization", [ROWS, SCALE], {}),
    ("SimplifiedLayerNormalization", [ROWS, random(3, 8)], {"axis": 1}),
]


def model(case: Case, outputs: list[str]) -> Any:
    op, inputs, attributes = case
    names = [f"x{i}" if x is not None else "" for i, x in enumerate(inputs)]
    tensors = [
        nh.from_array(x, n) for n, x in zip(names[1:], inputs[1:], strict=True) if x is not None
    ]
    domain = "" if op == "SimplifiedLayerNormalization" else MICROSOFT
    graph = h.make_graph(
        [h.make_node(op, names, outputs, domain=domain, **attributes)], "net",
        [h.make_tensor_value_info("x0", T.FLOAT, inputs[0].shape)],
        [h.make_tensor_value_info(name, T.FLOAT, None) for name in outputs if name], tensors,
    )  # fmt: skip
    sets = [h.make_opsetid("", 17), h.make_opsetid(MICROSOFT, 1)]
    return h.make_model(graph, opset_imports=sets, ir_version=9)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("case", CASES, ids=lambda case: case[0])
def test_contrib_operators_equal_onnxruntime(case: Case) -> None:
    net = model(case, ["r", "", "", "s"] if case[0].startswith("Skip") else ["r"])
    feed = {"x0": case[1][0]}
    wanted = ort.InferenceSession(net.SerializeToString()).run(None, feed)
    found = byoc_lab.evaluate(from_onnx(net)[0], feed).outputs
    for ours, theirs in zip(found, wanted, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_transformer_block_of_contrib_operators_is_built_and_equals_onnxruntime() -> None:
    pytest.importorskip("tvm")
    nodes = [
        h.make_node("FusedMatMul", ["x", "x"], ["a"], domain=MICROSOFT, transB=1, alpha=0.25),
        h.make_node("Softmax", ["a"], ["b"], axis=-1),
        h.make_node("FusedMatMul", ["b", "x"], ["c"], domain=MICROSOFT),
        h.make_node("SkipLayerNormalization", ["x", "c", "s", "t"], ["d"], domain=MICROSOFT),
        h.make_node("FusedMatMul", ["d", "w"], ["e"], domain=MICROSOFT),
        h.make_node("BiasGelu", ["e", "t"], ["f"], domain=MICROSOFT),
        h.make_node("SkipLayerNormalization", ["d", "f", "s"], ["g"], domain=MICROSOFT),
    ]
    weights = {"s": SCALE, "t": BIAS, "w": random(8, 8)}
    graph = h.make_graph(
        nodes, "net", [h.make_tensor_value_info("x", T.FLOAT, [2, 3, 8])],
        [h.make_tensor_value_info("g", T.FLOAT, None)],
        [nh.from_array(x, name) for name, x in weights.items()],
    )  # fmt: skip
    sets = [h.make_opsetid("", 17), h.make_opsetid(MICROSOFT, 1)]
    net = h.make_model(graph, opset_imports=sets, ir_version=9)
    wanted = ort.InferenceSession(net.SerializeToString()).run(None, {"x": ROWS})
    found = byoc_lab.build(byoc_lab.trace(from_onnx(net)[0], "dnnl").result).run({"x": ROWS})
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4, atol=1e-5)


def test_page_lists_the_supported_contrib_operators() -> None:
    _, _, text = PAGE.read_text().partition("`com.microsoft`")
    names = re.findall(r"\b[A-Z]\w+", text[text.index(":") : text.index(".\n")])
    assert names == [n.split(".")[-1] for n in supported() if n.startswith(MICROSOFT)]
