"""Type errors of the quantized operators."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay import IRModule
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.relay.typing.infer import infer_module
from tests.relay.op.onnx_runs import f32, i32


def typed(call: relay.Expr) -> str:
    function = relay.Function(relay.analysis.free_vars(call), call)
    return str(infer_module(IRModule.from_expr(function))["main"].ret_type)


q = relay.var("q", shape=(1, 4, 8, 8), dtype="int8")


w = relay.var("w", shape=(6, 4, 3, 3), dtype="int8")


f = relay.var("f", shape=(2, 3))


REFUSED = [
    (lambda: qnn.quantize(q, f32(1.0), i32(0)), "data must be of float32, found int8"),
    (lambda: qnn.quantize(f, f32(1.0), i32(0), out_dtype="float32"), "result must be of int8"),
    (lambda: qnn.quantize(f, f32(1.0, 2.0), i32(0)), "scalar or a vector of 3, found"),
    (lambda: qnn.quantize(f, f32(1.0), f32(0.0)), "output_zero_point must be of int32"),
    (lambda: qnn.dequantize(f, f32(1.0), i32(0)), "data must be of int8.*found float32"),
    (
        lambda: qnn.requantize(q, f32(1.0), i32(0), f32(1.0, 2.0), i32(0)),
        "output_scale must be a scalar",
    ),
    (
        lambda: qnn.requantize(q, f32(1.0), i32(0), f32(1.0), i32(0), rounding="DOWN"),
        "rounding must be one of None, UPWARD, TONEAREST, TOEVEN, found 'DOWN'",
    ),
    (
        lambda: qnn.conv2d(q, w, i32(0), i32(0), f32(1.0), f32(1.0, 2.0), (3, 3), 6),
        "kernel_scale must be a scalar or a vector of 6",
    ),
    (
        lambda: qnn.conv2d(q, w, i32(0), i32(0), f32(1.0), f32(1.0), (3, 3), 8),
        "qnn.conv2d: weight must have channels=8 outputs, found 6",
    ),
    (lambda: qnn.add(q, f, *[f32(1.0), i32(0)] * 3), "lhs and rhs must have one dtype"),
    (
        lambda: qnn.concatenate([q, q], [f32(1.0)], [i32(0), i32(0)], f32(1.0), i32(0), 1),
        "input_scales must be a tuple of 2 scalars",
    ),
]


@pytest.mark.parametrize(("build", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refusal_states_the_fault(build, message) -> None:
    with pytest.raises(TypeInferenceError, match=f"(?s){message}"):
        typed(build())
