"""The names of `tvm` itself: the module, errors, and functions registered by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from byoc_lab.compat.runtime.codegens import CODEGEN, CSourceModule, register_codegen, register_hook
from byoc_lab.compat.runtime.nd import context, cpu, device
from byoc_lab.errors import ByocLabError, DiagnosticError, UnknownFunctionError
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.backends import backend_names, get_backend
from byoc_lab.run.tvm_runtime import import_tvm

TVMError = InternalError = OpError = OpNotImplemented = ByocLabError
"""TVM's errors are byoc_lab's, so that `except tvm.TVMError` catches what is raised here."""

__version__ = "0.16.0"
"""The version whose Relay byoc_lab follows."""

RUNTIMES = {"runtime.DNNLJSONRuntimeCreate": "dnnl"}
"""{global function that scripts look up to detect a back end: name of the back end}"""

_functions: dict[str, Callable[..., Any]] = {
    "runtime.CSourceModuleCreate": CSourceModule,
    "module.csource_module_create": CSourceModule,
}


def register_func(func_name: Any, f: Any = None, override: bool = False) -> Any:
    """Register a function by name; also a decorator, with or without the name.

    "relay.ext.<compiler>" becomes the code generator of a back end, "relay.ext.<compiler>.optimize"
    its optimizer. Functions of Relay are stored here, other functions in apache-tvm's registry.
    """
    if callable(func_name):
        return register_func(func_name.__name__, func_name, override)

    def register(function: Any) -> Any:
        if func_name.startswith("relay."):
            if func_name in _functions and not override:
                raise ValueError(f"global function {func_name} is already registered")
            _functions[func_name] = function
            if func_name.startswith(CODEGEN):
                compiler, _, hook = func_name[len(CODEGEN) :].partition(".")
                if hook:
                    register_hook(compiler, hook, function)
                else:
                    register_codegen(compiler, function)
        else:
            import_tvm().register_global_func(func_name, function, override)
        return function

    return register if f is None else register(f)


def get_global_func(name: str, allow_missing: bool = False) -> Any:
    """The function of that name; "relay.ext.<compiler>" is the code generator of a back end.

    Raises UnknownFunctionError, or returns None with `allow_missing`.
    """
    if name in _functions:
        return _functions[name]
    compiler = name[len(CODEGEN) :] if name.startswith(CODEGEN) else RUNTIMES.get(name)
    if compiler in backend_names():
        return get_backend(str(compiler))
    found = None
    if not name.startswith("relay."):
        found = import_tvm().get_global_func(name, allow_missing=True)
    if found is None and not allow_missing:
        raise UnknownFunctionError(
            f"no global function is registered as {name!r}; register it with "
            f"tvm.register_func({name!r}, function), or ask with allow_missing=True"
        )
    return found


def py_str(x: bytes) -> str:
    """Bytes as text."""
    return x.decode("utf-8")


def list_global_func_names() -> list[str]:
    """The names of the functions registered here and in apache-tvm."""
    return sorted({*_functions, *import_tvm().ffi.registry.list_global_func_names()})


__all__ = [
    "DiagnosticError", "IRModule", "InternalError", "OpError", "OpNotImplemented", "TVMError",
    "__version__", "context", "cpu", "device", "get_global_func", "list_global_func_names",
    "py_str", "register_func",
]  # fmt: skip
