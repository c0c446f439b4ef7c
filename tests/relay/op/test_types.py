"""Type relations: messages for refused calls, and types that differ from TVM's.

`test_golden_facts.py` compares the types of other calls with TVM's. TVM 0.16 accepts some of the
calls refused here: windows larger than the data (a dimension of -1), padding that removes all data,
a dense weight of the wrong depth, groups that do not divide, negative padding, an unknown pad mode
or method, a topk of more values than there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.errors import AttributeValueError, TypeInferenceError
from byoc_lab.relay import Function, IRModule, TensorType, nn
from byoc_lab.relay.image import resize2d
from byoc_lab.relay.typing.infer import infer_module

q = relay.Any()
f32, i32 = "float32", "int32"


def infer(build: Callable[..., Any], *types: Any) -> tuple[list[str], str]:
    """(types of the parameters, type of the result).

    A type: None, a shape, or (shape, dtype).
    """
    params = [relay.var(f"x{n}", _type(t)) for n, t in enumerate(types)]
    body = build(*params)
    func = Function(params, body.tuple_value if hasattr(body, "tuple_value") else body)
    main = infer_module(IRModule.from_expr(func))["main"]
    return [str(p.checked_type) for p in main.params], str(main.ret_type)


def _type(given: Any) -> TensorType | None:
    if given is None:
        return None
    shape, dtype = given if len(given) == 2 and isinstance(given[1], str) else (given, f32)
    return TensorType(shape, dtype)


def tensor(*shape: Any, dtype: str = f32) -> str:
    return str(TensorType(shape, dtype))


def conv(**attrs: Any) -> Callable[..., Any]:
    return lambda x, w: nn.conv2d(x, w, **attrs)


def test_untyped_grouped_weight_is_inferred() -> None:
    """TVM 0.16 requires a typed weight here, but the attributes determine it."""
    depthwise = conv(channels=16, groups=8, kernel_size=3)
    assert infer(depthwise, (1, 8, 8, 8), None)[0][1] == tensor(16, 1, 3, 3)
    swapped = conv(channels=6, groups=3, kernel_size=3, data_layout="NHWC", kernel_layout="HWOI")
    params, result = infer(swapped, (1, 8, 8, 3), None)
    assert (params[1], result) == (tensor(3, 3, 3, 2), tensor(1, 6, 6, 6))


def test_grouped_transposed_convolution_without_channels_is_inferred() -> None:
    """TVM 0.16 ignores the groups here and infers 3 channels, but computes 6."""
    assert infer(lambda x, w: nn.conv2d_transpose(x, w, groups=2), (1, 4, 8, 8), (4, 3, 3, 3))[
        1
    ] == tensor(1, 6, 10, 10)


def resized(**attrs):
    return lambda x: resize2d(x, (4, 5), **attrs)


def reshape(*newshape: int) -> Callable[..., Any]:
    return lambda x: relay.reshape(x, newshape)


REFUSED = [  # build, arguments, required part of the message
    (
        conv(groups=4, channels=8, kernel_size=3),
        [(1, 4, 8, 8), (4, 3, 3, 3)],
        r"nn.conv2d: weight must have channels=8 outputs, found 12",
    ),
    (
        conv(groups=4, channels=8),
        [(1, 4, 8, 8), (4, 2, 3, 3)],
        r"nn.conv2d: weight must have 1 input channels.*2 in",
    ),
    (conv(), [(1, 4, 8, 8), (16, 3, 3, 3)], r"nn.conv2d: weight must have 4 input channels.*3 in"),
    (conv(channels=4), [(1, 3, 8, 8), (16, 3, 3, 3)], "weight must have channels=4.*found 16"),
    (conv(kernel_size=3), [(1, 3, 8, 8), (16, 3, 5, 3)], r"kernel_size=\[3, 3\].*5"),
    (conv(channels=4, kernel_size=5), [(1, 3, 3, 3), None], "covers 5 elements in height.*only 3"),
    (conv(channels=4, kernel_size=3), [(3, 3, 3), None], "data must have 4 dimensions"),
    (conv(groups=2), [(1, 3, 8, 8), (4, 1, 3, 3)], "3 input channels .* groups=2"),
    (conv(strides=0), [(1, 3, 8, 8), (4, 3, 3, 3)], "strides must be positive"),
    (conv(padding=-1), [(1, 3, 8, 8), (4, 3, 3, 3)], "padding must not be negative"),
    (conv(data_layout="NCHX"), [(1, 3, 8, 8), (4, 3, 3, 3)], "permutation of NCHW.*NCHX"),
    (conv(data_layout="NCHW4c"), [(1, 4, 8, 8), (4, 4, 3, 3)], "names 5 axes, data has 4"),
    (conv(), [(1, 4, 8, 8), None], "type of variable %x1 cannot be inferred"),
    (
        lambda x, g: nn.batch_norm(x, g, g, g, g),
        [(1, 4, 3, 3), (5,)],
        r"nn.batch_norm: gamma.*found Tensor\[\(5\).*expected Tensor\[\(4\)",
    ),
    (lambda x, g: nn.batch_norm(x, g, g, g, g, axis=4), [(1, 4, 3, 3), None], r"axis .*\[-4, 4\)"),
    (lambda x, g: nn.group_norm(x, g, g, 3), [(1, 4, 3, 3), None], "num_groups=3"),
    (lambda x, w: nn.dense(x, w, units=6), [(1, 4), (7, 4)], "units=6 rows, found 7"),
    (nn.dense, [(1, 4), (7, 5)], "4 columns.*found 5"),
    (nn.batch_matmul, [(2, 4, 5), (3, 6, 5)], "batches .* agree"),
    (lambda x: nn.max_pool2d(x, 9), [(1, 2, 7, 8)], "covers 9 elements in height"),
    (
        lambda x: nn.softmax(x, 7),
        [(2, 4, 5)],
        r"axis must be in \[-3, 3\) for 3 dimensions, found 7",
    ),
    (lambda x: nn.pad(x, ((1, 1),)), [(1, 2)], "pad_width"),
    (lambda x: nn.pad(x, ((1, 1),), pad_mode="warp"), [(1,)], "pad_mode.*warp"),
    (relay.add, [(2, 3), (4,)], r"add: .* do not broadcast: dimension -1 is 3 and 4"),
    (relay.add, [(2, 3), ((3,), "int32")], "add: lhs and rhs must have one dtype"),
    (lambda x: relay.add(relay.Tuple([x]), x), [(2,)], r"add: lhs must be a tensor, found \("),
    (lambda x: relay.expand_dims(x, 5), [(2, 3)], r"\[-3, 3\) for 3 dimensions, found 5"),
    (reshape(5), [(2, 3, 4)], "numbers of elements differ"),
    (reshape(5, -1), [(2, 3, 4)], "24 elements are not divisible by 5"),
    (reshape(-1, -1), [(2, 3, 4)], "more than one -1"),
    (reshape(-5), [(2, 3, 4)], "-5 is invalid"),
    (reshape(0, 0, 0, 0), [(2, 3, 4)], "more dimensions"),
    (reshape(-4, 2), [(2, 3, 4)], "followed by two numbers"),
    (reshape(-4, -1, -1, 12), [(2, 3, 4)], "at most one of the two numbers"),
    (reshape(-4, 2, 2, 12), [(2, 3, 4)], "is not 2 \\* 2"),
    (relay.squeeze, [(1, q, 1)], "axis must be given"),
    (lambda x: relay.squeeze(x, axis=[1]), [(1, 3, 1)], "axes of size 1.*found 3"),
    (lambda x: relay.transpose(x, (0, 0, 1)), [(1, 3, 2)], "twice"),
    (lambda x: relay.transpose(x, (0, 1)), [(1, 3, 2)], "all 3 axes"),
    (lambda x, y: relay.concatenate([x, y], 1), [(2, 3, 2), (1, 4, 2)], "field 1"),
    (lambda x, y: relay.concatenate([x, y], 1), [(2, 3), ((2, 4), "int8")], "field 1.*int8"),
    (
        lambda x, y: relay.concatenate([x, y], 2),
        [(2, 3), (2, 4)],
        r"\[-2, 2\) for 2 dimensions, found 2",
    ),
    (lambda x: relay.concatenate(x, 0), [(2, 3)], "must be a tuple"),
    (lambda x: relay.split(x, 3, 1), [(2, 4)], "3 equal sections"),
    (lambda x: relay.split(x, (1, 7), 1), [(2, 4)], "at most 4, the size of axis 1"),
    (lambda x: relay.sum(x, 4), [(2, 4, 5)], "found 4"),
    (lambda v: relay.full(v, (2,)), [(1,)], "must be a scalar"),
    (lambda x: relay.repeat(x, 0, 0), [(2,)], "repeats must be positive"),
    (lambda x, w: nn.conv1d(x, w), [(1, 4, 9), (6, 3, 3)], r"nn.conv1d: weight must have 4 input"),
    (lambda x, w: nn.conv1d(x, w), [(1, 4, 2), (6, 4, 3)], "covers 3 elements in width.*only 2"),
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
    (relay.slice_like, [(2, 2), (4, 2)], "axis 0 of .* is smaller"),
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
    (lambda x: relay.layout_transform(x, "NCHW4c", "NCHW"), [(1, 2, 3, 4, 8)], "must have size 4"),
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
    (lambda x, y: relay.reshape_like(x, y, 3), [(2, 3), (6,)], "are not among the 2 axes"),
]


@pytest.mark.parametrize(("build", "given", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refusal_states_the_fault(build, given, message) -> None:
    with pytest.raises(TypeInferenceError, match=f"(?s){message}"):
        infer(build, *given)


def test_attributes_of_another_operator_are_refused() -> None:
    x = relay.var("x", shape=(2, 3))
    wrong = relay.Call(relay.op.get("clip"), [x], relay.nn.softmax(x).attrs)
    message = "clip takes relay.attrs.ClipAttrs, found relay.attrs.SoftmaxAttrs"
    with pytest.raises(TypeInferenceError, match=message):
        infer_module(IRModule.from_expr(wrong))


def test_attributes_out_of_range_raise_type_inference_error() -> None:
    x = relay.var("x", shape=(1, 2, 3, 4))
    with pytest.raises(TypeInferenceError, match=r"nn\.upsampling: an attribute is out of range"):
        infer_module(IRModule.from_expr(nn.upsampling(x, scale_h=float("inf"))))


def test_unknown_dtype_attribute_is_refused() -> None:
    x = relay.var("x", shape=(2,))
    for good in ("float32", "int4", "bfloat16", "uint8x4", "bool"):
        assert relay.cast(x, good).attrs.dtype == good
    for bad in ("flot32", "f32", "double", "int8 ", "dnnl"):
        with pytest.raises(AttributeValueError, match=f"'dtype' must be dtype, found {bad!r}"):
            relay.cast(x, bad)


def test_slice_without_bounds_for_an_axis_extends_to_its_end() -> None:
    def sliced(*args: Any, **more: Any) -> tuple:
        x = relay.var("x", shape=(3, 4, 3))
        call = relay.strided_slice(x, *args, **more)
        return infer_module(IRModule.from_expr(call))["main"].body.checked_type.shape

    assert sliced([1, 1], [4, 4, 3]) == sliced([1, 1, 0], [4]) == (2, 3, 3)
    assert sliced([1], [4, 4, 3], [1, 2, 1]) == (2, 2, 3)
    assert sliced([1, 1], [4, 4], [1, 2, 2]) == (2, 2, 2)
    assert sliced([1, 1], [2, 2, 3], slice_mode="size") == (2, 2, 3)
    with pytest.raises(TypeInferenceError, match="must have 2 numbers"):
        sliced([1, 1], [4, 4, 3], axes=[0, 1])


def test_bounds_of_arange_must_be_expressions() -> None:
    attrs = relay.op.get("arange").definition.attrs
    with pytest.raises(AttributeValueError, match="'start' must be scalar_expr, found 1"):
        attrs.make(start=1, stop=2, step=1, dtype="int32")


def test_arange_with_unknown_bounds_has_unknown_size() -> None:
    stop = relay.var("stop", shape=(), dtype="int32")
    call = relay.arange(relay.const(0), stop, relay.const(1), "int32")
    typed = relay.transform.InferType()(relay.IRModule.from_expr(relay.Function([stop], call)))
    assert str(typed["main"].ret_type) == "Tensor[(?), int32]"
