"""A region whose code is a function in a TVM-FFI module."""

from __future__ import annotations

from typing import Any

import numpy as np

from byoc_lab.errors import ArgumentError, BuildError, RegionError
from byoc_lab.relay.analysis.costs import tensor_types
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.typing.infer import infer_expr


class TypedRegion:
    """Base of regions that know the types of their inputs and outputs, and have no statistics."""

    def __init__(self, function: Function, symbol: str):
        typed = function if function.is_typed else infer_expr(function)
        assert isinstance(typed, Function)
        self.function = typed
        self.symbol = symbol
        result = typed.ret_type if typed.ret_type is not None else typed.body.checked_type
        self._inputs = [p.checked_type for p in typed.params]
        self._outputs = [] if result is None else list(tensor_types(result))

    def stats(self) -> dict[str, Any]:
        return {}

    def set_profiling(self, on: bool) -> None:
        """Such regions are not timed operator by operator."""


class ModuleRegion(TypedRegion):
    """An external function and the module with its code, a function named `symbol`.

    The code takes the inputs and then the outputs, as in `run.CompiledRegion`. Calls are not
    counted here; `Executable` counts its runs.
    """

    def __init__(self, function: Function, symbol: str, module: Any):
        """Raises BuildError if the module has no function `symbol`, ArgumentError for arguments of
        a wrong type."""
        if not isinstance(function, Function) or not hasattr(module, "implements_function"):
            raise ArgumentError(
                "ModuleRegion takes the external function, its symbol, and the module that "
                "c_library made, found "
                + ", ".join(type(each).__name__ for each in (function, symbol, module))
            )
        from tvm_ffi import register_error

        super().__init__(function, symbol)
        register_error("RegionError", RegionError)  # errors that `tensor_argument.h` sets
        self.module = module
        if not module.implements_function(symbol, True):
            raise BuildError(
                f"region @{symbol}: the module that was generated for it ({module.kind}) has no "
                f"function {symbol!r}; the region's code must be there under the region's name"
            )
        self._function = module.get_function(symbol, True)

    def __call__(self, *inputs: Any) -> list[np.ndarray]:
        outputs = [np.empty(ty.concrete_shape, ty.dtype) for ty in self._outputs]
        held = [
            np.require(value, getattr(ty, "dtype", None), ["C", "W"])
            for value, ty in zip(inputs, self._inputs, strict=True)
        ]
        self._function(*held, *outputs)
        return outputs
