"""Calls print as in TVM 0.16."""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.relay import image, nn
from byoc_lab.relay.qnn import op as qnn
from tests.relay.op.test_builders import text


def var(name: str, *shape: int, dtype: str = "float32") -> relay.Var:
    return relay.var(name, shape=shape, dtype=dtype)


w = relay.var("w")


x, m = var("x", 1, 4, 8, 8), var("m", 3, 4)


line, cube = var("line", 1, 4, 9), var("cube", 1, 4, 9, 8, 7)


i = var("i", 2, dtype="int32")


half, three = relay.const(0.5), relay.const(3)


# What TVM 0.16 prints for the same calls.
PRINTED = [
    (
        nn.conv1d(line, w, channels=6, kernel_size=3, padding=1),
        "nn.conv1d(%line, %w, padding=[1, 1], channels=6, kernel_size=[3])",
    ),
    (nn.conv1d(line, w), "nn.conv1d(%line, %w)"),
    (
        nn.conv3d(cube, w, channels=6, kernel_size=3, padding=(1, 0, 1)),
        "nn.conv3d(%cube, %w, padding=[1, 0, 1, 1, 0, 1], channels=6, kernel_size=[3, 3, 3])",
    ),
    (
        nn.conv2d_transpose(
            x, w, channels=6, kernel_size=(3, 3), strides=(2, 2), output_padding=(1, 1)
        ),
        "nn.conv2d_transpose(%x, %w, channels=6, kernel_size=[3, 3], strides=[2, 2], "
        "output_padding=[1, 1], padding=[0, 0, 0, 0])",
    ),
    (
        nn.conv1d_transpose(line, w, channels=6, kernel_size=(3,)),
        "nn.conv1d_transpose(%line, %w, channels=6, kernel_size=[3])",
    ),
    (
        nn.conv3d_transpose(cube, w, channels=6, kernel_size=3, strides=2),
        "nn.conv3d_transpose(%cube, %w, channels=6, kernel_size=[3, 3, 3], strides=[2, 2, 2], "
        "padding=[0, 0, 0, 0, 0, 0])",
    ),
    (
        nn.max_pool1d(line, 3, 2, padding=1),
        "nn.max_pool1d(%line, pool_size=[3], strides=[2], padding=[1, 1])",
    ),
    (nn.adaptive_avg_pool1d(line, 3), "nn.adaptive_avg_pool1d(%line, output_size=[3])"),
    (nn.adaptive_max_pool2d(x), "nn.adaptive_max_pool2d(%x, output_size=None)"),
    (nn.global_avg_pool1d(line), "nn.adaptive_avg_pool1d(%line, output_size=[1])"),
    (
        relay.strided_slice(x, [0, 1], [1, 3]),
        "strided_slice(%x, begin=[0, 1], end=[1, 3], strides=[1], axes=None)",
    ),
    (
        relay.strided_slice(x, [0, -1], [1, -4], strides=[1, -1], axes=[0, 3]),
        "strided_slice(%x, begin=[0, -1], end=[1, -4], strides=[1, -1], axes=[0, 3])",
    ),
    (relay.stack([m, m], 1), "stack(%0, axis=1)"),
    (relay.take(m, i, axis=1), "take(%m, %i, axis=1)"),
    (relay.take(m, i, 0, mode="wrap"), 'take(%m, %i, axis=0, mode="wrap")'),
    (relay.gather(m, 1, i), "gather(%m, %i, axis=1)"),
    (
        relay.one_hot(i, half, half, 4, -1, "float32"),
        'one_hot(%i, 0.5f, 0.5f, depth=4, dtype="float32")',
    ),
    (relay.full_like(m, half), "full_like(%m, 0.5f)"),
    (relay.broadcast_to(m, (2, 3, 4)), "broadcast_to(%m, shape=[2, 3, 4])"),
    (relay.argmax(m, 1), "argmax(%m, axis=[1])"),
    (
        relay.argmax(m, keepdims=True, select_last_index=True),
        "argmax(%m, keepdims=True, select_last_index=True)",
    ),
    (
        relay.argmin(m, (0, 1), True, True, True),
        "argmin(%m, axis=[0, 1], keepdims=True, select_last_index=True, exclude=True)",
    ),
    (relay.topk(m, 2).astuple(), 'topk(%m, k=2, dtype="int32")'),
    (relay.argsort(m), 'argsort(%m, dtype="int32")'),
    (relay.sort(m), "sort(%m)"),
    (relay.cumsum(m, 1), "cumsum(%m, axis=1, exclusive=None)"),
    (
        image.resize2d(x, (4, 5)),
        'image.resize2d(%x, size=[4, 5], roi=[0f, 0f, 0f, 0f], rounding_method="")',
    ),
    (
        image.resize2d(x, relay.const([4, 5]), None, "NHWC", "nearest_neighbor"),
        'image.resize2d(%x, size=[4, 5], roi=[0f, 0f, 0f, 0f], layout="NHWC", '
        'method="nearest_neighbor", rounding_method="")',
    ),
    (nn.upsampling(x, 2, 2), "nn.upsampling(%x, scale_h=2f, scale_w=2f)"),
    (nn.matmul(m, w), "nn.matmul(%m, %w, units=None)"),
    (nn.matmul(m, w, 5, transpose_b=True), "nn.dense(%m, %w, units=5)"),
    (nn.space_to_depth(x, 2), 'nn.space_to_depth(%x, block_size=2, mode="")'),
    (qnn.quantize(m, half, three), 'qnn.quantize(%m, 0.5f, 3, out_dtype="int8")'),
    (qnn.dequantize(m, half, three), 'qnn.dequantize(%m, 0.5f, 3, out_dtype="float32")'),
    (
        qnn.requantize(m, half, three, half, three, axis=1, rounding="UPWARD"),
        'qnn.requantize(%m, 0.5f, 3, 0.5f, 3, axis=1, rounding="UPWARD", out_dtype="int8")',
    ),
    (
        qnn.conv2d(x, w, three, three, half, half, (3, 3), 6, padding=(1, 1)),
        "qnn.conv2d(%x, %w, 3, 3, 0.5f, 0.5f, padding=[1, 1, 1, 1], channels=6, "
        'kernel_size=[3, 3], out_dtype="int32")',
    ),
    (
        qnn.dense(m, w, three, three, half, half, 7),
        'qnn.dense(%m, %w, 3, 3, 0.5f, 0.5f, units=7, out_dtype="int32")',
    ),
]


@pytest.mark.parametrize(
    ("call", "printed"), PRINTED, ids=[p[1].partition("(")[0] for p in PRINTED]
)
def test_call_prints_as_in_tvm(call: relay.Expr, printed: str) -> None:
    assert text(call) == printed
