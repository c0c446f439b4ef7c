"""Convolution on blocked layouts compared with nn.conv2d."""

from __future__ import annotations

import numpy as np

import byoc_lab.compat  # noqa: F401 (defines operators)
from byoc_lab import relay
from byoc_lab.relay.testing import run_infer_type
from byoc_lab.run.reference import evaluate


def test_convolution_in_blocks_equals_the_plain_one() -> None:
    rng = np.random.default_rng(0)
    data, weight = rng.normal(size=(2, 8, 5, 5)), rng.normal(size=(4, 8, 3, 3))
    x, w = relay.const(data, "float64"), relay.const(weight, "float64")
    plain = relay.nn.conv2d(x, w, padding=(1, 1), strides=(2, 1))
    blocked = relay.nn.conv2d(
        relay.layout_transform(x, "NCHW", "NCHW4c"),
        relay.layout_transform(w, "OIHW", "OIHW4i2o"),
        padding=(1, 1), strides=(2, 1), data_layout="NCHW4c", kernel_layout="OIHW4i2o",
        out_layout="NCHW2c",
    )  # fmt: skip
    back = relay.layout_transform(blocked, "NCHW2c", "NCHW")
    np.testing.assert_allclose(evaluate(back).value, evaluate(plain).value)


def test_weight_type_in_blocks_is_inferred() -> None:
    x, w = relay.var("x", shape=(1, 8, 24, 24, 4, 4), dtype="int8"), relay.var("w")
    y = relay.nn.conv2d(
        x, w, kernel_size=(3, 3), padding=(1, 1), channels=16, data_layout="NCHW4n4c",
        kernel_layout="OIHW4o4i", out_dtype="int32",
    )  # fmt: skip
    typed = run_infer_type(y)
    assert str(typed.checked_type) == "Tensor[(1, 4, 24, 24, 4, 4), int32]"
    assert str(typed.args[1].checked_type) == "Tensor[(4, 8, 3, 3, 4, 4), int8]"
