"""Every argument of every kernel is checked before memory is touched, and an error describes it.

`CALLS` (kernel_calls.py) has wrong shapes and values of each kernel's arguments. Faults that every
tensor can have (a list, float64, an empty dimension, 7 dimensions, a result that is read-only,
strided, of another shape or overlapping an operand) are tried with every tensor of every call.
"""

from __future__ import annotations

import inspect
import re
from typing import Any

import ml_dtypes
import numpy as np
import pytest

from byoc_lab.backends.dnnl import kernels
from tests.backends.dnnl.kernels.kernel_calls import CALLS, tensor

pytestmark = pytest.mark.native
each_kernel = pytest.mark.parametrize("name", CALLS)
# Tensors that may be None.
OPTIONAL = {("bias", name) for name in CALLS if "bias" in CALLS[name].tensors} - {
    ("bias", name) for name in ("conv2d_bias", "conv2d_bias_relu", "dense_bias")
}


def refused(name: str, argument: str, **changed: Any) -> str:
    """The error message, which names kernel and argument, what was expected and what was found."""
    with pytest.raises((TypeError, ValueError)) as caught:
        CALLS[name].run(name, **changed)
    message = str(caught.value)
    assert message.startswith(f"byoc_lab.dnnl.{name}: "), message
    assert re.search(rf"\b{argument}\b", message), f"{argument}: {message}"
    assert re.search("expected .*found |unknown alg .* known are ", message), message
    return message


def test_every_argument_of_every_kernel_is_here() -> None:
    assert set(CALLS) == set(kernels.__all__)
    for name, call in CALLS.items():
        given = {re.sub(r"\d", "", key) for key in (*call.tensors, *call.attrs, *call.values)}
        parameters = set(inspect.signature(getattr(kernels, name)).parameters)
        assert parameters - given <= {"out", "post_ops"}, name
        assert {*call.attrs} - {*call.values} == set(), name


@each_kernel
def test_unchanged_call_is_accepted(name: str) -> None:
    """Without this, the refusals below would prove nothing."""
    CALLS[name].run(name)


@each_kernel
def test_argument_that_is_not_a_tensor_is_refused(name: str) -> None:
    for argument, given in CALLS[name].tensors.items():
        wrong = [[1.0, 2.0], "a", 1.5, object()]
        wrong += [None] * ((argument, name) not in OPTIONAL)
        kinds = ("float64", ">f4", "bool", "int64", "complex64", "object")
        for each in (*wrong, *map(given.astype, kinds)):
            refused(name, argument, **{argument: each})


@pytest.mark.parametrize("name", sorted(CALLS.keys() - {"strided_slice", "transpose", "reorder"}))
def test_dtype_that_differs_from_the_other_arguments_is_refused(name: str) -> None:
    tensors = CALLS[name].tensors
    wrong = "float32" if name in ("dequantize", "requantize") else "int32"
    for argument, given in tensors.items():
        if len(tensors) > 1:
            first, second, *_ = tensors
            named = second if argument == first else argument  # the others must have its dtype
            message = refused(name, named, **{argument: given.astype(ml_dtypes.bfloat16)})
            assert "bfloat16" in message
        refused(name, argument, **{argument: given.astype(wrong)})


@each_kernel
def test_too_many_or_empty_dimensions_are_refused(name: str) -> None:
    for argument, given in CALLS[name].tensors.items():
        refused(name, argument, **{argument: given[:0]})
        refused(name, argument, **{argument: given.reshape((1,) * (7 - given.ndim) + given.shape)})


@each_kernel
def test_wrong_shape_or_attribute_value_is_refused(name: str) -> None:
    for argument, shapes in CALLS[name].shapes.items():
        for shape in shapes:
            message = refused(name, argument, **{argument: tensor(*shape)})
            assert str(shape) in message or re.search("padded|batch of", message), message
    for argument, values in CALLS[name].values.items():
        for value in values:
            refused(name, argument, **{argument: value})


@each_kernel
def test_wrong_result_array_is_refused_and_unchanged(name: str) -> None:
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


@each_kernel
def test_result_that_overlaps_an_operand_is_refused(name: str) -> None:
    for argument, operand in CALLS[name].tensors.items():
        check_overlap(name, argument, operand)


def check_overlap(name: str, argument: str, operand: np.ndarray) -> None:
    call = CALLS[name]
    right = call.run(name)
    both = np.zeros(max(right.nbytes, operand.nbytes) + 64, np.uint8)
    placed = both[: operand.nbytes].view(operand.dtype).reshape(operand.shape)
    placed[...] = operand
    out = both[: right.nbytes].view(right.dtype).reshape(right.shape)
    if name.endswith("_transpose") and argument == "weight":
        # Its axes are permuted first, in a copy.
        np.testing.assert_array_equal(call.run(name, weight=placed, out=out), right)
        return
    with pytest.raises(ValueError, match=rf"{name}: out shares memory with {argument}; pass a"):
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
def test_wrong_post_op_is_refused(case: str) -> None:
    post_ops, message = POST_OPS[case]
    for name in ("conv2d", "dense_bias", "add", "relu", "sum", "concatenate"):
        named = f"^byoc_lab.dnnl.{name}: (the )?{message}"
        with pytest.raises((TypeError, ValueError), match=named):
            CALLS[name].run(name, post_ops=post_ops)


def test_post_op_that_reads_the_result_is_refused() -> None:
    out = np.empty((2, 3), np.float32)
    with pytest.raises(ValueError, match="out shares memory with the input of post-op 0"):
        kernels.relu(tensor(2, 3), out=out, post_ops=[{"kind": "sum", "input": out}])


def test_integer_products_with_bias_or_post_ops_are_refused() -> None:
    data, weight = np.ones((1, 2), np.uint8), np.ones((3, 2), np.int8)
    with pytest.raises(ValueError, match="dense: bias: products of integers take no bias"):
        kernels.dense(data, weight, np.ones(3, np.int8))
    with pytest.raises(TypeError, match="dense: weight: expected dtype int8, as data is uint8"):
        kernels.dense(data, data)
    with pytest.raises(TypeError, match="dense: expected a result of float32 or bfloat16"):
        kernels.dense(data, weight, post_ops=[{"kind": "eltwise", "alg": "relu"}])


def test_result_larger_than_memory_is_refused() -> None:
    conv, image = kernels.conv2d, tensor(1, 2, 4, 4)
    with pytest.raises(ValueError, match="result: expected every dimension in"):
        conv(image, tensor(2, 2, 3, 3), padding=2**31 - 1)
    with pytest.raises(ValueError, match=r"result: .*too large"):
        conv(image, tensor(2, 2, 3, 3), padding=2**29)
    with pytest.raises(TypeError, match="padding: expected an int"):
        conv(image, tensor(2, 2, 3, 3), padding=2**70)
    with pytest.raises(ValueError, match=r"result: .*too large"):
        kernels.resample(image, 2**31 - 1)


def test_empty_operand_list_is_refused() -> None:
    for kernel in (kernels.sum, lambda: kernels.concatenate([])):
        with pytest.raises(ValueError, match="expected inputs data"):
            kernel()
    with pytest.raises(TypeError, match="concatenate: data: expected a list of tensors, found int"):
        kernels.concatenate(5)
