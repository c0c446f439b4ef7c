"""ForwardFoldScaleAxis moves a scale before a convolution into its weight."""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab import relay
from byoc_lab.passes import ForwardFoldScaleAxis, InferType
from tests.passes.fold.scaled import check_folds, check_leaves, network


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_scale_before_a_convolution_is_folded(layout: str) -> None:
    check_folds(ForwardFoldScaleAxis(), network(before=True, layout=layout))


def test_scale_after_a_convolution_is_unchanged() -> None:
    check_leaves(ForwardFoldScaleAxis(), network(before=False))


@pytest.mark.parametrize("first", [True, False])
def test_scale_of_blocked_channels_may_be_either_operand(first: bool) -> None:
    """The scale has a lower rank than the scaled data."""
    x = relay.var("x", shape=(2, 4, 10, 2, 2))
    scale = relay.const(np.array([[1, 2], [3, 4]], "float32"))
    scaled = relay.multiply(scale, x) if first else relay.multiply(x, scale)
    weight = relay.const(np.ones((3, 3, 1, 2, 1, 2), "float32"))
    layouts = {"data_layout": "NHWC2c", "kernel_layout": "HWIO1i2o"}
    conv = relay.nn.conv2d(
        scaled, weight, channels=4, kernel_size=(3, 3), groups=4, padding=(1, 1), **layouts
    )
    mod = ForwardFoldScaleAxis()(InferType()(relay.IRModule.from_expr(conv)))
    assert mod["main"].body.args[0] is mod["main"].params[0]
