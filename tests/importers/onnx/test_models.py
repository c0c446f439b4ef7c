"""Networks built node by node: ONNX Runtime's results and TVM's modules."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest

import byoc_lab
from byoc_lab.importers.onnx import from_onnx

from .golden import FOLDER, REFUSED, shown_module
from .models import MODELS, random_input

# Models whose module differs from TVM's; docs/importers.md has the reasons. Each entry is a text
# that only byoc_lab's module contains.
DIFFERENT = {"attention": "nn.dense(", "quantize_dequantize": 'rounding="TOEVEN"'}


@pytest.mark.parametrize("name", MODELS)
def test_results_equal_onnxruntime(name: str) -> None:
    model = MODELS[name]()
    x = random_input(model)
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    mod, params = from_onnx(model)
    assert not params
    found = byoc_lab.evaluate(mod, [x]).outputs
    for ours, theirs in zip(found, session.run(None, {"x": x}), strict=True):
        assert ours.dtype == theirs.dtype
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", sorted(set(MODELS) - REFUSED))
def test_module_equals_tvm_or_differs_as_listed(name: str) -> None:
    ours = shown_module(from_onnx(MODELS[name]())[0])
    theirs = (FOLDER / f"{name}.relay").read_text(encoding="utf-8")
    if name in DIFFERENT:
        assert DIFFERENT[name] in ours and DIFFERENT[name] not in theirs
    else:
        assert ours == theirs


def test_detection_head_is_built_with_a_result_of_unknown_size() -> None:
    model = MODELS["detection"]()
    x = random_input(model)
    mod = byoc_lab.trace(from_onnx(model)[0], "dnnl").result
    assert "dyn.strided_slice" in str(mod)  # as many boxes as the suppression keeps
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (wanted,) = session.run(None, {"x": x})
    (found,) = byoc_lab.build(mod).run([x])
    np.testing.assert_array_equal(found, wanted)
