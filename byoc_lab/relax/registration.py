"""Registering DNNL as a code generator of Relax, as soon as TVM-FFI is there to register it with.

`import byoc_lab` must stay quick, and importing TVM-FFI is not; so the registration waits for
whoever imports it first.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

CODEGEN = "relax.ext.dnnl"
HOST = "tvm_ffi"


def register_codegen() -> None:
    """Register DNNL under the name that RunCodegen looks for. Registering again changes nothing."""
    import tvm_ffi

    if tvm_ffi.get_global_func(CODEGEN, allow_missing=True) is None:
        tvm_ffi.register_global_func(CODEGEN, _compile)


def register_codegen_when_possible() -> None:
    """`register_codegen` now when TVM-FFI is imported already, else when it is."""
    if HOST in sys.modules:
        register_codegen()
    elif not any(isinstance(finder, _Waiting) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Waiting())


def _compile(functions: Any, options: Any, constant_names: Any) -> list[Any]:
    """What RunCodegen asks for: one module for each function, their constants in them."""
    from byoc_lab.dnnl.codegen import compile_region
    from byoc_lab.relax.to_relay import to_relay

    return [compile_region(*to_relay(function)).module for function in functions]


class _Waiting(MetaPathFinder):
    """Lets Python import TVM-FFI as it would, and registers afterwards."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name != HOST:
            return None
        sys.meta_path.remove(self)
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.loader is None:
            return spec
        execute = spec.loader.exec_module

        def exec_module(module: Any) -> None:
            execute(module)
            register_codegen()

        spec.loader.exec_module = exec_module  # type: ignore[method-assign]
        return spec
