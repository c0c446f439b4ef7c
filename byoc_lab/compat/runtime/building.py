"""`relay.build` and related names, on byoc_lab's builder.

The host part is compiled by apache-tvm (Relay -> Relax -> LLVM), external functions by byoc_lab's
registered back ends.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator, Mapping
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NoReturn

from byoc_lab.backends import ccompiler
from byoc_lab.backends.c_source import c_source
from byoc_lab.compat.passes import (
    CanonicalizeCast,
    CombineParallelBatchMatmul,
    CombineParallelConv2D,
    CombineParallelDense,
    EliminateCommonSubexpr,
    FastMath,
    FlattenAtrousConv,
    OutlineCompilerFunctionsWithExistingGlobalSymbols,
)
from byoc_lab.compat.runtime.codegens import check_hooks
from byoc_lab.compat.runtime.executor_options import Executor, Runtime
from byoc_lab.compat.runtime.graph_function import GraphFunction
from byoc_lab.compat.runtime.graph_json import ExecutorGraph, graph_of
from byoc_lab.compat.runtime.imported_modules import RegionModule, imported_modules
from byoc_lab.compat.runtime.nd import HostArray, kind_name
from byoc_lab.compat.runtime.region_target import RegionTarget
from byoc_lab.errors import BuildError, UnknownNameError, UnsupportedNameError
from byoc_lab.passes import (
    AlterOpLayout,
    CanonicalizeOps,
    FoldConstant,
    FoldScaleAxis,
    InferType,
    Legalize,
    Pass,
    PassContext,
    RemoveUnusedFunctions,
    Sequential,
    SimplifyExpr,
    SimplifyInference,
    ToBasicBlockNormalForm,
)
from byoc_lab.passes.quantize.qnn_transform import Legalize as LegalizeQnn
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.expr import Call, Expr, Function, Op, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order, substitute
from byoc_lab.relay.text import parser
from byoc_lab.run.backends import get_backend
from byoc_lab.run.build import OffloadWarning, check_tensors
from byoc_lab.run.build import build as build_executable
from byoc_lab.run.executable import Executable
from byoc_lab.run.inline import inlined
from byoc_lab.run.to_relax import ENTRY

_FORMAT, _VERSION = "byoc_lab program", 1
_TARGET_KINDS = ("llvm", "c")
TVM_OPERATORS = ("add", "subtract", "multiply")
TVM_DTYPES = ("float32", "float16", "bfloat16", "int8", "uint8", "int32", "int64")
"""What TVM 0.16's codegen.cc of "ccompiler" translates: it says "Unrecognized op" and
"Unsupported dtype" of others."""


class Library:
    """A built module: `lib["default"](device)` runs it, `export_library` saves it.

    The file holds the module's text; loading compiles it again, here or on another machine.
    """

    def __init__(
        self,
        mod: IRModule,
        executable: Executable | None = None,
        name: str = "default",
        target: Any = None,
    ):
        self.ir_mod = mod
        self._target = target
        self.libmod_name = name
        self._executable = executable
        active = PassContext.current()
        self._context = PassContext(
            active.opt_level, active.required_pass, active.disabled_pass, config=active.config
        )

    @property
    def executable(self) -> Executable:
        if self._executable is None:
            self._executable = _compiled(self.ir_mod, target=self._target)
        return self._executable

    @property
    def lib(self) -> Library:
        return self

    module = lib

    @property
    def imported_modules(self) -> list[RegionModule]:
        """The code of the regions, with `type_key` and `get_source()`."""
        return imported_modules(self.executable)

    @cached_property
    def _graph(self) -> ExecutorGraph:
        with self._context:
            return graph_of(optimize(self.ir_mod)[0], self.libmod_name)

    @cached_property
    def graph_json(self) -> str:
        """The graph that TVM's executor would run, for inspection: see `graph_json.graph_of`.

        Raises BuildError for a module that only a virtual machine can run.
        """
        return json.dumps(self._graph.document(), indent=2)

    @property
    def functions(self) -> dict[str, Function]:
        """The functions that the graph's nodes call, by name. Raises BuildError like
        `graph_json`."""
        return self._graph.functions

    def get_graph_json(self) -> str:
        return self.graph_json

    get_executor_config = get_graph_json

    @cached_property
    def params(self) -> dict[str, HostArray]:
        """The constants of the graph, by their names in it: "p0". They are part of the program.

        Empty if only a virtual machine can run the module.
        """
        try:
            constants = self._graph.constants
        except BuildError:  # a module without a graph has no such names
            return {}
        return {name: HostArray(data) for name, data in constants.items()}

    def get_params(self) -> dict[str, Any]:
        return self.params

    def get_lib(self) -> Library:
        return self

    def __iter__(self) -> Iterator[Any]:
        """(graph_json, lib, params), the result of `relay.build` before TVM 0.7."""
        return iter((self.graph_json, self, self.params))

    def __getitem__(self, name: str) -> Any:
        if name not in (self.libmod_name, "debug_create"):
            raise KeyError(f"the library holds {self.libmod_name!r}, not {name!r}")
        return lambda *arguments: self

    def get_function(self, name: str, query_imports: bool = False) -> GraphFunction:
        """A function that a node of the graph calls, by name with or without TVM's prefix.

        Raises UnknownNameError.
        """
        for known in (name, f"tvmgen_{self.libmod_name}_{name}"):
            if known in self.functions:
                return GraphFunction(known, self.functions[known])
        have = ", ".join(self.functions) or "none"
        raise UnknownNameError(f"the library has no function {name!r}; the graph's are {have}")

    def get_source(self, fmt: str = "") -> NoReturn:
        raise UnsupportedNameError(
            "get_source() of the whole library is not supported; each of its imported_modules "
            "has the source of a region"
        )

    def export_library(self, file_name: Any, *, fcompile: Any = None, **options: Any) -> str:
        """Write the program's text to a file. `fcompile` and compiler options are ignored."""
        document = {
            "format": _FORMAT,
            "version": _VERSION,
            "inputs": [p.name_hint for p in self.ir_mod["main"].params],
            "relay": self.ir_mod.astext(),
        }
        Path(file_name).write_text(json.dumps(document), encoding="utf-8")
        return str(file_name)


def load_library(path: Any) -> Library:
    """The library that `Library.export_library` wrote: a program's text, compiled at first use.

    Raises BuildError if the file is damaged or of another kind, ParseError if its text is not
    Relay.
    """
    try:
        document = json.loads(Path(path).read_text(encoding="utf-8"))
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        raise BuildError(
            f"{path} is not a library that relay.build(...).export_library wrote with byoc_lab; "
            f"a library exported by TVM must be loaded with that TVM"
        )
    version, text, inputs = (document.get(key) for key in ("version", "relay", "inputs"))
    if version != _VERSION:
        raise BuildError(f"{path}: expected a program of version {_VERSION}, found {version!r:.80}")
    if not isinstance(text, str):
        raise BuildError(f"{path} is damaged: relay must be a str, found {type(text).__name__}")
    if not isinstance(inputs, list) or not all(isinstance(name, str) for name in inputs):
        raise BuildError(f"{path} is damaged: inputs must be a list of str, found {inputs!r:.80}")
    mod = parser.parse(text)
    if ENTRY not in [gv.name_hint for gv in mod.functions]:
        raise BuildError(f"{path} is damaged: its program has no function @{ENTRY}")
    # A text distinguishes variables by their names, so its names may differ from the program's.
    old = mod[ENTRY]
    if len(inputs) != len(old.params):
        raise BuildError(
            f"{path} is damaged: it names {len(inputs)} inputs, and its @{ENTRY} has "
            f"{len(old.params)} parameters"
        )
    params = [Var(name, p.type_annotation) for name, p in zip(inputs, old.params, strict=True)]
    body = substitute(old.body, dict(zip(old.params, params, strict=True)))
    mod[ENTRY] = Function(params, body, old.ret_type, old.type_params, old.attrs)
    return Library(InferType()(mod))


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
        told = f"the program is for this process ('cpp'), not for a device, as {runtime!r} asks"
        warnings.warn(told, UserWarning, stacklevel=2)
    mod = InferType()(as_module(ir_mod))  # a pass, so that instruments observe the build
    built = _compiled(outlined(mod), params, target)
    return Library(built.mod, built, mod_name, target)


def _compiled(
    mod: IRModule, params: Mapping[str, Any] | None = None, target: Any = None
) -> Executable:
    header = _header(target)
    on_host = _left_to_host(mod)
    if on_host:
        unused = "; header unused" if header else ""
        warnings.warn(
            f"the host compiles the regions of ccompiler, because byoc_lab's has no C for "
            f"@{on_host[0]}{unused}",
            OffloadWarning,
            stacklevel=3,
        )
        return build_executable(mod, params, backends={ccompiler.NAME: None})
    codegens = {ccompiler.NAME: partial(ccompiler.CRegion, header=header)} if header else None
    return build_executable(mod, params, backends=codegens)


def _header(target: Any) -> str:
    """The header of the target "ccompiler" among the given targets."""
    found = (one.attrs.get("header", "") for one in _each(target) if isinstance(one, RegionTarget))
    return next(found, "")


def _left_to_host(mod: IRModule) -> list[str]:
    """The regions of "ccompiler" that only TVM's back end of that name can compile, not byoc_lab's.

    Raises BuildError for a region that neither compiles.
    """
    if get_backend(ccompiler.NAME) is not ccompiler.CRegion:  # the script has one of its own
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


def _default_passes() -> list[Pass]:
    """The passes that TVM 0.16 runs before FuseOps, in its order (src/relay/backend/utils.cc)."""
    return [
        RemoveUnusedFunctions(),
        ToBasicBlockNormalForm(),
        LegalizeQnn(),
        Legalize(),
        SimplifyInference(),
        EliminateCommonSubexpr(_is_cast_to_int32),
        CombineParallelConv2D(3),
        CombineParallelDense(3),
        CombineParallelBatchMatmul(3),
        FoldConstant(),
        FoldScaleAxis(),
        SimplifyExpr(),
        CanonicalizeCast(),
        CanonicalizeOps(),
        FlattenAtrousConv(),
        AlterOpLayout(),
        FastMath(),
        FoldConstant(),
    ]


def _is_cast_to_int32(expr: Expr) -> bool:
    """Excluded, so that each such cast can be fused with its users."""
    if not isinstance(expr, Call) or not isinstance(expr.op, Op) or expr.op.name != "cast":
        return False
    return expr.attrs["dtype"] == "int32"


def optimize(
    mod: IRModule | Function, target: Any = None, params: Mapping[str, Any] | None = None
) -> tuple[IRModule, dict[str, Any]]:
    """The module after TVM's optimizations, before operator fusion; and the remaining parameters:
    none.

    The passes are those of TVM's default pipeline; passes above the level of the active PassContext
    do not run. `build` does not use them: Relax has its own optimizations.
    """
    made = as_module(mod).copy()
    check_target(target)
    if params:
        made["main"] = bind_params_by_name(made["main"], params)
    return Sequential([InferType(), *_default_passes()], name="optimize")(made), {}


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


# TVM's names for what `relay.build` returns.
ExecutorFactoryModule = GraphExecutorFactoryModule = AOTExecutorFactoryModule = Library


def as_module(program: Any) -> IRModule:
    """A module; a function or expression becomes the @main of a new one."""
    if isinstance(program, IRModule):
        return program
    if isinstance(program, Expr):
        return IRModule.from_expr(program)
    raise TypeError(f"expected an IRModule or a Relay function, found {type(program).__name__}")


def check_target(target: Any) -> None:
    """Raise BuildError for a target (a string, a Target, or a mapping of these) other than a
    CPU."""
    for one in _each(target):
        if one is None or isinstance(one, RegionTarget):
            continue
        if kind_name(one) not in _TARGET_KINDS:
            raise BuildError(f"byoc_lab compiles for this machine's CPU ('llvm'), found {one!r}")


def _each(target: Any) -> list[Any]:
    """The targets of a build: one target, a list, or the values of a mapping."""
    if isinstance(target, Mapping) and "kind" not in target:
        return list(target.values())
    return list(target) if isinstance(target, (list, tuple)) else [target]


__all__ = ["AOTExecutorFactoryModule", "BuildModule", "Executor", "ExecutorFactoryModule",
           "GraphExecutorFactoryModule", "Library", "Runtime", "as_module", "build", "check_target",
           "load_library", "optimize"]  # fmt: skip
