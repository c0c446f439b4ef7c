"""Kernels called directly: arrays as arguments and results, and the native checks without Python's.

Results of kernels: test_every_kernel.py; refused arguments: test_kernel_errors.py.
"""

from __future__ import annotations

import numpy as np
import pytest

from byoc_lab.backends.dnnl import kernels, native
from byoc_lab.errors import NativeExtensionError
from tests.backends.dnnl import reference as ref
from tests.backends.dnnl.reference import assert_close, exact

pytestmark = pytest.mark.native


def random(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


M = random(3, 4)

# ---- arrays in and out


def test_read_only_and_strided_inputs_are_copied() -> None:
    data, weight = random(1, 6, 6, 3).transpose(0, 3, 1, 2), random(4, 3, 3, 3)
    weight.flags.writeable = False
    expected = ref.conv2d(exact(data), exact(weight))
    assert_close(kernels.conv2d(data, weight), expected)


def test_dlpack_tensor_other_than_an_array_is_accepted() -> None:
    tvm_ffi = pytest.importorskip("tvm_ffi")
    data = random(3, 4)
    assert_close(kernels.relu(tvm_ffi.from_dlpack(data)), ref.relu(exact(data)))


def test_out_is_written_and_returned() -> None:
    data, out = random(3, 4), np.empty((3, 4), np.float32)
    assert kernels.relu(data, out=out) is out
    assert_close(out, ref.relu(exact(data)))


def test_new_arrays_are_aligned_to_cache_lines() -> None:
    for size in (1, 3, 1000):
        assert kernels.relu(random(size)).ctypes.data % 64 == 0


def test_native_functions_check_arguments_without_the_python_wrappers() -> None:
    """Calls that bypass Python's wrappers get the same checks."""
    relu = native.function("relu")
    image = random(1, 4, 8, 8)
    with pytest.raises(
        TypeError, match=r"relu: data: expected dtype float32, .*int32, found float64"
    ):
        relu(M.astype("f8"), M)
    with pytest.raises(ValueError, match="relu: data: expected a row-major contiguous"):
        relu(image[:, :, ::2], np.empty((1, 4, 4, 8), np.float32))
    unaligned = np.zeros(17, np.uint8)[1:].view(np.float32)
    with pytest.raises(ValueError, match="relu: data: expected data aligned"):
        relu(unaligned, np.empty(4, np.float32))
    with pytest.raises(TypeError):
        relu(M)
    with pytest.raises(TypeError):
        relu(M, None)


def test_failed_check_leaves_out_unchanged() -> None:
    out = np.full((3, 5), 7, np.float32)
    with pytest.raises(ValueError, match="weight"):
        kernels.dense(M, random(5, 3), out=out)
    assert np.all(out == 7)


def test_thread_count_is_set_for_the_calling_thread() -> None:
    before, stated = native.get_num_threads(), native.function("threads_stated")()
    native.set_num_threads(1)
    try:
        assert native.get_num_threads() == 1
    finally:
        native.function("restore_num_threads")(before, stated)
    with pytest.raises(ValueError, match="threads: expected a value in"):
        native.set_num_threads(0)


def test_missing_library_error_says_how_to_build_it(monkeypatch) -> None:
    monkeypatch.delenv("BYOC_LAB_DNNL_LIBRARY", raising=False)
    monkeypatch.setattr(native, "LIBRARY", "byoc_lab_absent")
    with pytest.raises(NativeExtensionError, match=r"(?s)byoc_lab_absent.*`pip install -e \.`"):
        native.load.__wrapped__()


def test_library_without_a_function_says_how_to_build_it() -> None:
    with pytest.raises(NativeExtensionError, match=r"no function 'absent': .*`pip install -e \.`"):
        native.function("absent")
