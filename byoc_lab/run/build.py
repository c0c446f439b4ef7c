"""Building a module: regions by their back ends, everything else by TVM (Relax, LLVM), or by NumPy
if apache-tvm is missing."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextvars import copy_context
from typing import Any

from byoc_lab.errors import (
    ArgumentError,
    BuildError,
    ByocLabError,
    MissingDependencyError,
    NativeExtensionError,
    UnknownNameError,
    enumerated,
    nearest,
    place_outside,
)
from byoc_lab.passes.framework.passes import Sequential
from byoc_lab.passes.quantize import qnn_transform
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.expr import Function, GlobalVar
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TupleType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.backends import (
    Codegen,
    CompiledRegion,
    backend_names,
    check_layouts,
    get_backend,
    has_backend,
    using_layouts,
)
from byoc_lab.run.dynamic import DynamicExecutable
from byoc_lab.run.executable import Executable, is_external
from byoc_lab.run.hosts.host import Host, LinkedRegion
from byoc_lab.run.hosts.numpy_host import NumpyHost
from byoc_lab.run.hosts.tvm_host import TvmHost
from byoc_lab.run.inline import flattened
from byoc_lab.run.inputs import checked_module
from byoc_lab.run.operands import missing_arguments
from byoc_lab.run.shaped import has_unknown_sizes
from byoc_lab.run.symbols import checked_symbol, shown
from byoc_lab.run.tvm_runtime import stand_in


class OffloadWarning(UserWarning):
    """A region does not run on the back end that it was partitioned for."""


def build(
    mod: IRModule,
    params: Mapping[str, Any] | None = None,
    target: str = "llvm",
    *,
    backends: Mapping[str, Codegen | None] | None = None,
    offload: bool = True,
    fallback: bool = False,
    layouts: str = "fixed",
) -> Executable:
    """Compile `mod` to something that runs.

    Without apache-tvm, the NumPy reference computes everything outside regions, and
    `Executable.stand_ins` says so.

    params: values (by name) of parameters of @main that become constants.
    target: TVM's target (a CPU) for the part that is not offloaded.
    backends: code generators to use instead of the registered ones; None for a compiler means that
        TVM compiles its regions.
    offload: if False, TVM compiles all regions, as with `backends={compiler: None}` for every
        compiler.
    fallback: a region that its back end cannot compile, or whose back end is missing, is compiled
        by TVM, with an OffloadWarning; by default that is an error.
    layouts: how DNNL's convolutions get their layouts. "fixed": by a rule, so that two builds of a
        module compute the same bits; "measured": the fastest layouts found by running each region,
        which may differ between builds, and so may rounding. Cards state the choice, and an
        exported library keeps it. Other back ends may follow it (`run.backends.wanted_layouts`).

    Functions, references and data must be known before the module runs (see `run.inline`): they
    are evaluated away, except recursive functions.

    Quantized operators outside regions are lowered first, as TVM's build does, so that the active
    `relay.qnn.op.requantize_config` counts.

    Inputs may have unknown dimensions: then each run with new shapes compiles the module for them
    first (`DynamicExecutable`).

    Several threads may build at once; they take turns for the part that TVM compiles.

    Raises BuildError (no translation, a region refused), PassError (a quantized operator that
    cannot be lowered), UnknownNameError (no such back end), MissingDependencyError (a back end
    needs apache-tvm-ffi).
    """
    checked_module(mod, "build")
    _check_options(params, target, backends)
    check_layouts("build", layouts)
    for name, flag in (("offload", offload), ("fallback", fallback)):
        if not isinstance(flag, bool):
            raise ArgumentError(f"build: {name} must be True or False, found {flag!r:.80}")
    if params:
        mod = mod.copy()
        mod["main"] = bind_params_by_name(mod["main"], params)
    mod = infer_module(mod)
    if has_unknown_sizes(mod["main"]):

        def make(known: IRModule, empty: bool) -> Executable:
            """Builds for inputs of known shapes. If one of the tensors has no elements (`empty`),
            nothing is offloaded, because back ends may reject such tensors."""
            do = offload and not empty
            return build(
                known,
                None,
                target,
                backends=backends,
                offload=do,
                fallback=fallback,
                layouts=layouts,
            )

        return DynamicExecutable(mod, make)
    mod = Sequential(
        [qnn_transform.Legalize(), qnn_transform.CanonicalizeOps()], name="qnn.Legalize"
    )(mod)
    if offload:
        _warn_of_local_functions(mod)
    with using_layouts(layouts):
        regions = linked_regions(mod, backends, offload=offload, fallback=fallback)
    linked = {mod[gv] for gv, region in regions.items() if region.compiled is not None}
    flat = flattened(mod["main"], mod, keep=lambda function: function in linked)
    made, missing = list(regions.values()), stand_in()
    host: Host
    host = NumpyHost(flat, made, missing) if missing else TvmHost(flat, mod["main"], made, target)
    return Executable(mod, host, made)


def linked_regions(
    mod: IRModule,
    backends: Mapping[str, Codegen | None] | None = None,
    *,
    offload: bool = True,
    fallback: bool = False,
) -> dict[GlobalVar, LinkedRegion]:
    """The external functions that @main of a typed module reaches, compiled by their back ends.

    Arguments and errors are those of `build`, which also compiles the rest. Regions of code
    generators with `concurrent` set are compiled at the same time.
    """
    given = backends or {}

    def link(gv: GlobalVar) -> LinkedRegion:
        return _link(gv, mod[gv], given, offload, fallback)

    called = external_calls(mod)
    known = {str(mod[gv].attrs["Compiler"]) for gv in called} | set(backend_names())
    if unknown := sorted(set(given) - known):
        raise UnknownNameError(
            f"build: backends has {unknown[0]!r}, and no region and no back end has that name; "
            f"{nearest(unknown[0], sorted(known))}"
        )
    together = [gv for gv in called if offload and _concurrent(mod[gv], given)]
    if len(together) < 2:
        return {gv: link(gv) for gv in called}
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor() as pool:
        try:
            started = {gv: pool.submit(copy_context().run, link, gv) for gv in together}
            return {gv: started[gv].result() if gv in started else link(gv) for gv in called}
        except BaseException:
            pool.shutdown(cancel_futures=True)
            raise


def _check_options(params: Any, target: Any, backends: Any) -> None:
    """Raises ArgumentError for an option of the wrong kind."""
    for name, value in (("params", params), ("backends", backends)):
        if value is not None and not isinstance(value, Mapping):
            raise ArgumentError(
                f"build: {name} must be a dict by name, found {type(value).__name__} {value!r:.80}"
            )
    if not isinstance(target, str):
        raise ArgumentError(
            f'build: target must be a str such as "llvm", found {type(target).__name__} '
            f"{target!r:.80}"
        )
    for name, value in (params or {}).items():
        if callable(value):
            raise ArgumentError(
                f"build: params[{name!r}] must be an array, found {type(value).__name__}; code "
                f"generators are given as backends="
            )
    for compiler, codegen in (backends or {}).items():
        if codegen is not None and not callable(codegen):
            raise ArgumentError(
                f"build: backends[{compiler!r}] must be a function (function, symbol) -> compiled "
                f"region, or None, found {type(codegen).__name__} {codegen!r:.80}"
            )


def external_calls(mod: IRModule) -> list[GlobalVar]:
    """The external functions that @main reaches, in the order of their calls."""
    found: dict[GlobalVar, None] = {}
    done: set[GlobalVar] = set()
    todo = [mod["main"]]
    while todo:
        mentioned = (part for node in post_order(todo.pop()) for part in node.parts())
        for gv in mentioned:
            if isinstance(gv, GlobalVar) and gv in mod and gv not in done:
                done.add(gv)
                if is_external(mod[gv]):
                    found[gv] = None
                else:
                    todo.append(mod[gv])
    return list(found)


def _concurrent(function: Function, backends: Mapping[str, Codegen | None]) -> bool:
    compiler = str(function.attrs["Compiler"])
    if compiler not in backends and not has_backend(compiler):
        return False  # `_link` reports the missing back end
    return getattr(backends.get(compiler) or get_backend(compiler), "concurrent", False)


def _link(
    gv: GlobalVar,
    function: Function,
    backends: Mapping[str, Codegen | None],
    offload: bool,
    fallback: bool,
) -> LinkedRegion:
    compiler, symbol = str(function.attrs["Compiler"]), gv.name_hint
    if not offload or (compiler in backends and backends[compiler] is None):
        without = (
            "was given None as its code generator" if offload else "was told not to offload it"
        )
        why = f"build() {without}"
        return LinkedRegion(symbol, compiler, function, None, why, stand_in=stand_in())
    try:
        codegen = backends.get(compiler) or get_backend(compiler)
        check_tensors(compiler, function, symbol)
        made = generated(codegen, compiler, function, checked_symbol(symbol))
        compiled = checked_region(made, compiler, function, symbol)
    except (BuildError, MissingDependencyError, NativeExtensionError, UnknownNameError) as error:
        if not fallback:
            raise
        left = LinkedRegion(symbol, compiler, function, None, str(error), stand_in=stand_in())
        warnings.warn(
            f"region @{shown(symbol)} of {compiler} runs on the host ({left.facts.ran_on}): "
            f"{error}",
            OffloadWarning,
            stacklevel=3,
        )
        return left
    missing = getattr(compiled, "stand_in", None)
    code = compiled.module
    return LinkedRegion(symbol, compiler, function, compiled, None, codegen, code, missing)


def _warn_of_local_functions(mod: IRModule) -> None:
    """Warn about external functions that are not global, which no back end gets."""
    unnamed = "a function without a symbol"
    local = [
        f"{node.attrs.get('ExternalSymbol') or unnamed} of {node.attrs['Compiler']}"
        for function in mod.functions.values()
        if not is_external(function)
        for node in post_order(function)
        if isinstance(node, Function) and is_external(node)
    ]
    if local:
        warnings.warn(
            f"on the host: {enumerated(local)}, defined inside another function; build gives "
            f"back ends global functions only. Partition the annotated module with "
            f"transform.PartitionGraph() without era",
            OffloadWarning,
            stacklevel=3,
        )


def check_tensors(compiler: str, function: Function, symbol: str) -> None:
    """Raises BuildError for a parameter that is not a tensor: compiled regions get tensors."""
    for param in function.params:
        ty = param.checked_type
        if isinstance(ty, TupleType):
            raise BuildError(
                f"region @{shown(symbol)} of {compiler}: parameter %{param.name_hint} is a tuple, "
                f"expected a tensor, found {ty}. Put compiler_begin on the fields of the tuple, so "
                f"that the region makes the tuple itself"
            )


def generated(codegen: Codegen, compiler: str, function: Function, symbol: str) -> Any:
    """The result of a code generator. Raises BuildError if the generator raises an exception that
    is not byoc_lab's."""
    try:
        return codegen(function, symbol)
    except ByocLabError:
        raise
    except Exception as error:
        missing = missing_arguments(function)
        raise BuildError(
            f"the code generator of back end {compiler!r} failed for the function @{symbol}"
            f"{place_outside(error)}: {type(error).__name__}: {error}. It is called as "
            f"codegen(function, symbol){f'. {missing}' if missing else ''}"
        ) from error


def checked_region(compiled: Any, compiler: str, function: Function, symbol: str) -> CompiledRegion:
    """The compiled region that a code generator returned, bound to its function if it can be.

    Raises BuildError.
    """
    if hasattr(compiled, "bind"):
        compiled = compiled.bind(function, symbol)
    if not hasattr(compiled, "module") or not callable(compiled):
        example = "PythonRegion"
        if hasattr(compiled, "implements_function"):  # a TVM-FFI module, such as c_library returns
            example = "ModuleRegion(function, symbol, module) for a module"
        raise BuildError(
            f"the code generator of back end {compiler!r} returned {type(compiled).__name__} for "
            f"the function @{symbol}; it must return a compiled region "
            f"(byoc_lab.run.CompiledRegion, for example byoc_lab.backends.{example}), or raise "
            f"BuildError for what it cannot compile. For a module of Relay, build(fallback=True) "
            f"compiles such functions with TVM"
        )
    region: CompiledRegion = compiled
    return region


__all__ = ["OffloadWarning", "build", "checked_region", "external_calls", "linked_regions"]
