"""quantize and dequantize compared with ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.errors import BuildError
from byoc_lab.relay import IRModule
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.relay.typing.infer import infer_module
from tests.relay.op.onnx_runs import f32, i32, integers, run, run_onnx


def test_quantize_rounds_halves_away_from_zero_and_saturates() -> None:
    x = np.array([-200, -1.25, -0.75, 0, 0.25, 0.75, 200, np.inf, -1e30], np.float32)
    found = run(lambda v: qnn.quantize(v, f32(0.5), i32(1)), x)
    assert found.tolist() == [-128, -2, -1, 1, 2, 3, 127, 127, -128]


@pytest.mark.parametrize("dtype", ["int8", "uint8"])
def test_dequantize_agrees_with_onnxruntime(dtype) -> None:
    x = integers(2, 3, 4, dtype=dtype)
    scale, zero = np.array([0.1, 0.02, 0.3], np.float32), np.array([3, 0, 5])
    found = run(lambda v: qnn.dequantize(v, f32(*scale), i32(*zero), axis=1), x)
    wanted = run_onnx("DequantizeLinear", x, scale, zero.astype(dtype), axis=1)
    np.testing.assert_array_equal(found, wanted)


f = relay.var("f", shape=(2, 3))


def test_build_with_scales_that_are_not_constants_raises_build_error() -> None:
    pytest.importorskip("tvm")
    from byoc_lab.run.to_relax import to_relax

    scale = relay.var("scale", shape=(), dtype="float32")
    function = relay.Function([f, scale], qnn.quantize(f, scale, i32(0)))
    main = infer_module(IRModule.from_expr(function))["main"]
    with pytest.raises(BuildError, match="requires a constant output_scale"):
        to_relax(main)
