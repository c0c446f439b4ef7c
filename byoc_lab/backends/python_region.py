"""A region whose code is a Python function over NumPy arrays, here or in a process of its own."""

from __future__ import annotations

import itertools
import multiprocessing
import signal
import traceback
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from byoc_lab.backends.c_library import C, c_library
from byoc_lab.backends.module_region import ModuleRegion
from byoc_lab.errors import ArgumentError, RegionError
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.types import TensorType

Kernel = Callable[..., Any]

# TVM calls a region by its symbol in a library: this one passes the call on to a global function.
FORWARD = """
#include <string.h>
#include <tvm/ffi/c_api.h>

int __tvm_ffi_{symbol}(void* self, const TVMFFIAny* args, int32_t count, TVMFFIAny* result) {{
  static const char name[] = "{name}";
  TVMFFIByteArray key = {{name, sizeof(name) - 1}};
  TVMFFIObjectHandle function = NULL;
  int status = TVMFFIFunctionGetGlobal(&key, &function);
  if (status != 0) return status;
  status = TVMFFIFunctionCall(function, (TVMFFIAny*)args, count, result);
  TVMFFIObjectDecRef(function);
  return status;
}}
"""

_numbers = itertools.count()


class PythonRegion:
    """What a codegen returns to have a region computed by a Python function.

        byoc_lab.backends.register(
            "npu",
            supports=["nn.relu"],
            codegen=lambda function, symbol: PythonRegion(lambda x: np.maximum(x, 0)),
        )

    fn: takes the region's inputs as NumPy arrays, which it must not change, and returns its result:
        an array, or a tuple or list of arrays for a region with a tuple as result. Shapes and
        dtypes are verified against the region's type.
    isolated: run each call in a process of its own (a fork of this one, so that `fn` may be any
        function, with kernels that it loads through ctypes): a crash, or a call of more than
        `time_limit` seconds, is a RegionError, and this process goes on. Needs an operating system
        that forks (Linux). What `fn` changes in memory is lost after each call.
    time_limit: seconds for one isolated call.

    An executable with such a region runs in this process only: it cannot be exported. Calling its
    code needs a C compiler.

    Raises ArgumentError for arguments of another kind.
    """

    def __init__(self, fn: Kernel, *, isolated: bool = False, time_limit: float = 60.0):
        if not callable(fn):
            raise ArgumentError(
                f"PythonRegion must get a function over NumPy arrays, found {type(fn).__name__}"
            )
        if not time_limit > 0:
            raise ArgumentError(f"time_limit must be seconds above 0, found {time_limit!r}")
        if isolated and "fork" not in multiprocessing.get_all_start_methods():
            raise ArgumentError(
                "isolated=True needs an operating system that can fork a process (Linux); "
                "isolated=False runs the function in this process"
            )
        self.fn = fn
        self.isolated = isolated
        self.time_limit = time_limit

    def bind(self, function: Function, symbol: str) -> BoundPythonRegion:
        """The compiled region of one external function; `build` calls this."""
        return BoundPythonRegion(function, symbol, self)


class BoundPythonRegion(ModuleRegion):
    """A PythonRegion with the external function that it computes."""

    def __init__(self, function: Function, symbol: str, kernel: PythonRegion):
        import tvm_ffi

        self.kernel = kernel
        name = f"byoc_lab.python_region.{next(_numbers)}"
        super().__init__(
            function, symbol, c_library(symbol, [C(FORWARD.format(symbol=symbol, name=name))])
        )
        tvm_ffi.register_error("RegionError", RegionError)
        tvm_ffi.register_global_func(name, self._forwarded, override=True)

    def _forwarded(self, *tensors: Any) -> None:
        """Called by TVM with the inputs and then the outputs, as tensors."""
        arrays = [np.from_dlpack(tensor) for tensor in tensors]
        inputs, outputs = arrays[: len(self._inputs)], arrays[len(self._inputs) :]
        computed = self._computed(inputs)
        for output, value in zip(outputs, computed, strict=True):
            output[...] = value

    def _computed(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        run = _in_child if self.kernel.isolated else _here
        result = run(self.symbol, self.kernel, inputs)
        fields = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(fields) != len(self._outputs):
            raise RegionError(
                f"region @{self.symbol}: its Python function returned {len(fields)} arrays, and "
                f"the region has {len(self._outputs)} results"
            )
        typed = zip(fields, self._outputs, strict=True)
        return [self._field(n, value, ty) for n, (value, ty) in enumerate(typed)]

    def _field(self, n: int, value: Any, ty: TensorType) -> np.ndarray:
        array = np.asarray(value)
        if array.shape != tuple(ty.concrete_shape) or str(array.dtype) != ty.dtype:
            raise RegionError(
                f"region @{self.symbol}: result {n} of its Python function has shape "
                f"{array.shape} and dtype {array.dtype}, expected {ty}"
            )
        return array


def _here(symbol: str, kernel: PythonRegion, inputs: Sequence[np.ndarray]) -> Any:
    try:
        return kernel.fn(*inputs)
    except Exception as error:
        raise RegionError(_failed(symbol, error)) from error


def _failed(symbol: str, error: Exception) -> str:
    last = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"region @{symbol}: its Python function failed at {last.filename}:{last.lineno}: "
        f"{type(error).__name__}: {error}"
    )


def _in_child(symbol: str, kernel: PythonRegion, inputs: Sequence[np.ndarray]) -> Any:
    """The result of a call in a process forked for it; RegionError when that dies or hangs."""
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    child = context.Process(target=_answer, args=(sender, symbol, kernel, inputs), daemon=True)
    child.start()
    sender.close()
    try:
        if not receiver.poll(kernel.time_limit):
            raise RegionError(
                f"region @{symbol}: its function did not end within {kernel.time_limit:g} s (an "
                f"endless loop?); PythonRegion(..., time_limit=) allows more"
            )
        result, message = receiver.recv()
    except EOFError:
        child.join()
        raise RegionError(f"region @{symbol}: {_death(child.exitcode)}") from None
    finally:
        child.kill()
        child.join()
        receiver.close()
    if message is not None:
        raise RegionError(message)
    return result


def _answer(sender: Any, symbol: str, kernel: PythonRegion, inputs: Sequence[np.ndarray]) -> None:
    try:
        sender.send((_here(symbol, kernel, inputs), None))
    except RegionError as error:
        sender.send((None, str(error)))


def _death(code: int | None) -> str:
    if code is not None and code < 0:
        return f"its function crashed its process ({signal.Signals(-code).name}); see its kernel"
    return f"its function ended its process (exit status {code}) and returned nothing"
