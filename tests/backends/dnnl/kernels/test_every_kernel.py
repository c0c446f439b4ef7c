"""Every kernel, alone and fused, on any shapes, attributes, dtypes and memory, against float64.

`KERNELS` (kernel_cases.py) has a row for each; a test draws a case of the row, calls the kernel
with its arguments written in any valid form, and compares the result with the row's formula within
the bound of its rounding errors.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab.backends.dnnl import kernels, native
from tests.backends.dnnl import reference as ref
from tests.backends.dnnl.kernels.draws import DTYPES, FLOATS, INTEGERS, Case, Draw, each_array
from tests.backends.dnnl.kernels.functions import BINARY, FUNCTIONS, apply
from tests.backends.dnnl.kernels.kernel_cases import KERNELS, some_parameters
from tests.backends.dnnl.reference import Bounded, assert_close, exact, stored
from tests.sweeps import some

pytestmark = pytest.mark.native
NO_POST_OPS = (
    "strided_slice", "transpose", "reorder", "quantize", "dequantize", "requantize",
)  # fmt: skip


# ---- ways to write a call

LISTS = ("strides", "padding", "dilation", "output_padding")


def strided(array: np.ndarray) -> np.ndarray:
    """The same elements, as every second element of a larger array, in reverse."""
    larger = np.zeros([2 * size for size in array.shape], array.dtype)
    view = larger[tuple(slice(None, None, -2) for _ in array.shape)]
    view[...] = array
    return view


def read_only(array: np.ndarray) -> np.ndarray:
    array = array.copy()
    array.flags.writeable = False
    return array


def bits(array: np.ndarray) -> np.ndarray:
    return array.view(np.uint16) if array.dtype == DTYPES["bfloat16"] else array


def ffi_tensor(array: np.ndarray) -> Any:
    import tvm_ffi

    return tvm_ffi.from_dlpack(bits(array))


MEMORY: list[Callable[[np.ndarray], Any]] = [
    lambda array: array, strided, read_only, np.asfortranarray, bits, ffi_tensor,
]  # fmt: skip


def anywhere(d: Draw, value: Any) -> Any:
    """An argument with its arrays in any kind of memory."""
    return each_array(
        lambda a: d.one_of(*MEMORY)(a) if isinstance(a, np.ndarray) and a.ndim else a, value
    )


def shortened(d: Draw, name: str, value: Any) -> Any:
    """Attributes of windows in their shortest valid form."""
    if name == "padding" and value[: len(value) // 2] == value[len(value) // 2 :] and d.flag():
        value = value[: len(value) // 2]
    if isinstance(value, list) and name in LISTS and len(set(value)) == 1 and d.flag():
        return value[0]
    return value


# ---- chains of post-ops

# Without functions defined only above 0, and without the one that soon overflows.
CHAINABLE = sorted(set(FUNCTIONS) - {"exp", "pow", "log", "sqrt"})


def operand(d: Draw, shape: Sequence[int], positive: bool) -> Any:
    if d.int(0, 4) == 0:
        return d.one_of(0.5, 2, np.float32(1.5))
    # Kernels have separate code for one number per channel, and for some combinations of axes.
    channels = [size if axis == 1 else 1 for axis, size in enumerate(shape)]
    return d.array(*d.one_of(d.beside(shape), channels, list(shape)), positive=positive)


def post_op(d: Draw, so_far: Bounded) -> tuple[dict[str, Any], Bounded]:
    """One post-op, and its function of the result so far."""
    kind = d.one_of("eltwise", "binary", "sum")
    if kind == "eltwise":
        alg = d.one_of(*CHAINABLE)
        parameters = some_parameters(d, alg)
        return {"kind": kind, "alg": alg, **parameters}, apply(alg, so_far, **parameters)
    shape = so_far.value.shape
    if kind == "sum":
        other, scale = d.array(*shape), d.one_of(1.0, 1.0, 0.5, -1.25)
        value = ref.add(so_far, exact(other), scale)
        given = {} if scale == 1 else {"scale": scale}
        return {"kind": kind, "input": anywhere(d, other), **given}, value
    alg = d.one_of(*BINARY)
    other = operand(d, shape, positive=alg == "div")
    value = BINARY[alg](so_far, exact(other))
    return {"kind": kind, "alg": alg, "input": anywhere(d, other)}, value


def check(name: str, drawn: st.DataObject) -> None:
    kernel, function = KERNELS[name], getattr(kernels, name)
    d = Draw(drawn, drawn.draw(st.sampled_from(KERNELS[name].dtypes)))
    case: Case = kernel.cases(d)
    dtype = kernel.result_dtype(case, d.dtype)
    args = [each_array(exact, arg) for arg in case.args]
    expected = kernel.formula(*args, **case.attrs)
    options: dict[str, Any] = {n: shortened(d, n, value) for n, value in case.attrs.items()}
    if dtype in INTEGERS or name in NO_POST_OPS:
        expected = exact(expected.value)
    else:
        expected = stored(expected, dtype)
        if kernel.rounded_inside:
            inside = stored(exact(kernel.rounded_inside(*args, **case.attrs)), dtype)
            expected = Bounded(expected.value, expected.error + inside.error)
        chain = []
        for _ in range(d.int(0, 3)):
            entry, expected = post_op(d, expected)
            expected = stored(expected, dtype)
            chain.append(entry)
        options["post_ops"] = chain
    if d.flag():
        options["out"] = np.full(expected.value.shape, 77, DTYPES[dtype])
    with native.using_threads(d.one_of(1, 1, 1, 2)):
        result = function(*(anywhere(d, arg) for arg in case.args), **options)
    assert result is options.get("out", result)
    assert_close(result, expected, dtype)


@pytest.mark.parametrize("name", KERNELS)
@given(st.data())
@settings(max_examples=some(6))
def test_kernel_equals_the_reference(name: str, drawn: st.DataObject) -> None:
    check(name, drawn)


@pytest.mark.slow
@pytest.mark.parametrize("name", KERNELS)
@given(st.data())
@settings(max_examples=some(200))
def test_kernel_equals_the_reference_widely(name: str, drawn: st.DataObject) -> None:
    check(name, drawn)


def test_every_kernel_has_a_row() -> None:
    assert set(KERNELS) == set(kernels.__all__)


def test_every_kernel_that_computes_supports_post_ops() -> None:
    takes = {
        name
        for name in kernels.__all__
        if "post_ops" in inspect.signature(getattr(kernels, name)).parameters
    }
    assert takes == set(kernels.__all__) - set(NO_POST_OPS)


@pytest.mark.parametrize("dtype", FLOATS)
def test_max_pool_over_padding_alone_is_the_smallest_number(dtype: str) -> None:
    """A dilated window around a small image gives the smallest number, as in Relay.

    Processors without bfloat16 give the smallest float32, which bfloat16 rounds to -inf.
    """
    data = np.zeros((1, 1, 1), DTYPES[dtype])
    (pooled,) = kernels.max_pool1d(data, 2, padding=1, dilation=2).flat
    smallest = ml_dtypes.finfo(DTYPES[dtype]).min
    assert pooled in ((smallest,) if dtype == "float32" else (smallest, -np.inf))


@pytest.mark.parametrize("dtype", ["bfloat16", "uint8"])
def test_convolution_windows_over_padding_alone_equal_the_reference(dtype: str) -> None:
    """oneDNN's AMX kernel reads past the end of an internal list here, so another kernel is
    used."""
    rng = np.random.default_rng(0)
    data = rng.integers(0, 4, (1, 16, 6, 1, 3)).astype(DTYPES[dtype])
    weight = rng.integers(-2, 3, (32, 16, 3, 2, 2))
    weight = weight.astype(np.int8 if dtype == "uint8" else DTYPES[dtype])
    for padding in ([3, 1, 0, 2, 4, 0], [3, 0, 0, 2, 5, 0]):  # all of them, and the last ones
        windows = {"strides": [3, 2, 2], "padding": padding, "dilation": [2, 2, 1]}
        got = kernels.conv3d(data, weight, **windows)
        wanted = kernels.conv3d(data.astype(np.float32), weight.astype(np.float32), **windows)
        np.testing.assert_array_equal(got.astype(np.float32), wanted)
        assert not wanted[:, :, :, 1].any() and wanted[:, :, :, 0].any() == (padding[1] == 0)


@pytest.mark.parametrize("dtype", ["uint8", "int8"])
def test_convolution_1_by_1_with_a_zero_point_equals_the_reference(dtype: str) -> None:
    """oneDNN's AMX kernel gives wrong sums for images of 27 to 49 pixels, so another kernel is
    used."""
    rng = np.random.default_rng(0)
    for height, width in ((3, 9), (6, 6), (6, 8), (7, 7), (5, 9), (8, 8)):
        for inputs, outputs in ((64, 40), (128, 100), (1024, 64)):
            data = rng.integers(0, 128, (1, inputs, height, width)).astype(DTYPES[dtype])
            weight = rng.integers(-127, 128, (outputs, inputs, 1, 1)).astype(np.int8)
            got = kernels.conv2d(data, weight, data_zero_point=3)
            moved = data.astype(np.int64) - 3
            wanted = np.einsum("nchw,oc->nohw", moved, weight[:, :, 0, 0].astype(np.int64))
            np.testing.assert_array_equal(got, wanted)


def test_reorder_and_transpose_keep_every_bit_of_int32() -> None:
    """oneDNN rounds int32 to float32 precision if it transposes in blocks of 8 by 8."""
    rng = np.random.default_rng(0)
    data = rng.integers(-(2**31), 2**31, (8, 8), np.int64).astype(np.int32)
    np.testing.assert_array_equal(kernels.reorder(data, "NC", "CN"), data.T)
    np.testing.assert_array_equal(kernels.transpose(data, (1, 0)), data.T)


# Cases in which oneDNN reads a fused operand, one number per channel, at wrong addresses.
MISREAD: dict[str, tuple[list[Any], list[int]]] = {
    "softmax": ([np.zeros((2, 3, 5), np.float32)], [3, 1]),
    "log_softmax": ([np.zeros((2, 16, 6, 5), np.float32)], [16, 1, 1]),
    "add": ([np.zeros((2, 16, 1, 1), np.float32)] * 2, [16, 1, 1]),
    "resample": ([np.zeros((1, 16, 3, 3), np.float32), 1], [1, 16, 1, 1]),
}


@pytest.mark.parametrize("name", MISREAD)
def test_one_number_per_channel_is_added_to_its_channel(name: str) -> None:
    args, shape = MISREAD[name]
    numbers = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
    kernel = getattr(kernels, name)
    added = kernel(*args, post_ops=[{"kind": "binary", "alg": "add", "input": numbers}])
    np.testing.assert_allclose(added, kernel(*args) + numbers, 1e-6)
