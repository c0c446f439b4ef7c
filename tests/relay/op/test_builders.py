"""The functions that scripts call: TVM's signatures, defaults and normalisation."""

from __future__ import annotations

import re

import pytest

from byoc_lab import relay
from byoc_lab.errors import AttributeValueError
from byoc_lab.relay import nn
from byoc_lab.relay.op.contrib import (
    get_pattern_table,
    pattern_table_names,
    register_pattern_table,
)
from byoc_lab.relay.op.framework.namespace import namespace
from tests.relay.op.signatures import SIGNATURES, as_tvm


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature_is_that_of_tvm(name: str) -> None:
    function = relay
    for part in name.split("."):
        function = getattr(function, part)
    assert as_tvm(function, name) == SIGNATURES[name]


x = relay.var("x", shape=(1, 4, 8, 8))


def text(call: relay.Expr) -> str:
    """The last line of the call's text, without types: the call itself."""
    line = call.astext(show_meta_data=False).strip().splitlines()[-1].strip()
    return re.sub(r" /\* ty=[^*]* \*/", "", line)


# What TVM 0.16 prints for the same calls.
PRINTED = [
    (
        nn.conv2d(x, relay.var("w"), channels=4, kernel_size=3),
        "nn.conv2d(%x, %w, padding=[0, 0, 0, 0], channels=4, kernel_size=[3, 3])",
    ),
    (
        nn.conv2d(x, relay.var("w"), padding=(1, 2), strides=2),
        "nn.conv2d(%x, %w, strides=[2, 2], padding=[1, 2, 1, 2])",
    ),
    (nn.max_pool2d(x), "nn.max_pool2d(%x, pool_size=[1, 1], padding=[0, 0, 0, 0])"),
    (
        nn.avg_pool2d(x, 3, 2, padding=1),
        "nn.avg_pool2d(%x, pool_size=[3, 3], strides=[2, 2], padding=[1, 1, 1, 1])",
    ),
    (nn.leaky_relu(x), "nn.leaky_relu(%x, alpha=0.01f)"),
    (nn.dense(x, relay.var("w")), "nn.dense(%x, %w, units=None)"),
    (nn.l2_normalize(x, 1e-3, [1]), "nn.l2_normalize(%x, eps=0.001f, axis=[1])"),
    (
        nn.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))),
        "nn.pad(%x, 0, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]])",
    ),
    (nn.batch_matmul(x, x), "nn.batch_matmul(%x, %x, transpose_b=True)"),
    (relay.cast(x, "int8"), 'cast(%x, dtype="int8")'),
    (relay.clip(x, 0, 6), "clip(%x, a_min=0f, a_max=6f)"),
    (relay.transpose(x), "transpose(%x, axes=None)"),
    (relay.squeeze(x, 0), "squeeze(%x, axis=[0])"),
    (relay.split(x, 2, 1).astuple(), "split(%x, indices_or_sections=2, axis=1)"),
    (relay.split(x, (2, 3), 1).astuple(), "split(%x, indices_or_sections=[2, 3], axis=1)"),
    (relay.zeros((1,), "float32"), 'zeros(shape=[1], dtype="float32")'),
    (relay.sum(x, 1), "sum(%x, axis=[1])"),
    (relay.concatenate([x, x], 0), "concatenate(%0)"),
    (relay.reshape(x, -1), "reshape(%x, newshape=[-1])"),
    (relay.repeat(x, 2, 0), "repeat(%x, repeats=2, axis=0)"),
]


@pytest.mark.parametrize(
    ("call", "printed"), PRINTED, ids=[p[1].partition("(")[0] for p in PRINTED]
)
def test_call_prints_as_in_tvm(call: relay.Expr, printed: str) -> None:
    assert text(call) == printed


def test_dropout_gives_its_first_result() -> None:
    call = nn.dropout(x, rate=0.3)
    assert isinstance(call, relay.TupleGetItem) and call.index == 0
    assert call.tuple_value.is_op("nn.dropout") and call.tuple_value.attrs.rate == 0.3


def test_several_results_come_as_a_wrapper() -> None:
    parts = relay.split(x, (1, 3), axis=1)
    assert parts.size == 3 and parts[0].tuple_value is parts[2].tuple_value
    vectors = [relay.var(n) for n in ("gamma", "beta", "mean", "variance")]
    assert nn.batch_norm(x, *vectors).size == 3


def test_variance_makes_the_mean_it_needs() -> None:
    call = relay.variance(x, axis=(2, 3))
    assert call.args[1].is_op("mean")
    assert call.args[1].attrs.keepdims and call.args[1].attrs.axis == (2, 3)
    mean = relay.var("m")
    assert relay.variance(x, 1, with_mean=mean).args[1] is mean


def test_wrong_arguments_are_named() -> None:
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


def test_a_list_of_results_is_joined_by_its_projections():
    """As in TVM; qnn.concatenate takes the tuple behind it, as it does there."""
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
