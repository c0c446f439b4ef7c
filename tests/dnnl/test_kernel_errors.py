"""Every kernel, every argument: what is wrong with it is said before memory is touched.

`CALLS` has for each kernel a call that is right, and wrong shapes and values of its arguments. What
is wrong everywhere (a list, float64, no dimension of 0 or 7 of them, a result that is read-only,
strided, of another shape, or where an operand is) is tried with every tensor of every call.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from byoc_lab.dnnl import kernels, native

pytestmark = [
    pytest.mark.native,
    pytest.mark.skipif(not native.available(), reason="the DNNL extension is not built"),
]
Shape = tuple[int, ...]


def tensor(*shape: int, dtype: str = "float32") -> np.ndarray:
    values = np.arange(1, 1 + int(np.prod(shape)), dtype=np.float64).reshape(shape)
    return np.asarray(values if dtype == "int32" else values / 4, dtype)


@dataclass(frozen=True)
class Call:
    """tensors and attrs: a right call. shapes: wrong ones of a tensor; values: of an attribute."""

    tensors: dict[str, Any]
    attrs: dict[str, Any] = field(default_factory=dict)
    shapes: dict[str, list[Shape]] = field(default_factory=dict)
    values: dict[str, list[Any]] = field(default_factory=dict)

    def run(self, name: str, **changed: Any) -> Any:
        """The kernel with some arguments changed."""
        given = {**self.tensors, **self.attrs, **changed}
        tensors = [given.pop(key) for key in self.tensors]
        if "alg" in given and name != "resample":
            tensors.insert(0, given.pop("alg"))
        elif name == "concatenate":
            tensors = [tensors]
        return getattr(kernels, name)(*tensors, **given)


SIDES = [(1, 2, 3, 4, 5, 6, 7), "1", None, 1.5, -1, True]
STEPS = [(1, 1, 1, 1), "1", None, 1.5, 0, -1, 2**31, True]


def conv(axes: int, biased: bool = True, integers: bool = True) -> Call:
    """Of 6 channels to 4, in 2 groups."""
    taps = [2] * axes
    tensors = {"data": tensor(2, 6, *[5] * axes), "weight": tensor(4, 3, *taps)}
    shapes = {
        "data": [(2, 6), (6, *[5] * axes), (1, 2, 6, *[5] * axes), (2, 6, *[1] * axes)],
        "weight": [(4, 3), (3, *taps), (4, 6, *taps), (4, 2, *taps), (1, 4, 3, *taps)],
    }
    if biased:
        tensors["bias"] = tensor(4)
        shapes["bias"] = [(), (3,), (5,), (2, 2), (4, 2)]
    values = {
        "strides": STEPS,
        "dilation": STEPS,
        "padding": [*SIDES, 2**31],
        "groups": [0, -1, 4, 5, "2", None, 1.0, True],
        "data_zero_point": [3, 256, "0", None, 0.5],
    }
    return Call(tensors, {"groups": 2}, shapes, values)


def conv_transpose(axes: int) -> Call:
    taps = [2] * axes
    return Call(
        {"data": tensor(2, 4, *[5] * axes), "weight": tensor(4, 3, *taps), "bias": tensor(6)},
        {"groups": 2, "strides": 2},
        {
            "data": [(2, 4), (4, *[5] * axes), (1, 2, 4, *[5] * axes)],
            "weight": [(4, 3), (4, *taps), (6, 3, *taps), (2, 3, *taps), (1, 4, 3, *taps)],
            "bias": [(), (3,), (4,), (3, 2)],
        },
        {
            "strides": STEPS,
            "dilation": STEPS,
            "padding": [*SIDES, 100],
            "output_padding": [2, *SIDES],
            "groups": [0, -1, 3, "2", None, 1.0, True],
        },
    )


def pool(axes: int, mean: bool) -> Call:
    values: dict[str, list[Any]] = {
        "pool_size": STEPS,
        "strides": STEPS,
        "dilation": STEPS,
        "padding": [2, *SIDES],
    }
    if mean:
        values["count_include_pad"] = [1, "yes", None]
    data = tensor(2, 3, *[5] * axes)
    shapes = {"data": [(2, 3), (3, *[5] * axes), (1, 2, 3, *[5] * axes)]}
    return Call({"data": data}, {"pool_size": 2}, shapes, values)


def image(axes: int) -> Call:
    shapes = {"data": [(2, 3), (3, *[5] * axes), (1, 2, 3, *[5] * axes)]}
    return Call({"data": tensor(2, 3, *[5] * axes)}, shapes=shapes)


def elementwise(**attrs: float) -> Call:
    wrong = ["1", None, True, float("nan"), float("inf")]
    return Call({"data": tensor(2, 3)}, attrs, values={name: wrong for name in attrs})


AXIS: list[Any] = [2, -3, "0", None, 0.5, True]
DENSE = {"data": tensor(3, 4), "weight": tensor(5, 4)}
DENSE_SHAPES: dict[str, list[Shape]] = {
    "data": [(4,), (1, 3, 4)],
    "weight": [(4,), (4, 5), (1, 5, 4)],
    "bias": [(), (4,), (5, 5), (2, 5)],
}
FLAG = [1, 0, "yes", None]
ZEROS = [0.5, "0", 2**40, [1.5], [1, 2, 3, 4]]
SCALES = [0.0, -0.5, "1", float("nan"), float("inf"), True, [1.0, 0.0, 1.0], [1.0] * 4]
CALLS: dict[str, Call] = {
    **{f"conv{n}d": conv(n) for n in (1, 2, 3)},
    "conv2d_bias": conv(2),
    "conv2d_relu": conv(2),
    "conv2d_bias_relu": conv(2),
    **{f"conv{n}d_transpose": conv_transpose(n) for n in (1, 2, 3)},
    **{f"max_pool{n}d": pool(n, mean=False) for n in (1, 2, 3)},
    **{f"avg_pool{n}d": pool(n, mean=True) for n in (1, 2, 3)},
    **{f"global_{alg}_pool{n}d": image(n) for alg in ("max", "avg") for n in (1, 2, 3)},
    "dense": Call(
        {**DENSE, "bias": tensor(5)}, {}, DENSE_SHAPES, {"data_zero_point": [1, 256, "0", None]}
    ),
    "dense_bias": Call({**DENSE, "bias": tensor(5)}, {}, DENSE_SHAPES),
    "matmul": Call(
        {"a": tensor(2, 3, 4), "b": tensor(4, 5), "bias": tensor(5)},
        {},
        {"a": [(4,)], "b": [(5,), (3, 5), (5, 4), (3, 4, 5)], "bias": [(), (4,), (2, 5)]},
        {"transpose_a": FLAG, "transpose_b": FLAG},
    ),
    "batch_matmul": Call(
        {"a": tensor(2, 3, 4), "b": tensor(2, 5, 4)},
        {},
        {"a": [(4,)], "b": [(5,), (2, 4, 5), (3, 5, 4)]},
        {"transpose_a": FLAG, "transpose_b": FLAG},
    ),
    "batch_norm": Call(
        {
            "data": tensor(2, 3, 4),
            **{name: tensor(3) for name in ("gamma", "beta", "mean", "variance")},
        },
        {"epsilon": 1e-5},
        {
            "data": [(3,), (1, 3, 1, 1, 1, 1)],
            **{name: [(), (4,), (1, 3), (3, 1)] for name in ("gamma", "beta", "mean", "variance")},
        },
        {"epsilon": [-1.0, float("nan"), float("inf"), "0", None, True]},
    ),
    "layer_norm": Call(
        {"data": tensor(2, 3), "gamma": tensor(3), "beta": tensor(3)},
        {"epsilon": 1e-5},
        {"data": [(3,)], "gamma": [(), (2,), (1, 3)], "beta": [(), (2,), (1, 3)]},
        {"epsilon": [-1.0, float("nan"), "0", None, True]},
    ),
    "softmax": Call({"data": tensor(2, 3)}, values={"axis": AXIS}),
    "log_softmax": Call({"data": tensor(2, 3)}, values={"axis": AXIS}),
    "reduce": Call(
        {"data": tensor(2, 3)}, {"alg": "sum"}, values={"axis": AXIS, "alg": ["median", 1, None]}
    ),
    "eltwise": Call(
        {"data": tensor(2, 3)},
        {"alg": "elu", "alpha": 1.0},
        values={
            "alg": ["median", 1, None],
            "alpha": ["1", None, True, float("nan")],
            "beta": ["1", None, True, float("nan")],
        },
    ),
    **{
        name: elementwise()
        for name in (
            *("abs", "exp", "gelu", "gelu_tanh", "log", "mish", "relu", "round"),
            *("sigmoid", "sqrt", "tanh"),
        )
    },
    "clip": Call(
        {"data": tensor(2, 3)},
        {"low": 0.0, "high": 1.0},
        values={
            "low": ["0", None, True, float("nan"), 1.5],
            "high": ["0", None, True, float("inf"), -0.5],
        },
    ),
    **{name: elementwise(alpha=0.5) for name in ("elu", "leaky_relu", "swish")},
    "binary": Call(
        {"a": tensor(2, 3), "b": tensor(3)},
        {"alg": "add"},
        {"b": [(2,), (3, 3), (2, 3, 3)]},
        {"alg": ["pow", 1, None]},
    ),
    "add": Call({"a": tensor(2, 3), "b": tensor(3)}, shapes={"b": [(2,), (3, 3), (2, 3, 3)]}),
    "multiply": Call({"a": tensor(2, 3), "b": tensor(3)}, shapes={"b": [(2,), (3, 3)]}),
    "sum": Call(
        {"data0": tensor(2, 3), "data1": tensor(2, 3)}, shapes={"data1": [(), (3,), (1, 3), (3, 2)]}
    ),
    "concatenate": Call(
        {"data0": tensor(2, 3), "data1": tensor(1, 3)},
        shapes={"data1": [(), (3,), (2, 4), (2, 3, 1)]},
        values={"axis": AXIS},
    ),
    "transpose": Call(
        {"data": tensor(2, 3)},
        {"axes": (1, 0)},
        values={"axes": [(0, 0), (0,), (0, 1, 2), (0, -1), 1, "10", None, (0.5, 1), range(2)]},
    ),
    "reorder": Call(
        {"data": tensor(2, 4)},
        {"src_layout": "NC", "dst_layout": "CN2c"},
        {"data": [(4,), (2, 4, 1)]},
        {
            "src_layout": ["NCH", "N", "nc", "", 1, None],
            "dst_layout": ["NCH", "N", "NC3c", "NC2", "NC2c2c", "", 1, None],
        },
    ),
    "resample": Call(
        {"data": tensor(2, 3, 5, 5)},
        {"size": (4, 6)},
        {"data": [(3,), (2, 3), (1, 1, 1, 1, 1, 1)]},
        {"size": [0, (4,), (4, 6, 1), "4", None, 1.5, 2**31], "alg": ["cubic", 1, None]},
    ),
    "quantize": Call(
        {"data": tensor(2, 3)},
        {"scale": 0.5, "zero_point": 3},
        values={
            "scale": SCALES,
            "zero_point": ZEROS,
            "axis": AXIS,
            "dtype": ["float32", "int16", "bits"],
        },
    ),
    "dequantize": Call(
        {"data": tensor(2, 3, dtype="int32")},
        {"scale": 0.5, "zero_point": 3},
        values={"scale": SCALES, "zero_point": ZEROS, "axis": AXIS},
    ),
    "requantize": Call(
        {"data": tensor(2, 3, dtype="int32")},
        {
            "input_scale": 0.5,
            "input_zero_point": 3,
            "output_scale": 0.25,
            "output_zero_point": 1,
            "bias": tensor(3, dtype="int32"),
        },
        values={
            "input_scale": SCALES,
            "input_zero_point": ZEROS,
            "output_scale": [*SCALES, [1.0] * 3],
            "output_zero_point": [*ZEROS, [1] * 3],
            "bias": [tensor(4, dtype="int32"), tensor(3), [1, 2, 3], 1],
            "axis": AXIS,
            "rounding": ["DOWN", 1, None],
            "dtype": ["float32", "int16", "bits"],
        },
    ),
}
# Tensors that may be None. What a word is called by where it is passed on.
OPTIONAL = {("bias", name) for name in CALLS if "bias" in CALLS[name].tensors} - {
    ("bias", name) for name in ("conv2d_bias", "conv2d_bias_relu", "dense_bias")
}


def refused(name: str, argument: str, **changed: Any) -> str:
    """The message, which names kernel and argument, and says what was expected and found."""
    with pytest.raises((TypeError, ValueError)) as caught:
        CALLS[name].run(name, **changed)
    message = str(caught.value)
    assert message.startswith(f"byoc_lab.dnnl.{name}: "), message
    assert re.search(rf"\b{argument}\b", message), f"{argument}: {message}"
    assert re.search("expected .*found |unknown alg .* known are ", message), message
    return message


def arguments(kind: str) -> Iterator[tuple[str, str]]:
    for name, call in CALLS.items():
        for argument in getattr(call, kind):
            yield name, argument


def ids(pairs: list[tuple[str, str]]) -> dict[str, Any]:
    return {
        "argnames": ("name", "argument"),
        "argvalues": pairs,
        "ids": ["-".join(p) for p in pairs],
    }


def test_every_argument_of_every_kernel_is_here() -> None:
    assert set(CALLS) == set(kernels.__all__)
    for name, call in CALLS.items():
        given = {re.sub(r"\d", "", key) for key in (*call.tensors, *call.attrs, *call.values)}
        parameters = set(inspect.signature(getattr(kernels, name)).parameters)
        assert parameters - given <= {"out", "post_ops"}, name
        assert {*call.attrs} - {*call.values} == set(), name


@pytest.mark.parametrize("name", CALLS)
def test_the_call_is_right(name: str) -> None:
    """Else nothing below would show anything."""
    CALLS[name].run(name)


@pytest.mark.parametrize(**ids([*arguments("tensors")]))
def test_no_tensor(name: str, argument: str) -> None:
    given = CALLS[name].tensors[argument]
    for wrong in ([1.0, 2.0], "a", 1.5, object()):
        refused(name, argument, **{argument: wrong})
    if (argument, name) not in OPTIONAL:
        refused(name, argument, **{argument: None})
    for dtype in ("float64", ">f4", "bool", "int64", "complex64", "object"):
        refused(name, argument, **{argument: given.astype(dtype)})


@pytest.mark.parametrize(**ids([*arguments("tensors")]))
def test_a_dtype_that_does_not_go_with_the_others(name: str, argument: str) -> None:
    call = CALLS[name]
    if name in ("transpose", "reorder"):
        return  # move anything
    if len(call.tensors) > 1:
        first, second, *_ = call.tensors
        named = second if argument == first else argument  # the others have to be as the first is
        other = call.tensors[argument].astype(ml_dtypes.bfloat16)
        message = refused(name, named, **{argument: other})
        assert "bfloat16" in message
    wrong = "float32" if name in ("dequantize", "requantize") else "int32"
    refused(name, argument, **{argument: call.tensors[argument].astype(wrong)})


@pytest.mark.parametrize(**ids([*arguments("tensors")]))
def test_too_many_dimensions_and_none_of_them_empty(name: str, argument: str) -> None:
    given = CALLS[name].tensors[argument]
    refused(name, argument, **{argument: given[:0]})
    refused(name, argument, **{argument: given.reshape((1,) * (7 - given.ndim) + given.shape)})


@pytest.mark.parametrize(**ids([*arguments("shapes")]))
def test_wrong_shapes(name: str, argument: str) -> None:
    for shape in CALLS[name].shapes[argument]:
        message = refused(name, argument, **{argument: tensor(*shape)})
        assert str(shape) in message or re.search("padded|batch of", message), message


@pytest.mark.parametrize(**ids([*arguments("values")]))
def test_wrong_values(name: str, argument: str) -> None:
    for value in CALLS[name].values[argument]:
        refused(name, argument, **{argument: value})


@pytest.mark.parametrize("name", CALLS)
def test_wrong_results(name: str) -> None:
    right = CALLS[name].run(name)
    out = np.full(right.shape, 7, right.dtype)
    fixed = out.copy()
    fixed.flags.writeable = False
    wrong = [
        fixed,
        out.astype("float64"),
        out.astype("int8" if out.dtype != np.int8 else "float32"),
        np.full((*right.shape, 1), 7, right.dtype),
        np.full((*right.shape[:-1], right.shape[-1] + 1), 7, right.dtype),
        np.full((*right.shape, 2), 7, right.dtype)[..., 0],
        [1.0],
        "out",
    ]
    for given in wrong:
        refused(name, "out", out=given)
        assert not isinstance(given, np.ndarray) or np.all(given == 7)


@pytest.mark.parametrize(**ids([*arguments("tensors")]))
def test_results_where_an_operand_is(name: str, argument: str) -> None:
    call = CALLS[name]
    right = call.run(name)
    operand = call.tensors[argument]
    both = np.zeros(max(right.nbytes, operand.nbytes) + 64, np.uint8)
    placed = both[: operand.nbytes].view(operand.dtype).reshape(operand.shape)
    placed[...] = operand
    out = both[: right.nbytes].view(right.dtype).reshape(right.shape)
    if name.endswith("_transpose") and argument == "weight":
        # Its axes are turned first, in memory of their own.
        np.testing.assert_array_equal(call.run(name, weight=placed, out=out), right)
        return
    with pytest.raises(ValueError, match=rf"{name}: out shares memory with {argument}; pass an"):
        call.run(name, **{argument: placed}, out=out)
    np.testing.assert_array_equal(placed, operand)


POST_OPS: dict[str, tuple[Any, str]] = {
    "no list": (
        {"kind": "eltwise", "alg": "relu"},
        "post_ops: expected a list of dicts, found dict",
    ),
    "a number": (1, "post_ops: expected a list of dicts, found int"),
    "no dict": (["relu"], "post-op 0: expected a dict, found str"),
    "kind": ([{"kind": "conv"}], "post-op 0: unknown kind 'conv'; known are eltwise, binary, sum"),
    "no kind": ([{"alg": "relu"}], "post-op 0: key 'kind' is missing"),
    "key": (
        [{"kind": "eltwise", "alg": "relu", "slope": 1}],
        "post-op 0: unknown key 'slope'; known are kind, alg, alpha, beta",
    ),
    "alg": ([{"kind": "eltwise", "alg": "median"}], "post-op 0: unknown alg 'median'; known are"),
    "binary alg": (
        [{"kind": "binary", "alg": "pow", "input": 1.0}],
        "post-op 0: unknown alg 'pow'; known are",
    ),
    "alpha": (
        [{"kind": "eltwise", "alg": "elu", "alpha": "1"}],
        "post-op 0: alpha: expected a number, found a string",
    ),
    "clip": (
        [{"kind": "eltwise", "alg": "clip", "alpha": 2, "beta": 1}],
        "post-op 0: clip: expected a low end .* found 2",
    ),
    "softplus": (
        [{"kind": "eltwise", "alg": "softplus"}],
        "post-op 0: softplus: alpha: expected another number than 0",
    ),
    "second": (
        [{"kind": "eltwise", "alg": "abs"}, {"kind": "sum"}],
        "post-op 1: key 'input' is missing",
    ),
    "no tensor": (
        [{"kind": "sum", "input": "x"}],
        "the input of post-op 0: expected a NumPy array or a tensor with DLPack, found str",
    ),
    "float64": (
        [{"kind": "binary", "alg": "add", "input": np.ones(1)}],
        "the input of post-op 0: expected dtype .*, found float64",
    ),
    "bfloat16": (
        [{"kind": "binary", "alg": "add", "input": np.ones(1, ml_dtypes.bfloat16)}],
        "input of post-op 0: expected dtype float32, the result's, found bfloat16",
    ),
    "shape": (
        [{"kind": "binary", "alg": "add", "input": tensor(7)}],
        "input of post-op 0: expected a shape that broadcasts",
    ),
    "sum shape": (
        [{"kind": "sum", "input": tensor(1)}],
        "input of post-op 0: expected shape .*the op's result",
    ),
}


@pytest.mark.parametrize("case", POST_OPS)
@pytest.mark.parametrize("name", ["conv2d", "dense_bias", "add", "relu", "sum", "concatenate"])
def test_wrong_post_ops(name: str, case: str) -> None:
    post_ops, message = POST_OPS[case]
    with pytest.raises((TypeError, ValueError), match=f"^byoc_lab.dnnl.{name}: (the )?{message}"):
        CALLS[name].run(name, post_ops=post_ops)


def test_a_post_op_that_reads_the_result() -> None:
    out = np.empty((2, 3), np.float32)
    with pytest.raises(ValueError, match="out shares memory with the input of post-op 0"):
        kernels.relu(tensor(2, 3), out=out, post_ops=[{"kind": "sum", "input": out}])


def test_integers_take_no_bias_and_no_post_ops() -> None:
    data, weight = np.ones((1, 2), np.uint8), np.ones((3, 2), np.int8)
    with pytest.raises(ValueError, match="dense: bias: products of integers take no bias"):
        kernels.dense(data, weight, np.ones(3, np.int8))
    with pytest.raises(TypeError, match="dense: weight: expected dtype int8, as data is uint8"):
        kernels.dense(data, data)
    with pytest.raises(TypeError, match="dense: expected a result of float32 or bfloat16"):
        kernels.dense(data, weight, post_ops=[{"kind": "eltwise", "alg": "relu"}])


def test_sizes_that_no_memory_has() -> None:
    conv, image = kernels.conv2d, tensor(1, 2, 4, 4)
    with pytest.raises(ValueError, match="result: expected every dimension in"):
        conv(image, tensor(2, 2, 3, 3), padding=2**31 - 1)
    with pytest.raises(ValueError, match=r"result: .*too large"):
        conv(image, tensor(2, 2, 3, 3), padding=2**29)
    with pytest.raises(TypeError, match="padding: expected an int"):
        conv(image, tensor(2, 2, 3, 3), padding=2**70)
    with pytest.raises(ValueError, match=r"result: .*too large"):
        kernels.resample(image, 2**31 - 1)


def test_no_operands_at_all() -> None:
    for kernel in (kernels.sum, lambda: kernels.concatenate([])):
        with pytest.raises(ValueError, match="expected inputs data"):
            kernel()
    with pytest.raises(TypeError, match="concatenate: data: expected a list of tensors, found int"):
        kernels.concatenate(5)
