"""Code generators that RunCodegen of TVM calls: DNNL among them, and the errors they raise.

TVM-FFI must be there to register it with, and importing that takes long, so `import byoc_lab` does
it only where TVM-FFI is imported already. If TVM is imported later, the entry
point "tvm.backends" of this distribution registers it, which TVM calls at the end of its import.
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
    """Register DNNL under the name that RunCodegen looks for. Registering again changes nothing."""
    import tvm_ffi

    keep_errors()
    if tvm_ffi.get_global_func(CODEGEN, allow_missing=True) is None:
        tvm_ffi.register_global_func(CODEGEN, _compile)


def is_registered(compiler: str) -> bool:
    """Whether RunCodegen finds a code generator of that name."""
    import tvm_ffi

    return tvm_ffi.get_global_func(f"{PREFIX}{compiler}", allow_missing=True) is not None


def keep_errors() -> None:
    """Let errors of checks and code generators that TVM calls come out of TVM with their class."""
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
