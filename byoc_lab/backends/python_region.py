"""A region whose code is a Python function over NumPy arrays, in this or a separate process."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from byoc_lab.backends.child_process import TIME_LIMIT, checked_limit, in_child, in_this_process
from byoc_lab.backends.module_region import TypedRegion
from byoc_lab.backends.system_compiler import C, c_library
from byoc_lab.errors import ArgumentError, BuildError, RegionError, counted
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.ndarray import numpy_dtype, refuse_masked
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.run.backends import CompiledRegion
from byoc_lab.run.operands import missing_arguments
from byoc_lab.run.tvm_runtime import packed

Kernel = Callable[..., Any]

# The C source of a library whose function (named by a region's symbol) calls a global TVM-FFI
# function.
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

TOO_FEW_ARRAYS = re.compile(
    r"IndexError|required positional argument|not enough values to unpack|arguments? but \d+ w"
)
"""Python's messages for a function that expects more arrays than the region has parameters."""

_numbers = itertools.count()


class PythonRegion:
    """A region computed by a Python function; a code generator returns it.

        byoc_lab.backends.register(
            "npu",
            supports=["nn.relu"],
            codegen=lambda function, symbol: PythonRegion(lambda x: np.maximum(x, 0)),
        )

    fn: takes the region's inputs as read-only NumPy arrays, and returns its result: an array, or a
        tuple or list of arrays for a region with a tuple as result. Shapes and dtypes are verified
        against the region's type.
    isolated: run each call in a separate process (a fork of this one, so that `fn` may be any
        function, also one that calls kernels through ctypes). A crash, or a call of more than
        `time_limit` seconds, raises RegionError, and this process continues. Needs an operating
        system that forks (Linux). Changes that `fn` makes in memory are lost after each call.
    time_limit: seconds of processor time for one isolated call.

    An executable with such a region runs in this process only: it cannot be exported.

    Raises ArgumentError for arguments of a wrong type.
    """

    def __init__(self, fn: Kernel, *, isolated: bool = False, time_limit: float = TIME_LIMIT):
        if not callable(fn):
            raise ArgumentError(
                f"PythonRegion must get a function over NumPy arrays, found {type(fn).__name__}"
            )
        self.fn = fn
        self.isolated = isolated
        self.time_limit = checked_limit(time_limit, isolated)

    def bind(self, function: Function, symbol: str) -> BoundPythonRegion:
        """The compiled region of one external function; `build` calls this."""
        return BoundPythonRegion(function, symbol, self)


class BoundPythonRegion(TypedRegion):
    """A PythonRegion with the external function that it computes."""

    module = None  # the executable calls this object

    def __init__(self, function: Function, symbol: str, kernel: PythonRegion):
        super().__init__(function, symbol)
        self.kernel = kernel
        # `fn` may be a ReferenceRegion.
        self.stand_in: str | None = getattr(kernel.fn, "stand_in", None)

    def __call__(self, *inputs: Any) -> list[np.ndarray]:
        call = partial(self._computed, self._held(inputs))
        try:
            if self.kernel.isolated:
                computed: list[np.ndarray] = in_child(self.symbol, call, self.kernel.time_limit)
            else:
                computed = in_this_process(self.symbol, call)
        except RegionError as error:
            missing = missing_arguments(self.function)
            if missing and TOO_FEW_ARRAYS.search(str(error)):
                raise RegionError(f"{error}. {missing}") from error
            raise
        return computed

    def _held(self, inputs: Sequence[Any]) -> list[np.ndarray]:
        """The inputs as read-only arrays, because the host or another region may read them
        later."""
        held = []
        for value, ty in zip(inputs, self._inputs, strict=True):
            array = np.asarray(value, numpy_dtype(ty.dtype)).view()
            array.flags.writeable = False
            held.append(array)
        return held

    def forwarding_module(self) -> Any:
        """A TVM-FFI module that calls the region, for programs not built with `byoc_lab.build`,
        such as Relax modules. Needs a C compiler."""
        import tvm_ffi

        name = f"byoc_lab.python_region.{next(_numbers)}"
        for error in (RegionError, KeyboardInterrupt):
            tvm_ffi.register_error(error.__name__, error)
        tvm_ffi.register_global_func(name, packed(self, len(self._inputs)), override=True)
        return c_library(self.symbol, [C(FORWARD.format(symbol=self.symbol, name=name))])

    def _computed(self, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
        """Call the function and verify its results. Both happen in the same process, so an isolated
        process returns only valid arrays."""
        result = self.kernel.fn(*inputs)
        fields = list(result) if isinstance(result, (tuple, list)) else [result]
        if len(fields) != len(self._outputs):
            raise RegionError(
                f"region @{self.symbol}: its function returned {counted(len(fields), 'array')}, "
                f"expected {len(self._outputs)}: the results of the region"
            )
        typed = zip(fields, self._outputs, strict=True)
        return [self._field(n, value, ty) for n, (value, ty) in enumerate(typed)]

    def _field(self, n: int, value: Any, ty: TensorType) -> np.ndarray:
        refuse_masked(f"region @{self.symbol}: result {n} of its function", value)
        if value is None:
            raise RegionError(
                f"region @{self.symbol}: its function returned None, expected {ty} (is a return "
                f"missing?)"
            )
        array = np.array(value, copy=None, subok=False)
        if array.shape != tuple(ty.concrete_shape) or str(array.dtype) != ty.dtype:
            raise RegionError(
                f"region @{self.symbol}: result {n} of its function has shape "
                f"{array.shape} and dtype {array.dtype}, expected {ty}"
            )
        return array


def linkable(region: CompiledRegion) -> Any:
    """The TVM-FFI module of a region, for programs not built with `byoc_lab.build`.

    Raises BuildError for a region without a module, and for a Python region if there is no C
    compiler.
    """
    if isinstance(region, BoundPythonRegion):
        return region.forwarding_module()
    if region.module is None:
        raise BuildError(
            f"a {type(region).__name__} has no module of TVM-FFI to be linked; return a "
            f"PythonRegion, or a ModuleRegion"
        )
    return region.module
