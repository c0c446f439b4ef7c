"""Floating-point operations of networks, compared with published figures."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.relay import nn
from byoc_lab.relay.analysis.costs import (
    Cost,
    boundary_bytes,
    call_flops,
    cost,
    main_dtype,
    type_bytes,
)
from byoc_lab.relay.ir.dims.unknown import Any as AnyDim
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType, TupleType
from byoc_lab.relay.testing import mobilenet, resnet
from byoc_lab.relay.typing.infer import infer_module


@pytest.mark.parametrize(
    ("network", "macs"),
    [
        # MobileNets (Howard and others, 2017), table 8: 569 million multiply-adds.
        (lambda: mobilenet.get_workload(batch_size=1), 569e6),
        # Deep Residual Learning (He and others, 2015), table 1: 3.8 billion for 50 layers.
        (lambda: resnet.get_workload(batch_size=1, num_layers=50), 3.8e9),
    ],
)
def test_flops_of_networks_equal_published_figures(network, macs: float) -> None:
    found = cost(infer_module(network()[0])["main"])
    assert found.unknown == 0
    assert found.flops / 2 == pytest.approx(macs, rel=0.04)


def test_calls_with_unknown_cost_are_counted_separately() -> None:
    x = relay.var("x", TensorType((AnyDim(), 3), "float32"))
    y = relay.var("y", shape=(2, 3))
    mod = infer_module(IRModule.from_expr(Function([x, y], relay.Tuple([nn.relu(x), nn.relu(y)]))))
    assert cost(mod["main"]) == Cost(flops=6, calls=2, unknown=1)
    assert Cost(1, 2, 3) + Cost(10, 20, 30) == Cost(11, 22, 33)


def test_bytes_of_types_are_computed() -> None:
    ty = TupleType([TensorType((2, 3), "float16"), TupleType([TensorType((), "int64")])])
    assert type_bytes(ty) == 20
    assert type_bytes(TensorType((AnyDim(),), "float32")) is None
    x = relay.var("x", shape=(2, 3))
    assert boundary_bytes(infer_module(IRModule.from_expr(nn.relu(x)))["main"]) == 48


def test_main_dtype_is_the_dtype_of_the_costliest_call() -> None:
    x, w = relay.var("x", shape=(2, 3), dtype="int8"), relay.var("w", shape=(4, 3), dtype="int8")
    mod = infer_module(IRModule.from_expr(relay.cast(nn.dense(x, w, out_dtype="int32"), "float32")))
    assert main_dtype(mod["main"]) == "int8"
    assert main_dtype(infer_module(IRModule.from_expr(relay.copy(x)))["main"]) is None


def test_cost_of_a_call_whose_types_contradict_its_attributes_is_unknown() -> None:
    """A saved trace that was edited by hand may have such a call."""
    mod = relay.parse(
        "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {"
        "  nn.conv2d(%x, %w, channels=4, kernel_size=[3, 3]) }"
    )
    call = mod["main"].body
    wrong = call.with_type(call.checked_type, attrs=call.attrs.replace(data_layout="NHW"))
    assert call_flops(call) == 2 * 4 * 36 * 27
    assert call_flops(wrong) is None
