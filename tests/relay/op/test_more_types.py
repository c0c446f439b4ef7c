"""More type relations: what is solved, what results, what is refused.

Every row of SOLVED and RESULTS was run in TVM 0.16 and gave the same types. Of REFUSED, TVM lets
pass: a topk of more than there is, a padding that cuts everything off, an unknown method.
"""

from __future__ import annotations

import pytest

from byoc_lab import relay
from byoc_lab.errors import AttributeValueError, TypeInferenceError
from byoc_lab.relay import nn
from byoc_lab.relay.image import resize2d
from tests.relay.op.test_types import infer, q, tensor

i32 = "int32"

SOLVED = [  # build, first argument, what the second one is solved to, result
    (
        lambda x, w: nn.conv1d(x, w, channels=6, kernel_size=3, padding=1),
        (1, 4, 9),
        (6, 4, 3),
        (1, 6, 9),
    ),
    (
        lambda x, w: nn.conv3d(x, w, channels=6, kernel_size=3, padding=(1, 0, 1)),
        (1, 4, 9, 8, 7),
        (6, 4, 3, 3, 3),
        (1, 6, 9, 6, 7),
    ),
    (
        lambda x, w: nn.conv2d_transpose(
            x, w, channels=6, kernel_size=(3, 3), strides=(2, 2), output_padding=(1, 1)
        ),
        (1, 4, 8, 8),
        (4, 6, 3, 3),
        (1, 6, 18, 18),
    ),
    (
        lambda x, w: nn.conv2d_transpose(x, w, channels=6, kernel_size=(3, 3), strides=(2, 2)),
        (1, 4, q, 8),
        (4, 6, 3, 3),
        (1, 6, q, 17),
    ),
    (
        lambda x, w: nn.conv2d_transpose(x, w, channels=6, kernel_size=(3, 3), groups=2),
        (1, 4, 8, 8),
        (4, 3, 3, 3),
        (1, 6, 10, 10),
    ),
    (
        lambda x, w: nn.conv2d_transpose(x, w, channels=6, kernel_size=(3, 3), out_layout="NHWC"),
        (1, 4, 8, 8),
        (4, 6, 3, 3),
        (1, 10, 10, 6),
    ),
    (
        lambda x, w: nn.conv1d_transpose(x, w, channels=6, kernel_size=(3,), groups=2),
        (1, 4, 9),
        (4, 3, 3),
        (1, 6, 11),
    ),
    (
        lambda x, w: nn.conv3d_transpose(x, w, channels=6, kernel_size=3, strides=2),
        (1, 4, 9, 8, 7),
        (4, 6, 3, 3, 3),
        (1, 6, 19, 17, 15),
    ),
    (lambda x, w: nn.matmul(x, w, 5, transpose_a=True), (3, 4), (3, 5), (4, 5)),
]


@pytest.mark.parametrize(("build", "given", "solved", "result"), SOLVED)
def test_untyped_argument_is_solved(build, given, solved, result) -> None:
    assert infer(build, given, None) == ([tensor(*given), tensor(*solved)], tensor(*result))


def test_grouped_transposed_convolution_without_channels() -> None:
    """TVM 0.16 forgets the groups here and says 3 channels; it computes 6."""
    assert infer(lambda x, w: nn.conv2d_transpose(x, w, groups=2), (1, 4, 8, 8), (4, 3, 3, 3))[
        1
    ] == tensor(1, 6, 10, 10)


RESULTS = [  # build, arguments, result
    (lambda x: relay.strided_slice(x, [0], [1, 2]), [(3, 4)], tensor(1, 2)),
    (lambda x: nn.max_pool1d(x, 3, 2, padding=1), [(1, 4, 9)], tensor(1, 4, 5)),
    (lambda x: nn.avg_pool3d(x, 3, 2, padding=1), [(1, 4, 9, 8, 7)], tensor(1, 4, 5, 4, 4)),
    (lambda x: nn.max_pool2d(x, 2, out_layout="NHWC"), [(1, 4, 8, 8)], tensor(1, 4, 7, 7)),
    (lambda x: nn.adaptive_avg_pool2d(x, (3, 5)), [(1, 4, 8, q)], tensor(1, 4, 3, 5)),
    (nn.adaptive_max_pool2d, [(1, 4, 8, 8)], tensor(1, 4, 8, 8)),
    (lambda x: nn.adaptive_max_pool2d(x, (3,)), [(1, 4, 8, 8)], tensor(1, 4, 3, 3)),
    (nn.global_max_pool3d, [(1, 4, 9, 8, 7)], tensor(1, 4, 1, 1, 1)),
    (lambda x: relay.strided_slice(x, [0, 1], [2, 3]), [(q, 3, 4)], tensor(q, 2, 4)),
    (lambda x: relay.strided_slice(x, [1], [5], axes=[1]), [(q, 3, 4)], tensor(q, 2, 4)),
    (lambda x: relay.strided_slice(x, [100], [200]), [(4, 8)], tensor(0, 8)),
    (
        lambda x: relay.strided_slice(x, [0, 1], [1, -1], slice_mode="size"),
        [(1, 4, 8)],
        tensor(1, 3, 8),
    ),
    (relay.slice_like, [(4, 3), (2, 2)], tensor(2, 2)),
    (lambda x, i: relay.take(x, i), [(3, 4), ((2,), i32)], tensor(2)),
    (lambda x, i: relay.take(x, i, 0), [(3, 4), ((2,), i32)], tensor(2, 4)),
    (lambda x, i: relay.take(x, i, 1, 1), [(3, 4), ((3, 2), i32)], tensor(3, 2)),
    (relay.gather_nd, [(1, 4, 8, 8), ((2, 5), i32)], tensor(5, 8, 8)),
    (
        lambda x, i: relay.gather_nd(x, i, batch_dims=1),
        [(1, 4, 8, 8), ((2, 1, 5), i32)],
        tensor(1, 5, 8),
    ),
    (
        lambda i: relay.one_hot(i, relay.const(1.0), relay.const(0.0), 3, 0, "int8"),
        [((q, 5), i32)],
        tensor(3, q, 5, dtype="int8"),
    ),
    (lambda x, y: relay.stack([x, y], 0), [(q, 3), (2, 3)], tensor(2, q, 3)),
    (lambda x: relay.tile(x, (2,)), [(3, 4)], tensor(3, 8)),
    (lambda x: relay.tile(x, (2, 1)), [(q, 3)], tensor(q, 3)),
    (relay.where, [((q,), "bool"), (3, 4), (3, 4)], tensor(3, 4)),
    (relay.where, [((4,), i32), (3, 4), ()], tensor(3, 4)),
    (relay.all, [(3, 4)], "float32"),
    (relay.argmax, [(3, 4)], i32),
    (lambda x: relay.argmax(x, (0, 2)), [(2, 3, 4)], tensor(3, dtype=i32)),
    (relay.argsort, [(q, 4)], tensor(q, 4, dtype=i32)),
    (lambda x: relay.topk(x, 0, ret_type="values"), [(3, 4)], tensor(3, 4)),
    (lambda x: relay.cumsum(x, 1, "int32"), [(3, 4)], tensor(3, 4, dtype=i32)),
    (lambda x: relay.cumsum(x, dtype="float64"), [(3, 4)], tensor(12, dtype="float64")),
    (lambda: relay.arange(relay.const(0.0), relay.const(1.0), relay.const(0.3)), [], tensor(4)),
    (lambda x: relay.layout_transform(x, "NCHW", "NHWC"), [(q, 3, 4, 5)], tensor(q, 4, 5, 3)),
    (lambda x: relay.layout_transform(x, "NCHW", "NCHW2c"), [(1, 4, 8, 8)], tensor(1, 2, 8, 8, 2)),
    (lambda x: relay.layout_transform(x, "NCHW16c", "NCHW2c"), [(q,) * 5], tensor(q, q, q, q, 2)),
    (lambda x: nn.depth_to_space(x, 2), [(1, 4, q, 4)], tensor(1, 1, q, 8)),
    (lambda x: resize2d(x, (5, 6)), [(q, 3, 4, 4)], tensor(q, 3, 5, 6)),
    (lambda x: nn.upsampling(x, 1.3, 1.27), [(1, 4, 8, 8)], tensor(1, 4, 10, 10)),
    (lambda x, y: nn.matmul(x, y), [(q, 4), (4, 5)], tensor(q, 5)),
    (lambda x, y: nn.matmul(x, y, transpose_a=True), [(2, 4, 3), (4, 5)], tensor(2, 3, 5)),
    (relay.isnan, [(3, 4)], tensor(3, 4, dtype="bool")),
    (lambda x: relay.shape_of(x), [(1, 4, 8)], tensor(3, dtype=i32)),
]


@pytest.mark.parametrize(("build", "given", "result"), RESULTS, ids=range(len(RESULTS)))
def test_operator_has_the_expected_result_type(build, given, result) -> None:
    assert infer(build, *given)[1] == result


def resized(**attrs):
    return lambda x: resize2d(x, (4, 5), **attrs)


REFUSED = [  # build, arguments, what the message must say
    (lambda x, w: nn.conv1d(x, w), [(1, 4, 9), (6, 3, 3)], r"nn.conv1d: weight must have 4 input"),
    (lambda x, w: nn.conv1d(x, w), [(1, 4, 2), (6, 4, 3)], "covers 3 in width.*only 2"),
    (
        lambda x, w: nn.conv3d(x, w, strides=(1, 1)),
        [(1, 1, 3, 3, 3), (1, 1, 1, 1, 1)],
        r"strides must have 3 numbers, found \[1, 1\]",
    ),
    (
        lambda x, w: nn.conv2d_transpose(x, w),
        [(1, 4, 8, 8), (3, 6, 3, 3)],
        "weight must have 4 input channels.*found 3",
    ),
    (
        lambda x, w: nn.conv2d_transpose(x, w, channels=5, kernel_size=(3, 3), groups=2),
        [(1, 4, 8, 8), None],
        "channels=5 is not divisible by groups=2",
    ),
    (
        lambda x, w: nn.conv2d_transpose(x, w, padding=9),
        [(1, 4, 8, 8), (4, 6, 3, 3)],
        "more than the height of the result",
    ),
    (
        lambda x, w: nn.conv2d_transpose(x, w, kernel_layout="HWIX"),
        [(1, 4, 8, 8), (4, 6, 3, 3)],
        "permutation of IOHW",
    ),
    (
        lambda x, w: nn.conv2d_transpose(x, w, kernel_layout="HWIOo"),
        [(1, 4, 8, 8), (4, 6, 3, 3)],
        "'HWIOo' is not a layout such as",
    ),
    (lambda x: nn.adaptive_avg_pool2d(x, (1, 2, 3)), [(1, 4, 8, 8)], "1 or 2 numbers"),
    (lambda x: relay.strided_slice(x, [0], [1], [0]), [(3, 4)], "must not hold a 0"),
    (lambda x: relay.strided_slice(x, [0], [1], slice_mode="upto"), [(3,)], "found 'upto'"),
    (relay.slice_like, [(2, 2), (4, 2)], "axis 0 of .* is shorter"),
    (
        lambda x, i: relay.take(x, i, 2),
        [(3, 4), ((2,), i32)],
        r"\[-2, 2\) for 2 dimensions, found 2",
    ),
    (lambda x, i: relay.take(x, i, mode="near"), [(3,), ((2,), i32)], "found 'near'"),
    (lambda x, i: relay.take(x, i, 0, 1), [(3,), ((2,), i32)], "batch_dims=1 must be at most"),
    (lambda x, i: relay.gather(x, 1, i), [(3, 4), ((2, 4), i32)], "except on axis 1"),
    (relay.gather_nd, [(3,), ((2, 4), i32)], "name 2 axes"),
    (lambda x, y: relay.stack([x, y], 0), [(2, 3), (2, 4)], "field 1 .* must be like field 0"),
    (lambda x: relay.tile(x, (0, 1)), [(2, 3)], "reps must hold positive"),
    (lambda x: relay.reverse(x, 2), [(2, 3)], r"\[-2, 2\) for 2 dimensions, found 2"),
    (relay.where, [((2,), "bool"), (2,), ((2,), i32)], "x and y must have one dtype"),
    (lambda x: relay.broadcast_to(x, (4, 3)), [(2, 3)], "do not broadcast"),
    (lambda x: relay.broadcast_to(x, (3,)), [(2, 3)], "does not broadcast to"),
    (lambda x, v: relay.full_like(x, v), [(2,), (2,)], "must be a scalar"),
    (lambda: relay.arange(relay.const(0), relay.const(1), relay.const(0)), [], "must not be 0"),
    (lambda x: relay.topk(x, 5), [(3, 4)], "k=5 is more than the 4"),
    (lambda x: relay.topk(x, 1, ret_type="all"), [(3, 4)], "found 'all'"),
    (lambda x: relay.layout_transform(x, "NCHW", "NCH"), [(1, 2, 3, 4)], "the same axes"),
    (
        lambda x: relay.layout_transform(x, "NCHW", "NCHW4"),
        [(1, 2, 3, 4)],
        "'NCHW4' is not a layout",
    ),
    (lambda x: relay.layout_transform(x, "NCHW4c", "NCHW"), [(1, 2, 3, 4, 8)], "must be 4 long"),
    (lambda x: relay.layout_transform(x, "NCHW", "NHWC"), [(1, 2, 3)], "names 4 axes"),
    (lambda x: nn.depth_to_space(x, 3), [(1, 4, 2, 2)], "4 channels are not divisible"),
    (lambda x: nn.space_to_depth(x, 3), [(1, 4, 2, 2)], "are not divisible into blocks of 3"),
    (lambda x: nn.depth_to_space(x, 2, mode="XYZ"), [(1, 4, 2, 2)], "found 'XYZ'"),
    (resized(method="lanczos"), [(1, 1, 2, 2)], "method must be one of .*'lanczos'"),
    (resized(coordinate_transformation_mode="x"), [(1, 1, 2, 2)], "transformation_mode must be"),
    (lambda x: nn.upsampling(x, method="linear"), [(1, 1, 2, 2)], "bilinear.*found 'linear'"),
    (nn.matmul, [(2, 3), (4, 5)], "3 columns and tensor_b 4 rows"),
    (lambda x, y: nn.matmul(x, y, units=6), [(2, 3), (3, 5)], "units=6 columns, found 5"),
    (lambda x, y: relay.reshape_like(x, y), [(2, 3), (4,)], "elements differ"),
    (lambda x, y: relay.reshape_like(x, y, 3), [(2, 3), (6,)], "are not among 2"),
]


@pytest.mark.parametrize(("build", "given", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refusal_says_what_is_wrong(build, given, message) -> None:
    with pytest.raises(TypeInferenceError, match=f"(?s){message}"):
        infer(build, *given)


def test_bounds_of_arange_are_expressions() -> None:
    attrs = relay.op.get("arange").definition.attrs
    with pytest.raises(AttributeValueError, match="'start' must be scalar_expr, found 1"):
        attrs.make(start=1, stop=2, step=1, dtype="int32")


def test_arange_of_unknown_bounds_is_of_unknown_length() -> None:
    stop = relay.var("stop", shape=(), dtype="int32")
    call = relay.arange(relay.const(0), stop, relay.const(1), "int32")
    typed = relay.transform.InferType()(relay.IRModule.from_expr(relay.Function([stop], call)))
    assert str(typed["main"].ret_type) == "Tensor[(?), int32]"
