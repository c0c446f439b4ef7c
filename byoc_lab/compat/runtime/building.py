"""`relay.build` and related names, on byoc_lab's builder.

The host part is compiled by apache-tvm (Relay -> Relax -> LLVM), external functions by byoc_lab's
registered back ends.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

from byoc_lab.compat.runtime.compiling import compiled, outlined
from byoc_lab.compat.runtime.executor_options import Executor, Runtime
from byoc_lab.compat.runtime.library import Library, load_library
from byoc_lab.compat.runtime.optimizing import as_module, check_target, optimize
from byoc_lab.errors import BuildError
from byoc_lab.passes import InferType
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule

# TVM's names for the results of `relay.build`.
ExecutorFactoryModule = GraphExecutorFactoryModule = AOTExecutorFactoryModule = Library


def build(
    ir_mod: IRModule | Function,
    target: Any = None,
    target_host: Any = None,
    executor: Any = None,
    runtime: Any = None,
    workspace_memory_pools: Any = None,
    constant_memory_pools: Any = None,
    params: Mapping[str, Any] | None = None,
    mod_name: str = "default",
) -> Library:
    """Compile a module for this machine's CPU, with `params` (by name) as constants.

    The program runs in this process: the C runtime (`Runtime("crt")`) is not supported, which a
    warning says. Raises BuildError for a target other than a CPU and for a region of ccompiler that
    neither byoc_lab nor TVM can translate to C; otherwise the errors of `byoc_lab.build`.
    """
    check_target(target)
    if runtime is not None and runtime.name != "cpp":
        told = f"the program runs in this process ('cpp'); {runtime!r} is not supported"
        warnings.warn(told, UserWarning, stacklevel=2)
    mod = InferType()(as_module(ir_mod))  # a pass, so that instruments observe the build
    built = compiled(outlined(mod), params, target)
    return Library(built.mod, built, mod_name, target)


class BuildModule:
    """`build` and `optimize` as one object, which keeps the last result."""

    def __init__(self) -> None:
        self._built: Library | None = None

    def build(
        self, mod: IRModule | Function, target: Any = None, *args: Any, **options: Any
    ) -> tuple[str, Library, dict[str, Any]]:
        """(graph_json, library, params); see `build`."""
        self._built = build(mod, target, *args, **options)
        return self.get_graph_json(), self._built, self._built.params

    def optimize(
        self, mod: IRModule | Function, target: Any = None, target_host: Any = None,
        params: Mapping[str, Any] | None = None,
    ) -> tuple[IRModule, dict[str, Any]]:  # fmt: skip
        """The optimized module before code generation; see `optimize`."""
        return optimize(mod, target, params)

    def get_module(self) -> Library:
        """The library that was built. Raises BuildError if nothing was built."""
        if self._built is None:
            raise BuildError("nothing was built: call build(mod, target) first")
        return self._built

    def get_graph_json(self) -> str:
        return self.get_module().graph_json

    def get_params(self) -> dict[str, Any]:
        return self.get_module().params


__all__ = ["AOTExecutorFactoryModule", "BuildModule", "Executor", "ExecutorFactoryModule",
           "GraphExecutorFactoryModule", "Library", "Runtime", "as_module", "build", "check_target",
           "load_library", "optimize"]  # fmt: skip
