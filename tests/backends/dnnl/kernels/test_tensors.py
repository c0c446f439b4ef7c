"""Tensors of NumPy, PyTorch and TVM-FFI as arguments and results of kernels, without a copy."""

from __future__ import annotations

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from byoc_lab import relay
from byoc_lab.backends.dnnl import kernels, native
from byoc_lab.errors import InputError
from byoc_lab.run.inputs import bind_inputs
from tests.backends.dnnl import reference as ref
from tests.backends.dnnl.graph.net import Net
from tests.backends.dnnl.reference import assert_close, exact
from tests.sweeps import some

pytestmark = pytest.mark.native


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.asarray(np.random.default_rng([seed, *shape]).standard_normal(shape), np.float32)


def torch_module():
    return pytest.importorskip("torch", reason="PyTorch is not a dependency")


def ffi_tensor(array: np.ndarray):
    import tvm_ffi

    return tvm_ffi.from_dlpack(array)


KINDS = {
    "numpy": lambda array: array,
    "tvm_ffi": ffi_tensor,
    "torch": lambda array: torch_module().from_numpy(array),
}


def address(tensor) -> int:
    """The address of a tensor's first element."""
    return np.from_dlpack(tensor).ctypes.data


@pytest.mark.parametrize("kind", KINDS)
def test_tensors_are_read_and_written_without_a_copy(kind: str) -> None:
    make = KINDS[kind]
    data, weight, bias = random(2, 4, 7, 7), random(5, 4, 3, 3), random(5)
    room = np.empty((2, 5, 5, 5), np.float32)
    tensors = [make(array) for array in (data, weight, bias)]
    for tensor, array in zip(tensors, (data, weight, bias), strict=True):
        assert address(native.as_input("here", "data", tensor)) == array.ctypes.data
    if kind == "numpy":  # NumPy cannot import this one by DLPack
        data.flags.writeable = False
        assert native.as_input("here", "data", data).ctypes.data == data.ctypes.data
    out = make(room)
    assert kernels.conv2d(*tensors, out=out) is out
    assert_close(room, ref.conv(*map(exact, (data, weight, bias))))
    assert_close(kernels.relu(tensors[0]), ref.relu(exact(data)))


@pytest.mark.parametrize("kind", KINDS)
def test_region_accepts_tensors_of_every_library(kind: str) -> None:
    net = Net()
    region = net.check(net.op("dense", [net.input(2, 6), net.const(3, 6)]))
    (data,) = net.arrays["inputs"]
    assert_close(region(KINDS[kind](data))[0], net.values[-1])


@pytest.mark.parametrize("kind", KINDS)
def test_slice_of_a_larger_tensor_is_read_and_written(kind: str) -> None:
    """A slice of rows starts after the first byte; a slice of columns has strides and is copied."""
    whole = random(6, 8)
    rows, columns = KINDS[kind](whole[2:4]), KINDS[kind](whole[:, 1:5])
    assert_close(kernels.relu(rows), ref.relu(exact(whole[2:4])))
    assert_close(kernels.relu(columns), ref.relu(exact(whole[:, 1:5])))
    with pytest.raises(ValueError, match=r"out: .*strides"):
        kernels.relu(random(6, 4), out=columns)
    kernels.relu(random(2, 8, seed=1), out=rows)
    assert_close(whole[2:4], ref.relu(exact(random(2, 8, seed=1))))


def test_torch_tensors_that_are_not_plain_are_refused() -> None:
    torch = torch_module()
    data = random(3, 4)
    expected = ref.relu(exact(data))
    assert_close(kernels.relu(torch.from_numpy(data).T.contiguous().T), expected)
    assert_close(kernels.relu(torch.from_numpy(data).detach()), expected)
    for refused, kind in (
        (torch.from_numpy(data).double(), TypeError),
        (torch.empty(0, 4), ValueError),
        (torch.empty(3, 4, device="meta"), (TypeError, ValueError)),
    ):
        with pytest.raises(kind, match="relu: data: "):
            kernels.relu(refused)


def test_weight_of_a_transposed_convolution_may_be_any_tensor() -> None:
    data, weight = random(1, 4, 5), random(4, 4, 3)
    expected = ref.conv_transpose(exact(data), exact(weight))
    for kind in ("numpy", "tvm_ffi"):
        assert_close(kernels.conv1d_transpose(data, KINDS[kind](weight)), expected)
    with pytest.raises(TypeError, match=r"conv1d_transpose: weight: .*found list"):
        kernels.conv1d_transpose(data, [1.0])
    with pytest.raises(TypeError, match="groups: expected an integer, found a string"):
        kernels.conv1d_transpose(data, weight, groups="2")


@given(
    st.lists(st.integers(1, 5), min_size=1, max_size=4),
    st.lists(st.tuples(st.integers(0, 2), st.sampled_from([1, 2, 3, -1, -2])), min_size=4),
    st.booleans(),
    st.randoms(use_true_random=False),
)
@settings(max_examples=some(60))
def test_arrays_with_any_strides_are_read_as_numpy_reads_them(shape, cuts, read_only, rng) -> None:
    """Slices with any steps, permuted axes, read-only arrays."""
    whole = random(*(3 + 4 * size for size in shape))
    array = whole[tuple(slice(a, None, step) for (a, step), _ in zip(cuts, shape, strict=False))]
    axes = list(range(array.ndim))
    rng.shuffle(axes)
    array = array.transpose(axes)
    array.flags.writeable = not read_only
    assert_close(kernels.relu(array), ref.relu(exact(array)))


@pytest.mark.parametrize(
    ("src", "dst", "shape", "numpy"),
    [
        ("NCHW", "NHWC", (2, 3, 4, 5), lambda x: x.transpose(0, 2, 3, 1)),
        ("NHWC", "NCHW", (2, 3, 4, 5), lambda x: x.transpose(0, 3, 1, 2)),
        (
            "NCHW", "NCHW16c", (2, 32, 4, 5),
            lambda x: x.reshape(2, 2, 16, 4, 5).transpose(0, 1, 3, 4, 2),
        ),
        (
            "NCHW16c", "NCHW", (2, 2, 4, 5, 16),
            lambda x: x.transpose(0, 1, 4, 2, 3).reshape(2, 32, 4, 5),
        ),
        (
            "NCHW8c", "NCHW16c", (1, 4, 3, 2, 8),
            lambda x: np.concatenate([x[:, ::2], x[:, 1::2]], axis=-1),
        ),
        (
            "OIHW", "OIHW4i8o", (16, 8, 3, 3),
            lambda x: x.reshape(2, 8, 2, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1),
        ),
        (
            "HWIO", "OIHW4i8o", (3, 3, 8, 16),
            lambda x: x.transpose(3, 2, 0, 1).reshape(2, 8, 2, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1),
        ),
        ("W", "W", (7,), lambda x: x),
        ("NC", "CN", (1, 1), lambda x: x.T),
    ],
)  # fmt: skip
def test_reorder_there_and_back_restores_the_tensor(src, dst, shape, numpy) -> None:
    data = random(*shape)
    expected = numpy(data)
    moved = kernels.reorder(data, src, dst)
    np.testing.assert_array_equal(moved, expected)
    back = np.empty(shape, np.float32)
    assert kernels.reorder(moved, dst, src, out=back) is back
    np.testing.assert_array_equal(back, data)


BAD = {
    "small": ("nchw", "NCHW", "src_layout: expected one capital .* found 'nchw'"),
    "twice": ("NCCW", "NCHW", "src_layout: expected .* found 'NCCW'"),
    "empty": ("", "NCHW", "src_layout: expected .* found ''"),
    "number": ("NCHW16", "NCHW", "src_layout: expected .* found 'NCHW16'"),
    "no number": ("NCHW", "NCHWc", "dst_layout: expected .* found 'NCHWc'"),
    "zero": ("NCHW", "NCHW0c", "dst_layout: expected .* found 'NCHW0c'"),
    "absent": ("NCHW", "NCHW4d", "dst_layout: expected .* found 'NCHW4d'"),
    "two blocks": ("NCHW", "NCHW4c2c", "dst_layout: expected .* found 'NCHW4c2c'"),
    "signs": ("NCHW", "NC-HW", "dst_layout: expected .* found 'NC-HW'"),
    "overflow": ("NCHW", "NCHW99999999999999999999c", "expected one capital"),
    "axes": ("NCHW", "NCDHW", "dst_layout: expected the axes of src_layout 'NCHW'"),
    "fewer": ("NCHW", "NCH", "dst_layout: expected the axes of src_layout"),
    "rank": ("NCH", "NHC", "data: expected 3 dimensions"),
    "divides": ("NCHW", "NCHW5c", "dst_layout: expected a block of axis C that divides its size 4"),
    "too large": ("NCHW", "NCHW8c", "dst_layout: expected a block of axis C"),
}


@pytest.mark.parametrize("case", BAD)
def test_invalid_layout_is_named_in_the_error(case: str) -> None:
    src, dst, message = BAD[case]
    with pytest.raises(ValueError, match=message):
        kernels.reorder(random(1, 4, 2, 2), src, dst)


def test_reorder_refuses_tensors_of_another_shape() -> None:
    data = random(1, 4, 2, 2)
    with pytest.raises(ValueError, match="reorder: data: expected shape 'NCHW4c'"):
        kernels.reorder(random(1, 1, 2, 2, 5), "NCHW4c", "NCHW")
    with pytest.raises(ValueError, match="reorder: out: expected shape"):
        kernels.reorder(data, "NCHW", "NHWC", out=np.empty((1, 4, 2, 2), np.float32))
    with pytest.raises(ValueError, match="out shares memory with data"):
        kernels.reorder(data, "NCHW", "NCHW", out=data)
    with pytest.raises(TypeError, match=r"reorder: data: .*found float64"):
        kernels.reorder(data.astype("f8"), "NCHW", "NHWC")
    with pytest.raises(ValueError, match="expected a block of axis C"):
        kernels.reorder(random(1, 2, 1, 1, 6), "NCHW6c", "NCHW4c")


# ---- named functions


def test_functions_made_for_a_number_of_axes_are_named_and_documented() -> None:
    for name in kernels.__all__:
        function = getattr(kernels, name)
        assert function.__name__ == name
        assert len(function.__doc__) > 20


GIB = 2**30
HUGE = np.broadcast_to(np.float32(0), (2**31 - 1, 1, 1, 1))  # a copy would take 8 GB
FITTING = np.zeros((1, 1, 1, 1), np.float32)
REFUSED: dict[str, Callable[[], Any]] = {
    "data": lambda: kernels.conv2d(HUGE, np.zeros((1, 2, 1, 1), np.float32)),
    "weight": lambda: kernels.conv2d(np.zeros((1, 2, 1, 1), np.float32), HUGE),
    "transposed": lambda: kernels.conv2d_transpose(FITTING, HUGE),
    "bias": lambda: kernels.conv2d(FITTING, FITTING, HUGE),
    "out": lambda: kernels.relu(HUGE, out=np.zeros((1, 1), np.float32)),
    "post-op": lambda: kernels.relu(
        FITTING, post_ops=[{"kind": "binary", "alg": "add", "input": HUGE}]
    ),
    "concatenate": lambda: kernels.concatenate([HUGE, np.zeros((1, 2), np.float32)]),
    "region input": lambda: small_region()(HUGE),
    "region constant": lambda: small_region(HUGE),
}


def small_region(constant: np.ndarray = FITTING) -> native.DnnlRegion:
    net = Net()
    data = net.input(2, 3, 4, 4)
    net.graph["outputs"] = [net.op("binary", [data, net.const(1, 1, 1, 1)], alg="add")]
    return native.DnnlRegion(net.graph, [constant])


@pytest.mark.parametrize("case", REFUSED)
def test_sizes_are_checked_before_anything_is_copied(case: str) -> None:
    limits = resource.getrlimit(resource.RLIMIT_AS)
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + 2 * GIB, limits[1]))
    try:
        with pytest.raises(ValueError, match="expected"):
            REFUSED[case]()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, limits)


MASKED = np.ma.masked_array(np.ones((1, 1, 1, 1), np.float32), mask=True)
X = relay.var("x", shape=(1, 1, 1, 1))
UNMASKED: dict[str, Callable[[], Any]] = {
    "data": lambda: kernels.relu(MASKED),
    "weight": lambda: kernels.conv2d_transpose(FITTING, MASKED),
    "out": lambda: kernels.relu(FITTING, out=MASKED),
    "post-op": lambda: kernels.relu(
        FITTING, post_ops=[{"kind": "binary", "alg": "add", "input": MASKED}]
    ),
    "scale": lambda: kernels.quantize(FITTING, MASKED, 0, dtype="int8"),
    "region input": lambda: small_region()(MASKED),
    "region constant": lambda: small_region(MASKED),
    "relay constant": lambda: relay.const(MASKED),
    "program input": lambda: bind_inputs(relay.Function([X], X), [MASKED]),
}


@pytest.mark.parametrize("case", UNMASKED)
def test_masked_array_is_refused(case: str) -> None:
    with pytest.raises(InputError, match=r"masked array.*give array.filled\(value\)"):
        UNMASKED[case]()


@pytest.mark.parametrize("count", [32, 33, 70])
def test_more_post_ops_than_a_primitive_holds_are_applied(count: int) -> None:
    data = np.ones((2, 3), np.float32)
    step = {"kind": "eltwise", "alg": "linear", "alpha": 1.0, "beta": 1.0}
    result = kernels.dense(data, np.ones((2, 3), np.float32), post_ops=[step] * count)
    np.testing.assert_array_equal(result, np.full((2, 2), 3 + count, np.float32))
