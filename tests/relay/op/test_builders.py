"""The builders that scripts call: results, help, and messages for wrong arguments."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import AttributeValueError
from byoc_lab.relay import nn
from byoc_lab.relay.op.contrib import get_pattern_table, pattern_table_names, register_pattern_table
from byoc_lab.relay.op.framework.namespace import namespace

x = relay.var("x", shape=(1, 4, 8, 8))


def test_dropout_returns_its_first_result() -> None:
    call = nn.dropout(x, rate=0.3)
    assert isinstance(call, relay.TupleGetItem) and call.index == 0
    assert call.tuple_value.is_op("nn.dropout") and call.tuple_value.attrs.rate == 0.3


def test_several_results_are_returned_as_a_tuple_wrapper() -> None:
    parts = relay.split(x, (1, 3), axis=1)
    assert parts.size == 3 and parts[0].tuple_value is parts[2].tuple_value
    vectors = [relay.var(n) for n in ("gamma", "beta", "mean", "variance")]
    assert nn.batch_norm(x, *vectors).size == 3


def test_variance_computes_its_mean() -> None:
    call = relay.variance(x, axis=(2, 3))
    assert call.args[1].is_op("mean")
    assert call.args[1].attrs.keepdims and call.args[1].attrs.axis == (2, 3)
    mean = relay.var("m")
    assert relay.variance(x, 1, with_mean=mean).args[1] is mean


def test_wrong_builder_arguments_are_named() -> None:
    with pytest.raises(AttributeValueError, match="'strides' must be integers, found 'two'"):
        nn.conv2d(x, x, strides="two")
    with pytest.raises(TypeError, match="stride"):
        nn.conv2d(x, x, stride=2)
    with pytest.raises(TypeError, match=r"argument 'rhs' must be a Relay expression, found 1\.0"):
        relay.add(x, 1.0)


def test_every_builder_has_help() -> None:
    everything = {**namespace(), **namespace("nn."), **namespace("annotation.")}
    assert all((function.__doc__ or "").strip() for function in everything.values())
    assert "strides: step of the window" in nn.conv2d.__doc__


def test_pattern_tables_are_registered_by_compiler() -> None:
    @register_pattern_table("test_compiler")
    def table() -> list:
        return [("test_compiler.add", object())]

    assert [name for name, _ in get_pattern_table("test_compiler")] == ["test_compiler.add"]
    assert "test_compiler" in pattern_table_names()
    register_pattern_table("test_compiler", lambda: [])
    assert get_pattern_table("test_compiler") == []
    assert get_pattern_table("nobody") is None


def test_concatenate_of_a_list_of_results_takes_its_projections():
    """As in TVM; qnn.concatenate takes the underlying tuple, as there."""
    pieces = relay.split(relay.var("x", shape=(4, 2)), 2)
    for joined in (relay.concatenate(pieces, 0), relay.stack(pieces, 0)):
        (parts,) = joined.args
        assert [(p.tuple_value, p.index) for p in parts.fields] == [
            (pieces.astuple(), 0),
            (pieces.astuple(), 1),
        ]
    scale, zero = relay.const(1.0), relay.const(0)
    quantized = relay.qnn.op.concatenate(pieces, [scale] * 2, [zero] * 2, scale, zero, 0)
    assert quantized.args[0] is pieces.astuple()
