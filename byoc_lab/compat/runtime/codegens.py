"""Registers the code generators of TVM scripts as back ends of byoc_lab.

    @tvm.register_func("relay.ext.npu")
    def compile_for_npu(function):
        return tvm.runtime._ffi_api.CSourceModuleCreate(text, "c", [symbol], [])

A code generator may also return a module that apache-tvm compiled. The system's compiler compiles C
and C++, with the headers of TVM 0.16's calling convention in `include/` beside this file.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from byoc_lab.backends import ModuleRegion
from byoc_lab.backends.system_compiler import C, Cpp, SourceText, c_library
from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.contrib import register_optimizer
from byoc_lab.run.backends import CompiledRegion, backend_names, register_backend
from byoc_lab.run.symbols import checked_symbol
from byoc_lab.run.tvm_runtime import import_tvm

CODEGEN = "relay.ext."
OPTIMIZE, CONSTANTS = "optimize", "constant_updater"
INCLUDE = Path(__file__).parent / "include"
_LANGUAGES: dict[str, type[C | Cpp]] = {"c": C, "cc": Cpp, "cpp": Cpp, "cxx": Cpp}
_hooks: dict[str, set[str]] = {}


class CSourceModule:
    """A module of uncompiled C ("c") or C++ ("cc", "cpp"): TVM's CSourceModuleCreate.

    func_names: the packed functions that it defines; by default the function of the region.
    const_vars: constants that TVM would pass to the code when it is loaded. They raise BuildError
    here, because a region's constants are in its function (`relay.Constant`).
    """

    type_key = kind = "c"

    def __init__(
        self,
        code: str,
        fmt: str = "c",
        func_names: Sequence[str] = (),
        const_vars: Sequence[str] = (),
    ):
        self.code, self.format = str(code), str(fmt)
        self.func_names, self.const_vars = list(func_names), list(const_vars)
        self.imported_modules: list[CSourceModule] = []

    def get_source(self, fmt: str = "") -> str:
        return self.code

    inspect_source = get_source

    def import_module(self, module: CSourceModule) -> None:
        """Compile another source into the same library."""
        if not isinstance(module, CSourceModule):
            raise BuildError(
                f"a C source can be linked with other C sources, found {type(module).__name__}; "
                f"return one module for each region"
            )
        self.imported_modules.append(module)


CSourceModuleCreate = CSourceModule


class SourceRegion(ModuleRegion):
    """A region for which a script generated C or C++: `source`, in the language `format`."""

    def __init__(self, function: Function, symbol: str, written: CSourceModule, compiler: str):
        self.source, self.format = written.code, written.format
        super().__init__(function, symbol, _compiled(written, symbol, compiler))


def register_codegen(compiler: str, generate: Callable[[Function], Any]) -> None:
    """Let `generate`, TVM's "relay.ext.<compiler>", compile the regions of a compiler.

    Patterns and predicates are registered separately, before or after, as in TVM
    (`register_pattern_table`, `register_op_attr`).
    """

    def codegen(function: Function, symbol: str) -> CompiledRegion:
        return linked(generate(function), function, symbol, compiler)

    register_backend(compiler, codegen)


def register_hook(compiler: str, hook: str, function: Callable[..., Any]) -> None:
    """Record "relay.ext.<compiler>.<hook>". The hook "optimize" is passed to PartitionGraph."""
    if hook == OPTIMIZE:
        register_optimizer(compiler, function)
    else:
        _hooks.setdefault(compiler, set()).add(hook)


def check_hooks(mod: IRModule) -> None:
    """Raise BuildError if only a hook that byoc_lab does not call could compile the regions."""
    for function in mod.functions.values():
        compiler = str(function.attrs.get("Compiler", ""))
        hooks = _hooks.get(compiler, set()) - {CONSTANTS}
        if hooks and compiler not in backend_names():
            names = ", ".join(f"{CODEGEN}{compiler}.{hook}" for hook in sorted(hooks))
            raise BuildError(
                f"{names}: registered, but byoc_lab does not call it; regions of "
                f"{compiler!r} are compiled by {CODEGEN}{compiler}, a function from the region's "
                f"Relay function to a module"
            )


def linked(generated: Any, function: Function, symbol: str, compiler: str) -> CompiledRegion:
    """The region for the result of a code generator. Raises BuildError if it cannot be linked."""
    if isinstance(generated, CSourceModule):
        return SourceRegion(function, symbol, generated, compiler)
    runtime = import_tvm().runtime
    if isinstance(generated, runtime.Module):
        generated = runtime.Executable(generated)
    if isinstance(generated, runtime.Executable):
        return ModuleRegion(function, symbol, generated.jit())
    if hasattr(generated, "module") and hasattr(generated, "stats"):
        return generated
    raise BuildError(
        f"{CODEGEN}{compiler} returned {type(generated).__name__} for region @{symbol}, not a "
        f"module: return runtime.CSourceModuleCreate(...), a result of tvm.build, or a "
        f"byoc_lab.backends.ModuleRegion"
    )


def _compiled(module: CSourceModule, symbol: str, compiler: str) -> Any:
    sources: list[SourceText] = []
    todo = [module]
    while todo:
        one = todo.pop()
        todo += one.imported_modules
        if one.const_vars:
            raise BuildError(
                f"{CODEGEN}{compiler}: the source of region @{symbol} needs the constants "
                f"{', '.join(map(str, one.const_vars))} at load time (const_vars), but byoc_lab "
                f"neither passes constants nor calls {CODEGEN}{compiler}.{CONSTANTS}; "
                f"write the constants of the function into the source"
            )
        if one.format not in _LANGUAGES:
            raise BuildError(
                f"{CODEGEN}{compiler}: region @{symbol} is written in {one.format!r}; sources "
                f"are compiled in {', '.join(map(repr, _LANGUAGES))}"
            )
        names = one.func_names or ([symbol] if one is module else [])
        exports = "".join(f"BYOC_LAB_EXPORT({checked_symbol(name)})\n" for name in names)
        text = f"{one.code}\n#include <tvm/runtime/c_runtime_api.h>\n{exports}"
        sources.append(_LANGUAGES[one.format](text))
    return c_library(symbol, sources, includes=[INCLUDE])


__all__ = ["CSourceModule", "CSourceModuleCreate", "check_hooks", "linked", "register_codegen",
           "register_hook"]  # fmt: skip
