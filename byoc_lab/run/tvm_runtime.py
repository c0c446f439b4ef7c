"""Importing apache-tvm; its types and tensors."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any

import numpy as np

from byoc_lab.errors import MissingDependencyError
from byoc_lab.run.stand_in import in_place_of
from byoc_lab.run.threads import limit_threads

REQUIREMENT = "apache-tvm>=0.26,<0.28"
"""The supported releases of apache-tvm, as a requirement for pip."""
ALIGNMENT = 64  # alignment of TVM's tensors in bytes, which compiled code expects
SPIN_COUNT = "TVM_THREAD_POOL_SPIN_COUNT"
# Held while TVM creates, compiles or loads a module: `relax.BlockBuilder` has global state, shared
# by all threads. Running needs only the lock of the executable.
COMPILING = threading.RLock()


def import_tvm() -> Any:
    """The package `tvm`, imported on first use (it takes seconds).

    Raises MissingDependencyError when it is not installed.
    """
    # Idle threads of TVM's pool spin by default, and take processor time from the OpenMP threads of
    # DNNL's regions (measured: five times slower on two processors). A user's setting is kept.
    os.environ.setdefault(SPIN_COUNT, "0")
    limit_threads()
    try:
        import tvm
        from tvm import relax  # noqa: F401 (makes tvm.relax available)
    except (ImportError, OSError) as error:
        raise MissingDependencyError(
            f"this needs apache-tvm, which cannot be imported ({error}); "
            f"install it with: pip install '{REQUIREMENT}'"
        ) from error
    return tvm


def stand_in() -> str | None:
    """The sentence that NumPy replaces TVM (`run.stand_in`); None with apache-tvm."""
    try:
        import_tvm()
    except MissingDependencyError:
        return in_place_of("TVM")
    return None


def cpu_target(target: str) -> Any:
    """The TVM target object for the name `target`; the host part is compiled for it."""
    return import_tvm().target.Target(target)


def same_structure(a: Any, b: Any) -> bool:
    """Whether two objects of TVM are structurally equal."""
    import tvm_ffi

    return bool(tvm_ffi.structural_equal(a, b))


def tensor_type(shape: tuple[int, ...], dtype: str) -> Any:
    """Relax's type of a tensor."""
    return import_tvm().relax.TensorType(shape, dtype)


def tuple_type(fields: list[Any]) -> Any:
    """Relax's type of a tuple."""
    return import_tvm().relax.TupleType(fields)


@cache
def _runtime() -> Any:
    return import_tvm().runtime


def to_device(array: Any) -> Any:
    """A TVM tensor of a NumPy array, for compiled code to read.

    It shares the array's memory if that is row-major, aligned to ALIGNMENT bytes (both for compiled
    code) and writable (for DLPack); otherwise it holds a copy.
    """
    runtime, flags = _runtime(), array.flags
    shared = flags.c_contiguous and flags.writeable and array.ctypes.data % ALIGNMENT == 0
    if shared and array.size and array.dtype.kind == "f":
        return runtime.from_dlpack(array)
    return runtime.tensor(array)


# The dtypes that DLPack and NumPy share. The tensor's method `numpy()` supports more dtypes, but
# takes ten times as long.
IN_DLPACK = frozenset(
    f"{kind}{bits}" for kind in ("float", "int", "uint") for bits in (8, 16, 32, 64)
) - {"float8"}


def new_arrays(value: Any) -> list[np.ndarray]:
    """The result of a function of TVM as new arrays; tuples are flattened."""
    return [
        np.from_dlpack(tensor).copy() if tensor.dtype in IN_DLPACK else tensor.numpy()
        for tensor in _flat(value)
    ]


def packed(compute: Callable[..., Sequence[np.ndarray]], inputs: int) -> Callable[..., None]:
    """Wraps a function of arrays for compiled code, which passes `inputs` input tensors, then the
    output tensors."""

    def call(*tensors: Any) -> None:
        given = [
            np.from_dlpack(tensor) if tensor.dtype in IN_DLPACK else tensor.numpy()
            for tensor in tensors[:inputs]
        ]
        for tensor, value in zip(tensors[inputs:], compute(*given), strict=True):
            if tensor.dtype in IN_DLPACK:
                np.from_dlpack(tensor)[...] = value
            else:
                tensor.copyfrom(value)

    return call


def _flat(value: Any) -> Iterator[Any]:
    todo = [value]
    while todo:
        item = todo.pop()
        if hasattr(item, "numpy"):
            yield item
        else:
            todo += reversed(list(item))
