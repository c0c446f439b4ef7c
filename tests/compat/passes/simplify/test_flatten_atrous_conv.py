"""FlattenAtrousConv gives TVM 0.16's modules, except for paddings that TVM ignores."""

from __future__ import annotations

import numpy as np
import pytest

import byoc_lab as tvm
from byoc_lab import relay
from byoc_lab.compat.passes import FlattenAtrousConv
from byoc_lab.relay import Expr, IRModule
from byoc_lab.relay.analysis.queries import list_op_freqs
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.transform import InferType
from tests.parity import cases
from tests.parity.golden import golden_test
from tests.passes.checks import assert_same_values, random_inputs, replayed

test_golden = golden_test("FlattenAtrousConv")


def test_values_stay_and_events_cover_the_changes() -> None:
    changed = 0
    for function in cases.load("tidying.pieces", tvm, relay, np).functions.values():
        mod = infer_module(IRModule.from_expr(function))
        after = replayed(mod, FlattenAtrousConv())
        assert_same_values(mod, after, random_inputs(mod, 1, 9), rtol=1e-5)
        changed += after is not mod
    assert changed


def _atrous(paddings: list, crops: list, value: float = 0, **options: object) -> IRModule:
    x, w = relay.var("x", shape=(1, 5, 5, 4)), relay.var("w", shape=(3, 3, 4, 2))
    y = relay.nn.space_to_batch_nd(x, [2, 2], paddings, value)
    y = relay.nn.conv2d(
        y, w, kernel_size=(3, 3), channels=2, data_layout="NHWC", kernel_layout="HWIO", **options
    )
    body: Expr = relay.nn.batch_to_space_nd(y, [2, 2], crops)
    return InferType()(IRModule.from_expr(relay.Function([x, w], body)))


def test_flattened_convolution_has_the_padding_of_its_parts() -> None:
    """TVM uses the padding that keeps the size, whatever the parts have: (1, 1, 1, 2) for 5 x 5."""
    mod = _atrous([[0, 1], [0, 1]], [[0, 1], [0, 1]])
    flat = FlattenAtrousConv()(mod)
    assert "nn.space_to_batch_nd" not in list_op_freqs(flat)
    assert_same_values(mod, flat, random_inputs(mod), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "mod",
    [
        _atrous([[2, 3], [2, 3]], [[0, 0], [0, 0]], strides=(2, 2)),
        _atrous([[2, 3], [2, 3]], [[0, 1], [0, 1]], value=1.0),
        _atrous([[2, 3], [2, 3]], [[3, 0], [0, 1]]),
    ],
    ids=["strides", "another number", "cropped further"],
)
def test_other_convolutions_between_space_and_batch_are_left_alone(mod: IRModule) -> None:
    assert FlattenAtrousConv()(mod) is mod
