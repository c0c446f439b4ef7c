"""The compiled DNNL extension: loads it, passes arrays to it, and runs regions.

The extension is a shared library without Python code; TVM-FFI loads it and calls its functions. It
is loaded at its first use.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import json
import math
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from byoc_lab.backends.dnnl.graph import DnnlGraph
from byoc_lab.backends.dnnl.kernel_table import CompiledKernel, CompiledKernels
from byoc_lab.errors import ArgumentError, InputError, NativeExtensionError, counted
from byoc_lab.relay.ir.ndarray import numpy_dtype as numpy_dtype
from byoc_lab.relay.ir.ndarray import refuse_masked
from byoc_lab.run.threads import limit_threads

LIBRARY = "byoc_lab_dnnl"
DTYPES = ("float32", "bfloat16", "uint8", "int8", "int32")
ALIGNMENT = 64  # bytes: a cache line; oneDNN is up to a fifth slower on arrays aligned to 16
HOW_TO_GET_IT = (
    "On Linux (x86-64), install byoc_lab's manylinux wheel, or, with a C++17 compiler, run "
    "`pip install .` (to develop: `pip install -e .`) in the root of the byoc_lab repository. "
    "Without it NumPy computes the regions of DNNL: everything works except proof of offload and "
    "times"
)


@functools.cache
def load() -> None:
    """Load the extension, once. Raises NativeExtensionError, whose message says how to build it.

    The environment variable BYOC_LAB_DNNL_LIBRARY names a different library file to load, such as
    one built for debugging. BYOC_LAB_THREADS limits the threads of regions.
    """
    limit_threads()
    try:
        from tvm_ffi import load_module
        from tvm_ffi.libinfo import load_lib_module
    except (ImportError, OSError) as error:
        raise NativeExtensionError(
            "the DNNL extension needs the package apache-tvm-ffi, which cannot be imported "
            f"({error}); install it with: pip install 'apache-tvm-ffi>=0.1.15,<0.2'"
        ) from error
    try:
        if other := os.environ.get("BYOC_LAB_DNNL_LIBRARY"):
            load_module(other)
            return
        load_lib_module("byoc-lab", LIBRARY, extra_lib_paths=[Path(__file__).parents[2]])
    except (RuntimeError, OSError) as error:
        raise NativeExtensionError(
            f"the DNNL extension (lib{LIBRARY}.so) is missing or cannot be loaded: {error}\n"
            f"{HOW_TO_GET_IT}."
        ) from error


def available() -> bool:
    """Whether the extension can be loaded; the error of `load()` gives the reason."""
    try:
        load()
    except NativeExtensionError:
        return False
    return True


@functools.cache
def function(name: str) -> Callable[..., Any]:
    """The native function registered as `byoc_lab.dnnl.<name>`.

    Raises NativeExtensionError if the extension cannot be loaded or has no such function.
    """
    load()
    import tvm_ffi

    registered: Callable[..., Any] | None = tvm_ffi.get_global_func(
        f"byoc_lab.dnnl.{name}", allow_missing=True
    )
    if registered is None:
        raise NativeExtensionError(
            f"the DNNL extension has no function {name!r}: it was built from another version of "
            f"byoc_lab. {HOW_TO_GET_IT}."
        )
    return registered


def onednn() -> ctypes.CDLL:
    """The oneDNN that the extension loaded into the process."""
    load()
    return ctypes.CDLL("libdnnl.so.3")


def library() -> str:
    """The oneDNN that regions run on, and its version: "oneDNN 3.2.0"."""
    load()
    found: str = function("library")()
    return found


def get_num_threads() -> int:
    """The number of threads of regions that this thread creates. Unless `set_num_threads` was
    called, regions with little work use fewer."""
    threads: int = function("get_num_threads")()
    return threads


def set_num_threads(threads: int) -> None:
    """Set the exact number of threads of regions that this thread creates from now on; existing
    regions are unchanged. Without this call, the number depends on the region's work; its maximum
    is OpenMP's number."""
    function("set_num_threads")(threads)


@contextlib.contextmanager
def using_threads(threads: int | None) -> Iterator[None]:
    """Within this context, regions that this thread creates use exactly `threads` threads; None
    changes nothing."""
    if threads is None:
        yield
        return
    before, stated = get_num_threads(), function("threads_stated")()
    set_num_threads(threads)
    try:
        yield
    finally:
        function("restore_num_threads")(before, stated)


def dtype_name(value: Any) -> str:
    """The name of the dtype of an array or tensor in DTYPES; uint16 means the bits of bfloat16."""
    name = str(value.dtype).removeprefix("torch.")
    return "bfloat16" if name == "uint16" else name


def aligned_empty(shape: Sequence[int], dtype: str = "float32") -> np.ndarray:
    """An uninitialised array of `shape` on a 64-byte boundary."""
    element = numpy_dtype(dtype)
    size = math.prod(shape) * element.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % ALIGNMENT
    return raw[start : start + size].view(element).reshape(tuple(shape))


def as_input(where: str, name: str, value: Any, dtype: str | None = "float32") -> Any:
    """Prepare `value`, a NumPy array or any tensor with DLPack, as input of the extension.

    Row-major arrays are not copied, even if they are read-only; strided arrays are copied. The
    caller of `as_input` must not write to the result. Raises the errors of `described`.
    """
    return row_major(described(where, name, value, dtype))


def described(where: str, name: str, value: Any, dtype: str | None = "float32") -> Any:
    """`value` as an object with a shape and a known dtype, for checks; no element is copied.

    bfloat16 is an array of ml_dtypes, or its bits in uint16. Raises TypeError if `value` is neither
    a NumPy array nor a tensor with DLPack, or not of `dtype` (None: any of DTYPES), and InputError
    for a masked array.
    """
    refuse_masked(f"{where}: {name}", value)
    if isinstance(value, np.ndarray):
        _check_dtype(where, name, value, dtype)
        return _bits(value)
    tensor = _from_dlpack(where, name, value)
    _check_dtype(where, name, tensor, dtype)
    return tensor


def row_major(value: Any) -> Any:
    """Make a result of `described` row-major, copying it if it is strided."""
    if not isinstance(value, np.ndarray):
        return value if value.is_contiguous() else np.from_dlpack(value).copy(order="C")
    if not (value.flags.c_contiguous and value.flags.aligned):
        # Not ascontiguousarray: it makes a scalar array one-dimensional.
        return value.copy(order="C")
    return _readable(value)


def _readable(value: np.ndarray) -> np.ndarray:
    return value if value.flags.writeable else np.asarray(_Readable(value))


class _Readable:
    """A read-only array presented as writable, because DLPack refuses read-only arrays.

    `np.asarray` of this object is an array that shares the memory and keeps it alive.
    """

    def __init__(self, array: np.ndarray) -> None:
        data, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (data, False)}
        self._array = array


def is_immutable(value: Any) -> bool:
    """Whether `value` is an array that cannot be written to, neither directly nor through its
    base."""
    while isinstance(value, np.ndarray) and not value.flags.writeable:
        if value.base is None:
            return True
        value = value.base
    return isinstance(value, bytes)


def _check_dtype(where: str, name: str, value: Any, dtype: str | None) -> None:
    wanted = (dtype,) if dtype else DTYPES
    if dtype_name(value) not in wanted:
        expected = ", ".join(wanted)
        raise ArgumentError(f"{where}: {name}: expected dtype {expected}, found {value.dtype}")


def _bits(array: np.ndarray) -> np.ndarray:
    """The bits of a bfloat16 array of ml_dtypes, which DLPack does not support; other arrays
    unchanged."""
    return array.view(np.uint16) if array.dtype.name == "bfloat16" else array


def as_output(where: str, name: str, value: Any, dtype: str | None = "float32") -> Any:
    """Prepare `value` as output of the extension: as `as_input`, but nothing is copied.

    Raises InputError when `value` is read-only, not row-major or masked.
    """
    refuse_masked(f"{where}: {name}", value)
    if isinstance(value, np.ndarray):
        _check_dtype(where, name, value, dtype)
        if not _passes_through(value):
            raise InputError(
                f"{where}: {name}: expected a writable row-major array, found "
                f"{'a read-only one' if not value.flags.writeable else f'strides {value.strides}'}"
            )
        return _bits(value)
    return _from_dlpack(where, name, value)


def as_array(where: str, name: str, value: Any) -> np.ndarray:
    """`value` as a NumPy array; accepts the same values as `as_input`."""
    refuse_masked(f"{where}: {name}", value)
    if isinstance(value, np.ndarray):
        return value
    return np.from_dlpack(_from_dlpack(where, name, value))


def _passes_through(array: np.ndarray) -> bool:
    return array.flags.c_contiguous and array.flags.writeable and array.flags.aligned


def _from_dlpack(where: str, name: str, value: Any) -> Any:
    import tvm_ffi

    if not hasattr(value, "__dlpack__"):
        raise ArgumentError(
            f"{where}: {name}: expected a NumPy array or a tensor with DLPack, "
            f"found {type(value).__name__}"
        )
    try:
        return tvm_ffi.from_dlpack(value)
    except (BufferError, RuntimeError, ValueError) as error:
        raise ArgumentError(
            f"{where}: {name}: this {type(value).__name__} cannot export its memory: {error}"
        ) from error


def _constant(name: str, where: str, value: Any, stated: dict[str, Any]) -> Any:
    """A constant in a form that the extension can read. Its shape is checked before anything is
    copied."""
    given = described(where, name, value, stated.get("dtype"))
    shape = [int(size) for size in given.shape]
    if shape != stated.get("shape", shape):
        raise InputError(
            f"{where}: constant '{stated['name']}': expected shape {tuple(stated['shape'])}, found "
            f"{tuple(shape)}"
        )
    dense = isinstance(given, np.ndarray) and _is_dense(given)
    return _readable(given) if dense else row_major(given)


def _is_dense(value: np.ndarray) -> bool:
    """Whether the elements of an array are contiguous in memory, for some order of its axes."""
    order = sorted(range(value.ndim), key=lambda axis: -value.strides[axis])
    return value.flags.aligned and value.transpose(order).flags.c_contiguous


class DnnlRegion:
    """A region of a network, compiled: `DnnlRegion(graph, constants)(*inputs)` are its outputs.

    `graph` is the JSON graph of native/README.md as a dict, `constants` its constants in order
    (copied, unless all are immutable arrays). Primitives are created and constants reordered here,
    once, for `threads` threads; by default the number set for this thread. Calls from several
    threads are serialized.

    If every operation computes each sample separately, the inputs may have a different batch size
    (leading axis) than the graph, equal for all inputs. The first call with a batch size creates
    primitives for it; the primitives of the last eight sizes are kept. Weights given as inputs keep
    their shapes.

    `layouts` determines the layouts of convolutions. "fixed": blocks of channels, always the same
    for the same graph. "any": the layouts that oneDNN prefers for each convolution. "measured": the
    fastest of three choices (blocks of channels, oneDNN's preference, a mixture), found by running
    the region a few times at its creation; a region with little work is not run and gets blocks of
    channels. `stats()` reports the choice and the measured times. Results of different layouts are
    equal within rounding, not bit for bit.

    Raises InputError or ArgumentError that names the op and the tensor if the graph or a constant
    is malformed, ArgumentError for other `layouts`, NativeExtensionError if the extension is not
    built.
    """

    def __init__(
        self,
        graph: dict[str, Any],
        constants: Sequence[Any] = (),
        *,
        threads: int | None = None,
        layouts: str = "fixed",
    ) -> None:
        create = function("create_graph")
        where = f"graph '{graph.get('symbol', '?')}'"
        tensors = graph["tensors"]
        stated = [tensors[i] for i in graph["constants"]]
        held = [
            _constant(f"constant {i}", where, value, stated[i] if i < len(stated) else {})
            for i, value in enumerate(constants)
        ]
        with using_threads(threads):
            keep = all(map(is_immutable, constants))
            self.module = create(json.dumps(graph), held, keep, layouts)
        """The tvm_ffi.Module; it can be imported into another one, saved and exported."""
        if len(held) < len(graph["constants"]):
            raise InputError(
                f"{where}: expected {len(graph['constants'])} constants, found {len(held)}"
            )
        self.graph = DnnlGraph(graph)
        """The region as data (native/README.md documents it); displayed as a drawing."""
        self.symbol: str = graph["symbol"]
        self._where = where
        self._function = self.module[self.symbol]
        self._inputs = [tensors[i]["name"] for i in graph["inputs"]]
        self._dtypes = [tensors[i]["dtype"] for i in graph["inputs"]]
        self._input_shapes = [tuple(tensors[i]["shape"]) for i in graph["inputs"]]
        self._output_shapes = [tuple(tensors[i]["shape"]) for i in graph["outputs"]]
        self._output_dtypes = [tensors[i]["dtype"] for i in graph["outputs"]]

    def __call__(self, *inputs: Any) -> list[np.ndarray]:
        """Run on an array or DLPack tensor of its dtype for each input; returns new arrays."""
        if len(inputs) != len(self._inputs):
            raise ArgumentError(
                f"{self._where}: expected {counted(len(self._inputs), 'input')} "
                f"({', '.join(self._inputs)}), found {len(inputs)}"
            )
        given = [
            described(self._where, f"input '{name}'", value, dtype)
            for name, value, dtype in zip(self._inputs, inputs, self._dtypes, strict=True)
        ]
        shapes = self._shapes_of_outputs(given)
        held = [row_major(value) for value in given]
        outputs = [
            aligned_empty(shape, dtype)
            for shape, dtype in zip(shapes, self._output_dtypes, strict=True)
        ]
        self._function(*held, *map(_bits, outputs))
        return outputs

    def _shapes_of_outputs(self, inputs: Sequence[Any]) -> Sequence[Sequence[int]]:
        shapes = [tuple(value.shape) for value in inputs]
        if shapes == self._input_shapes:
            return self._output_shapes
        output_shapes: Sequence[Sequence[int]] = self.module["output_shapes"](shapes)
        return output_shapes

    def stats(self) -> dict[str, Any]:
        """Statistics of the region: native/README.md lists the entries."""
        stats: dict[str, Any] = json.loads(self.module["get_stats"]())
        return stats

    @property
    def c_source(self) -> str:
        """C++ code that uses oneDNN's public API and computes the same, with the command to compile
        it."""
        from byoc_lab.backends.dnnl.cpp.source import cpp_source

        return cpp_source(self.graph)

    @property
    def kernels(self) -> CompiledKernels:
        """The kernels of the operations, as oneDNN reports them: a table. The times are from the
        last run with profiling (`set_profiling`)."""
        return CompiledKernels(map(CompiledKernel.of, self.stats()["ops"]))

    def set_profiling(self, on: bool) -> None:
        """Enable or disable the timing of each operation in later calls; `stats()` has the times of
        the last call."""
        self.module["set_profiling"](on)

    def __repr__(self) -> str:
        return f"DnnlRegion({self.symbol!r}, inputs={self._inputs}, outputs={self._output_shapes})"
