"""Type relations: what is solved, what results, what is refused.

Every row of SOLVED and RESULTS was run in TVM 0.16 and gave the same types. Of REFUSED, TVM lets
pass: windows larger than the data (a dimension of -1), a dense weight of the wrong depth, groups
that do not divide, negative padding, an unknown pad mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.errors import AttributeValueError, TypeInferenceError
from byoc_lab.relay import Function, IRModule, TensorType, nn
from byoc_lab.relay.typing.infer import infer_module

q = relay.Any()
f32 = "float32"


def infer(build: Callable[..., Any], *types: Any) -> tuple[list[str], str]:
    """(types of the parameters, type of the result). A type: None, a shape, or (shape, dtype)."""
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


NHWC = {"data_layout": "NHWC", "kernel_layout": "HWIO"}

SOLVED = [  # label, build, first argument, what the second one is solved to, result
    ("conv2d", conv(channels=16, kernel_size=3), (q, 3, 8, 8), (16, 3, 3, 3), (q, 16, 6, 6)),
    (
        "conv2d unknown height",
        conv(channels=16, kernel_size=3, strides=2),
        (1, 3, q, 8),
        (16, 3, 3, 3),
        (1, 16, q, 3),
    ),
    (
        "conv2d unknown channels",
        conv(channels=16, kernel_size=3),
        (1, q, 8, 8),
        (16, q, 3, 3),
        (1, 16, 6, 6),
    ),
    (
        "conv2d NHWC",
        conv(channels=8, kernel_size=3, **NHWC),
        (1, 8, 8, 3),
        (3, 3, 3, 8),
        (1, 6, 6, 8),
    ),
    (
        "conv2d out_layout",
        conv(channels=16, kernel_size=3, out_layout="NHWC"),
        (1, 4, 3, 3),
        (16, 4, 3, 3),
        (1, 1, 1, 16),
    ),
    ("dense", lambda x, w: nn.dense(x, w, units=10), (1, 4), (10, 4), (1, 10)),
    ("dense rank 3", lambda x, w: nn.dense(x, w, units=10), (2, 1, 4), (10, 4), (2, 1, 10)),
    ("bias_add", lambda x, b: nn.bias_add(x, b, axis=-1), (1, 4), (4,), (1, 4)),
    ("layer_norm", lambda x, g: nn.layer_norm(x, g, g), (1, 2, 7, 8), (8,), (1, 2, 7, 8)),
    ("group_norm", lambda x, g: nn.group_norm(x, g, g, 2), (1, 2, 7, 8), (2,), (1, 2, 7, 8)),
    ("instance_norm", lambda x, g: nn.instance_norm(x, g, g), (1, 2, 7, 8), (2,), (1, 2, 7, 8)),
    ("prelu", nn.prelu, (1, 2, 7), (2,), (1, 2, 7)),
]


@pytest.mark.parametrize(("label", "build", "given", "solved", "result"), SOLVED)
def test_untyped_argument_is_solved(label, build, given, solved, result) -> None:
    assert infer(build, given, None) == ([tensor(*given), tensor(*solved)], tensor(*result))


def test_grouped_weight_is_solved_too() -> None:
    """TVM 0.16 wants the weight typed here; the attributes say all that is needed."""
    depthwise = conv(channels=16, groups=8, kernel_size=3)
    assert infer(depthwise, (1, 8, 8, 8), None)[0][1] == tensor(16, 1, 3, 3)
    swapped = conv(channels=6, groups=3, kernel_size=3, data_layout="NHWC", kernel_layout="HWOI")
    params, result = infer(swapped, (1, 8, 8, 3), None)
    assert (params[1], result) == (tensor(3, 3, 3, 2), tensor(1, 6, 6, 6))


def test_batch_norm_solves_all_its_vectors() -> None:
    params, result = infer(nn.batch_norm, ((1, 4, 3, 5), "float16"), None, None, None, None)
    vector = tensor(4, dtype="float16")
    assert params[1:] == [vector] * 4
    assert result == f"({params[0]}, {vector}, {vector})"
    last, _ = infer(lambda x, g: nn.batch_norm(x, g, g, g, g, axis=-1), (1, 4, 3, 5), None)
    assert last[1] == tensor(5)


def reshape(*newshape: int) -> Callable[..., Any]:
    return lambda x: relay.reshape(x, newshape)


RESULTS = [  # label, build, arguments, result
    (
        "conv2d depthwise, by inputs",
        conv(groups=4, channels=8, kernel_size=3),
        [(1, 4, 8, 8), (4, 2, 3, 3)],
        tensor(1, 8, 6, 6),
    ),
    ("conv2d given weight", conv(), [(1, 3, 8, 8), (16, 3, 3, 3)], tensor(1, 16, 6, 6)),
    (
        "conv2d mixed dtypes",
        conv(out_dtype="int32"),
        [((1, 3, 4, 4), "uint8"), ((4, 3, 1, 1), "int8")],
        tensor(1, 4, 4, 4, dtype="int32"),
    ),
    ("dense ? rows", nn.dense, [(q, 4), (7, 4)], tensor(q, 7)),
    ("dense ? columns", nn.dense, [(3, q), (7, 4)], tensor(3, 7)),
    ("batch_matmul", nn.batch_matmul, [(2, 4, 5), (1, 6, 5)], tensor(2, 4, 6)),
    ("batch_flatten", nn.batch_flatten, [(2, 4, 5)], tensor(2, 20)),
    ("batch_flatten ?", nn.batch_flatten, [(3, q, 5)], tensor(3, q)),
    ("batch_flatten rank 1", nn.batch_flatten, [(3,)], tensor(3, 1)),
    ("max_pool2d", lambda x: nn.max_pool2d(x, 3, 2, padding=1), [(1, 2, 7, 8)], tensor(1, 2, 4, 4)),
    (
        "max_pool2d ceil",
        lambda x: nn.max_pool2d(x, 3, 2, padding=1, ceil_mode=True),
        [(1, 2, 7, 8)],
        tensor(1, 2, 4, 5),
    ),
    (
        "max_pool2d ceil dilated",
        lambda x: nn.max_pool2d(x, 3, 2, 2, 1, ceil_mode=True),
        [(1, 2, 7, 8)],
        tensor(1, 2, 3, 4),
    ),
    (
        "max_pool2d ?",
        lambda x: nn.max_pool2d(x, 3, 2, padding=1),
        [(1, 2, q, 8)],
        tensor(1, 2, q, 4),
    ),
    (
        "max_pool2d NHWC",
        lambda x: nn.max_pool2d(x, 3, 2, layout="NHWC"),
        [(1, 7, 8, 2)],
        tensor(1, 3, 3, 2),
    ),
    ("global_avg_pool2d", nn.global_avg_pool2d, [(1, 2, 7, 8)], tensor(1, 2, 1, 1)),
    ("pad", lambda x: nn.pad(x, ((1, 1), (2, 3))), [(1, q)], tensor(3, q)),
    ("pad negative", lambda x: nn.pad(x, ((1, 1), (-1, 0))), [(1, 2)], tensor(3, 1)),
    ("dropout", lambda x: nn.dropout_raw(x), [(2, 3)], f"({tensor(2, 3)}, {tensor(2, 3)})"),
    ("add", relay.add, [(2, 1), (3,)], tensor(2, 3)),
    ("add ? with constant", relay.add, [(q, 1), (3,)], tensor(q, 3)),
    ("add ? beside 1", relay.add, [(q,), (1,)], tensor(q)),
    ("add ? beside 4", relay.add, [(q,), (4,)], tensor(4)),
    ("add ? beside ?", relay.add, [(q,), (q,)], tensor(q)),
    ("less", relay.less, [(2, 3), (3,)], tensor(2, 3, dtype="bool")),
    ("logical_and of floats", relay.logical_and, [(2, 3), (3,)], tensor(2, 3)),
    ("sqrt of ints", relay.sqrt, [((2,), "int32")], tensor(2, dtype="int32")),
    ("cast", lambda x: relay.cast(x, "int8"), [(2, 3)], tensor(2, 3, dtype="int8")),
    ("expand_dims end", lambda x: relay.expand_dims(x, -1, 2), [(2, 3)], tensor(2, 3, 1, 1)),
    ("expand_dims middle", lambda x: relay.expand_dims(x, -2, 2), [(2, 3)], tensor(2, 1, 1, 3)),
    ("reshape 0 -1", reshape(0, -1), [(2, 3, 4)], tensor(2, 12)),
    ("reshape -2", reshape(-2), [(2, 3, 4)], tensor(2, 3, 4)),
    ("reshape -3 -2", reshape(-3, -2), [(2, 3, 4)], tensor(6, 4)),
    ("reshape -4", reshape(-4, 1, -1, -2), [(2, 3, 4)], tensor(1, 2, 3, 4)),
    ("reshape -4 behind", reshape(2, -4, -1, 3, 0), [(2, 3, 4)], tensor(2, 1, 3, 4)),
    ("reshape ? 0 -1", reshape(0, -1), [(q, 3, 4)], tensor(q, 12)),
    ("reshape ? -1", reshape(-1, 4), [(q, 3, 4)], tensor(q, 4)),
    ("reshape ? -3", reshape(-3, 4), [(q, 3, 4)], tensor(q, 4)),
    ("reshape ? -4", reshape(0, -4, -1, 3, 4), [(q, 3, 4)], tensor(q, 1, 3, 4)),
    ("reshape ? away", reshape(3, 4), [(q, 3)], tensor(3, 4)),
    ("reshape empty, longer", reshape(0, 4, 2), [(0, 2)], tensor(0, 4, 2)),
    ("reshape empty 0 -1", reshape(0, -1, 4), [(0, 2)], tensor(0, 0, 4)),
    ("reshape to scalar", lambda x: relay.reshape(x, ()), [(1, 1)], f32),
    (
        "reshape allowzero",
        lambda x: relay.reshape(x, (0, 3), allowzero=True),
        [(0, 3, 4)],
        tensor(0, 3),
    ),
    ("squeeze", relay.squeeze, [(1, 3, 1)], tensor(3)),
    ("squeeze axis ?", lambda x: relay.squeeze(x, axis=[1]), [(1, q, 1)], tensor(1, 1)),
    ("squeeze -1", lambda x: relay.squeeze(x, axis=-1), [(1, 3, 1)], tensor(1, 3)),
    ("transpose", relay.transpose, [(1, 3, 2)], tensor(2, 3, 1)),
    ("transpose axes", lambda x: relay.transpose(x, (0, -1, 1)), [(1, 3, 2)], tensor(1, 2, 3)),
    (
        "concatenate ? elsewhere",
        lambda x, y: relay.concatenate([x, y], 1),
        [(q, 3, 2), (1, 4, 2)],
        tensor(q, 7, 2),
    ),
    (
        "concatenate ? along",
        lambda x, y: relay.concatenate([x, y], 1),
        [(1, q, 2), (1, 4, 2)],
        tensor(1, q, 2),
    ),
    ("split", lambda x: relay.split(x, 2, 1), [(2, 4)], f"({tensor(2, 2)}, {tensor(2, 2)})"),
    (
        "split ? with cuts",
        lambda x: relay.split(x, (1, 3), -1),
        [(2, q)],
        f"({tensor(2, 1)}, {tensor(2, 2)}, {tensor(2, q)})",
    ),
    ("repeat", lambda x: relay.repeat(x, 3, 1), [(2, 4)], tensor(2, 12)),
    ("sum all", relay.sum, [(2, 4)], f32),
    ("sum of no axis", lambda x: relay.sum(x, []), [(2, 4, 5)], f32),
    ("sum keepdims", lambda x: relay.sum(x, -1, True), [(2, 4)], tensor(2, 1)),
    ("sum exclude", lambda x: relay.sum(x, 1, False, True), [(2, 4, 5)], tensor(4)),
    ("mean of ints", lambda x: relay.mean(x, 1), [((2, 4), "int32")], tensor(2, dtype="int32")),
    ("variance", lambda x: relay.variance(x, 1), [(2, 4, 5)], tensor(2, 5)),
    ("full", lambda v: relay.full(v, (2, 3)), [((), "int32")], tensor(2, 3, dtype="int32")),
    (
        "compiler_begin of a tuple",
        lambda x: relay.annotation.compiler_begin(relay.Tuple([x, x]), "dnnl"),
        [(2,)],
        f"({tensor(2)}, {tensor(2)})",
    ),
]


@pytest.mark.parametrize(
    ("label", "build", "given", "result"), RESULTS, ids=[row[0] for row in RESULTS]
)
def test_operator_has_the_expected_result_type(label, build, given, result) -> None:
    assert infer(build, *given)[1] == result


REFUSED = [  # build, arguments, what the message must say
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
    (conv(channels=4, kernel_size=5), [(1, 3, 3, 3), None], "covers 5 in height.*only 3"),
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
    (lambda x: nn.max_pool2d(x, 9), [(1, 2, 7, 8)], "covers 9 in height"),
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
    (reshape(5, -1), [(2, 3, 4)], "do not divide"),
    (reshape(-1, -1), [(2, 3, 4)], "more than one -1"),
    (reshape(-5), [(2, 3, 4)], "-5 has no meaning"),
    (reshape(0, 0, 0, 0), [(2, 3, 4)], "more dimensions"),
    (reshape(-4, 2), [(2, 3, 4)], "followed by two numbers"),
    (reshape(-4, -1, -1, 12), [(2, 3, 4)], "at most one of the two numbers"),
    (reshape(-4, 2, 2, 12), [(2, 3, 4)], "is not 2 \\* 2"),
    (relay.squeeze, [(1, q, 1)], "axis must be given"),
    (lambda x: relay.squeeze(x, axis=[1]), [(1, 3, 1)], "axes of length 1.*found 3"),
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
    (lambda x: relay.split(x, (1, 7), 1), [(2, 4)], "stay within 4"),
    (lambda x: relay.sum(x, 4), [(2, 4, 5)], "found 4"),
    (lambda v: relay.full(v, (2,)), [(1,)], "must be a scalar"),
    (lambda x: relay.repeat(x, 0, 0), [(2,)], "repeats must be positive"),
]


@pytest.mark.parametrize(("build", "given", "message"), REFUSED, ids=range(len(REFUSED)))
def test_refusal_says_what_is_wrong(build, given, message) -> None:
    with pytest.raises(TypeInferenceError, match=f"(?s){message}"):
        infer(build, *given)


def test_attributes_of_another_operator_are_refused() -> None:
    x = relay.var("x", shape=(2, 3))
    wrong = relay.Call(relay.op.get("clip"), [x], relay.nn.softmax(x).attrs)
    message = "clip takes relay.attrs.ClipAttrs, found relay.attrs.SoftmaxAttrs"
    with pytest.raises(TypeInferenceError, match=message):
        infer_module(IRModule.from_expr(wrong))


def test_attributes_out_of_range_are_an_error_of_types() -> None:
    x = relay.var("x", shape=(1, 2, 3, 4))
    with pytest.raises(TypeInferenceError, match=r"nn\.upsampling: an attribute is out of range"):
        infer_module(IRModule.from_expr(nn.upsampling(x, scale_h=float("inf"))))


def test_a_dtype_has_the_name_of_one() -> None:
    x = relay.var("x", shape=(2,))
    for good in ("float32", "int4", "bfloat16", "uint8x4", "bool"):
        assert relay.cast(x, good).attrs.dtype == good
    for bad in ("flot32", "f32", "double", "int8 ", "dnnl"):
        with pytest.raises(AttributeValueError, match=f"'dtype' must be dtype, found {bad!r}"):
            relay.cast(x, bad)


def test_a_slice_that_says_nothing_of_an_axis_takes_it_to_its_end() -> None:
    def sliced(*args: Any, **more: Any) -> tuple:
        x = relay.var("x", shape=(3, 4, 3))
        call = relay.strided_slice(x, *args, **more)
        return infer_module(IRModule.from_expr(call))["main"].body.checked_type.shape

    assert sliced([1, 1], [4, 4, 3]) == sliced([1, 1, 0], [4]) == (2, 3, 3)
    assert sliced([1], [4, 4, 3], [1, 2, 1]) == (2, 2, 3)
    assert sliced([1, 1], [4, 4], [1, 2, 2]) == (2, 2, 2)
    assert sliced([1, 1], [2, 2, 3], slice_mode="size") == (2, 2, 3)
    with pytest.raises(TypeInferenceError, match="must be 2 long"):
        sliced([1, 1], [4, 4, 3], axes=[0, 1])
