"""Registers code generators, including DNNL's, for TVM's RunCodegen, and preserves the errors they
raise. Registration needs TVM-FFI, whose import is slow, so `import byoc_lab` registers DNNL only if
TVM-FFI is already imported.

If TVM is imported later, it calls the entry point "tvm.backends" of this distribution at the end of
its import, which registers DNNL.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import (
    ArgumentError,
    BuildError,
    MissingDependencyError,
    NativeExtensionError,
    PredicateError,
)

TARGET = "dnnl"
PREFIX = "relax.ext."  # prefix of the names of registered code generators
CODEGEN = f"{PREFIX}{TARGET}"


def register_codegen() -> None:
    """Register DNNL under the name that RunCodegen looks up. Repeated calls have no effect."""
    import tvm_ffi

    keep_errors()
    if tvm_ffi.get_global_func(CODEGEN, allow_missing=True) is None:
        tvm_ffi.register_global_func(CODEGEN, _compile)


def is_registered(compiler: str) -> bool:
    """Whether RunCodegen finds a code generator for that name."""
    import tvm_ffi

    return tvm_ffi.get_global_func(f"{PREFIX}{compiler}", allow_missing=True) is not None


def keep_errors() -> None:
    """Within this context, errors of checks and code generators that TVM calls keep their class."""
    import tvm_ffi

    for error in (
        ArgumentError,
        BuildError,
        MissingDependencyError,
        NativeExtensionError,
        PredicateError,
    ):
        tvm_ffi.register_error(error.__name__, error)


def _compile(functions: Any, options: Any, constant_names: Any) -> list[Any]:
    """Compile each function to a module that contains its constants, as RunCodegen expects."""
    from byoc_lab.backends.dnnl.codegen import compile_region
    from byoc_lab.backends.python_region import linkable
    from byoc_lab.relax.to_relay import to_relay

    return [linkable(compile_region(*to_relay(function))) for function in functions]
