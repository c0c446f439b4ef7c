"""AlterOpLayout gives TVM 0.16's modules; values stay even if TVM changes them."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.relay import IRModule
from byoc_lab.run.reference import evaluate
from byoc_lab.transform import AlterOpLayout, InferType
from tests.parity.golden import golden_test
from tests.passes.layout.networks import calls, net

test_golden = golden_test("AlterOpLayout")

# Biases of a result in blocks, (1, 4, 6, 6, 4): some have one block for all, or one number per
# block, and cannot be converted from these blocks.
BLOCKED_BIASES = [
    (1, 4, 1, 1, 4), (4, 1, 1, 4), (1, 1, 1, 1, 4), (1, 1, 1, 4), (4,), (1, 4, 1, 1, 1),
]  # fmt: skip


def test_operator_without_a_layout_rule_can_be_altered() -> None:
    op = relay.op.get("nn.softmax")
    op.set_attr("FTVMAlterOpLayout", lambda attrs, args, *types: relay.nn.log_softmax(args[0]))
    try:
        after = AlterOpLayout()(net(relay.nn.softmax))
    finally:
        op.reset_attr("FTVMAlterOpLayout")
    assert after["main"].body.is_op("nn.log_softmax")


def test_blocked_variance_reads_its_mean_unconverted() -> None:
    """TVM 0.16 fills the mean's blocks of 1 with zeros, up to the data's blocks of 8."""

    def in_blocks(attrs, inputs, *types):
        return relay.nn.conv2d(*inputs, **{**attrs, "data_layout": "NCHW8c"})

    weight = relay.const(np.random.default_rng(0).normal(size=(8, 8, 3, 3)).astype("float32"))
    x = relay.var("x", shape=(1, 8, 6, 6))
    y = relay.nn.conv2d(x, weight, channels=8, kernel_size=(3, 3))
    mod = InferType()(IRModule.from_expr(relay.Function([x], relay.variance(y, axis=[1]))))
    op = relay.op.get("nn.conv2d")
    op.set_attr("FTVMAlterOpLayout", in_blocks)
    try:
        after = AlterOpLayout()(mod)
    finally:
        op.reset_attr("FTVMAlterOpLayout")
    assert [c.attrs.axis for c in calls(after, "variance")] == [(1, 4)]
    data = {"x": np.random.default_rng(1).normal(size=(1, 8, 6, 6)).astype("float32")}
    values = [evaluate(m, data, dtype="float64").value for m in (mod, after)]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-9)


@pytest.mark.parametrize(
    "wanted", [("NCHW", "OIHW"), ("NHWC", "HWIO"), ("NCHW2c", "OIHW2i2o"), ("NCHW8c", "OIHW8i8o")]
)
@pytest.mark.parametrize("shape", BLOCKED_BIASES, ids=str)
def test_bias_in_blocks_is_converted_only_if_possible(
    shape: tuple[int, ...], wanted: tuple[str, str]
) -> None:
    """If it is impossible, TVM 0.16's module is ill-typed or pads with zeros."""
    x, w = relay.var("x", shape=(1, 2, 6, 6, 4)), relay.var("w", shape=(4, 2, 3, 3, 4, 4))
    attrs = {"data_layout": "NCHW4c", "kernel_layout": "OIHW4i4o", "kernel_size": (3, 3)}
    y = relay.nn.conv2d(x, w, channels=16, padding=(1, 1), **attrs)
    b = relay.var("b", shape=shape)
    mod = InferType()(IRModule.from_expr(relay.Function([x, w, b], relay.nn.relu(relay.add(y, b)))))
    layouts = dict(zip(("data_layout", "kernel_layout"), wanted, strict=True))
    op = relay.op.get("nn.conv2d")
    op.set_attr(
        "FTVMAlterOpLayout",
        lambda attrs, args, *types: relay.nn.conv2d(*args, **{**attrs, **layouts}),
    )
    try:
        after = AlterOpLayout()(mod)
    finally:
        op.reset_attr("FTVMAlterOpLayout")
    assert [c.attrs.data_layout for c in calls(after, "nn.conv2d")] == [wanted[0]]
    rng = np.random.default_rng(0)
    data = [rng.standard_normal(p.checked_type.concrete_shape) for p in mod["main"].params]
    values = [evaluate(m, data, dtype="float64").value for m in (mod, after)]
    np.testing.assert_allclose(values[1], values[0], rtol=1e-9, atol=1e-9)
