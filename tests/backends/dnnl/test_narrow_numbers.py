"""Quantized networks are one region: max pooling, concatenation and moves of 8-bit integers too."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl.operators import why_not
from byoc_lab.relay import nn
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run import evaluate
from tests.backends.dnnl.test_quantized import function, integers, number, zero

ENDS = (number(0.001), zero(), number(1.5), zero(3))


def convolution(data: Expr, inputs: int, dtype: str) -> Expr:
    weight = relay.const(integers(np.random.default_rng(inputs), "int8", 8, inputs, 3, 3))
    made = qnn.conv2d(
        data, weight, zero(3), zero(), number(1), number(1), kernel_size=(3, 3), channels=8,
        padding=(1, 1),
    )  # fmt: skip
    return qnn.requantize(made, *ENDS, axis=1, rounding="TOEVEN", out_dtype=dtype)


def network(dtype: str, layout: str) -> Expr:
    """Two branches of different depth are concatenated, then flattened for a dense layer."""
    x = relay.var("x", shape=(2, 3, 9, 10), dtype=dtype)
    made = convolution(x, 3, dtype)
    if layout == "NHWC":
        made = relay.transpose(made, (0, 2, 3, 1))
    made = nn.max_pool2d(
        made, pool_size=(3, 3), strides=(2, 2), padding=(1, 1, 0, 1), layout=layout
    )
    if layout == "NHWC":
        made = relay.transpose(made, (0, 3, 1, 2))
    made = relay.concatenate([convolution(made, 8, dtype), made], 1)
    made = nn.batch_flatten(relay.strided_slice(made, [0, 2, 0, 0], [2, 16, 4, 5]))
    weight = integers(np.random.default_rng(0), "int8", 5, 14 * 4 * 5)
    made = qnn.dense(made, relay.const(weight), zero(3), zero(), number(1), number(1), units=5)
    return qnn.requantize(made, *ENDS, axis=1, rounding="TOEVEN", out_dtype=dtype)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_network_of_integers_is_one_region_with_the_same_bits(dtype: str, layout: str) -> None:
    mod = relay.IRModule.from_expr(function(network(dtype, layout)))
    cut = dnnl.partition_for_dnnl(mod)
    assert not [n for n in post_order(cut["main"].body) if isinstance(n, Op)]
    ((name, region),) = [(gv, f) for gv, f in cut.functions.items() if "Compiler" in f.attrs]
    graph = dnnl.region_graph(region, "r").graph
    assert {"max_pool2d", "concat", "slice"} <= {op["kind"] for op in graph["ops"]}
    x = integers(np.random.default_rng(1), dtype, 2, 3, 9, 10)
    (wanted,) = evaluate(mod, [x]).outputs
    assert len(np.unique(wanted)) > 3, name
    (found,) = dnnl.compile_region(region, "r")(x)
    np.testing.assert_array_equal(found, wanted)


def refused(expr: Expr) -> Any:
    found = infer_expr(Function(relay.analysis.free_vars(expr), expr))
    assert isinstance(found, Function) and isinstance(found.body, Call)
    return why_not(found.body)


def test_poolings_of_integers_without_a_fast_kernel_are_refused() -> None:
    x = relay.var("x", shape=(1, 8, 9, 9), dtype="uint8")
    assert "plain loops for dilated windows of integers" in refused(
        nn.max_pool2d(x, pool_size=(2, 2), dilation=(2, 2))
    )
    assert "must be float32 or bfloat16" in refused(nn.avg_pool2d(x, pool_size=(2, 2)))
    assert refused(nn.max_pool2d(x, pool_size=(2, 2))) is None
    wide = relay.var("x", shape=(1, 8, 9, 9), dtype="int32")
    assert "must be float32 or bfloat16 or uint8 or int8" in refused(
        nn.max_pool2d(wide, pool_size=(2, 2))
    )
