"""Compiles a module of a TVM script with byoc_lab's builder."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from functools import partial
from typing import Any

from byoc_lab.backends import ccompiler
from byoc_lab.backends.c_source import c_source
from byoc_lab.compat.passes import OutlineCompilerFunctionsWithExistingGlobalSymbols
from byoc_lab.compat.runtime.codegens import check_hooks
from byoc_lab.compat.runtime.optimizing import targets_of
from byoc_lab.compat.runtime.region_target import RegionTarget
from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.expr import Call, Function, Tuple, TupleGetItem
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.backends import get_backend
from byoc_lab.run.build import OffloadWarning, build, check_tensors
from byoc_lab.run.executable import Executable
from byoc_lab.run.inline import inlined

TVM_OPERATORS = ("add", "subtract", "multiply")
TVM_DTYPES = ("float32", "float16", "bfloat16", "int8", "uint8", "int32", "int64")
"""The operators and dtypes that TVM 0.16's codegen.cc of "ccompiler" translates; it rejects others
with "Unrecognized op" and "Unsupported dtype"."""


def compiled(
    mod: IRModule, params: Mapping[str, Any] | None = None, target: Any = None
) -> Executable:
    header = _header(target)
    on_host = _left_to_host(mod)
    if on_host:
        unused = "; header unused" if header else ""
        warnings.warn(
            "the host compiles the regions of ccompiler, because byoc_lab's ccompiler cannot "
            f"translate @{on_host[0]} to C{unused}",
            OffloadWarning,
            stacklevel=3,
        )
        return build(mod, params, backends={ccompiler.NAME: None})
    codegens = {ccompiler.NAME: partial(ccompiler.CRegion, header=header)} if header else None
    return build(mod, params, backends=codegens)


def _header(target: Any) -> str:
    """The header of the target "ccompiler" among the given targets."""
    found = (
        one.attrs.get("header", "") for one in targets_of(target) if isinstance(one, RegionTarget)
    )
    return next(found, "")


def _left_to_host(mod: IRModule) -> list[str]:
    """The regions of "ccompiler" that only TVM's back end of that name can compile, not byoc_lab's.

    Raises BuildError for a region that neither compiles.
    """
    if get_backend(ccompiler.NAME) is not ccompiler.CRegion:  # the script registered its own
        return []
    found = []
    for gv, function in mod.functions.items():
        if function.attrs.get("Compiler") == ccompiler.NAME:
            try:
                check_tensors(ccompiler.NAME, function, gv.name_hint)
                c_source(inlined(function), gv.name_hint)
            except BuildError:
                if not _in_tvm(function):
                    raise
                found.append(gv.name_hint)
    return found


def _in_tvm(function: Function) -> bool:
    """Whether TVM 0.16's "ccompiler" compiles a region: sums, differences and products."""
    return all(
        isinstance(n, Call)
        and n.op_name in TVM_OPERATORS
        and isinstance(n.checked_type, TensorType)
        and n.checked_type.dtype in TVM_DTYPES
        for n in post_order(function.body)
        if isinstance(n, (Call, Tuple, TupleGetItem))
    )


def outlined(mod: IRModule) -> IRModule:
    """`mod` with inline external functions made global."""
    called = [n.op for f in mod.functions.values() for n in post_order(f) if isinstance(n, Call)]
    compilers = {f.attrs["Compiler"] for f in called if isinstance(f, Function) and _external(f)}
    check_hooks(mod)
    for compiler in sorted(compilers):
        mod = OutlineCompilerFunctionsWithExistingGlobalSymbols(compiler)(mod)
    return mod


def _external(function: Function) -> bool:
    return "Compiler" in function.attrs and "global_symbol" in function.attrs
