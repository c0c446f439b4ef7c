"""`relay.create_executor`: "graph", "vm" and "aot" compile, "debug" is the NumPy reference.

TVM's executors also run programs that Relax cannot compile (unknown or computed shapes, algebraic
data types). The NumPy reference computes such programs, with an InterpretedWarning that gives the
reason.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from byoc_lab.compat.ir.containers import ADT, ConstructorValue, RefValue
from byoc_lab.compat.ir.scope_builder import ScopeBuilder
from byoc_lab.compat.runtime import building
from byoc_lab.compat.runtime.nd import HostArray
from byoc_lab.errors import BuildError, InputError, InterpretedWarning
from byoc_lab.passes import InferType
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.expr import Expr, Function, GlobalVar, TupleWrapper, Var, const
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.recursion import RecursiveRule, run
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run import reference
from byoc_lab.run.values import ConstructorValue as DataValue

KINDS = ("graph", "vm", "aot", "debug")


def as_result(value: Any) -> Any:
    """Converts a result: arrays to NDArrays, tuples to ADTs, constructor values and references to
    TVM's classes, functions to callables."""
    return run(_result(value))


def _result(value: Any) -> RecursiveRule:
    if isinstance(value, DataValue):
        fields = []
        for f in value.fields:
            fields.append((yield _result(f)))
        return ConstructorValue(value.constructor.tag, tuple(fields), value.constructor)
    if isinstance(value, RefValue):
        return RefValue((yield _result(value.value)))
    if isinstance(value, reference.FunctionValue):
        return lambda *args: as_result(value(*map(plain, args)))
    if isinstance(value, (tuple, list)):
        fields = []
        for f in value:
            fields.append((yield _result(f)))
        return ADT(fields)
    return HostArray(value) if isinstance(value, (np.ndarray, np.generic)) else value


def nested(flat: list[np.ndarray], ty: Any) -> Any:
    """The flat outputs of a program, nested as in its result type."""
    values = iter(flat)

    def take(part: Any) -> Any:
        return tuple(map(take, part.fields)) if isinstance(part, TupleType) else next(values)

    return take(ty)


def plain(value: Any) -> Any:
    """An argument in the form that byoc_lab's runners accept."""
    if isinstance(value, ConstructorValue) and value.constructor is not None:
        return DataValue(value.constructor, tuple(map(plain, value.fields)))
    if isinstance(value, RefValue):
        return RefValue(plain(value.value))
    if isinstance(value, (tuple, list)) and not isinstance(value, ConstructorValue):
        return tuple(map(plain, value)) if isinstance(value, ADT) else _list(value)
    return value.numpy() if hasattr(value, "numpy") else value


def cast(value: Any, parameter: Var) -> Any:
    """An array cast to the dtype of its parameter, as in TVM's graph executor."""
    ty = parameter.checked_type
    if isinstance(ty, TensorType) and not isinstance(value, tuple):
        return np.asarray(value, dtype=ty.dtype)
    return value


def _list(value: Any) -> Any:
    arrays = any(hasattr(v, "shape") for v in value)
    return tuple(map(plain, value)) if arrays else value


def bound(program: Expr, binds: Mapping[Var, Any]) -> Expr:
    """The expression with these variables bound to these values."""
    scope = ScopeBuilder()
    for variable, value in binds.items():
        scope.let(variable, value if isinstance(value, Expr) else const(plain(value)))
    scope.ret(program)
    return scope.get()


def offloads(mod: IRModule) -> bool:
    """Whether the module has external functions, global or inline."""
    nodes = post_order(*mod.functions.values())
    return any(isinstance(n, Function) and "Compiler" in n.attrs for n in nodes)


def is_static(ty: Type) -> bool:
    """Whether every tensor of the type has a known shape."""
    if isinstance(ty, TupleType):
        return all(map(is_static, ty.fields))
    return not isinstance(ty, TensorType) or ty.is_static


def runner(kind: str, mod: IRModule, target: Any = None) -> Callable[[list[Any]], Any]:
    """A Python function that calls @main of a typed module.

    Warns (InterpretedWarning) if the reference has to compute it. Raises InputError for a graph
    executor with unknown shapes, and BuildError if a back end cannot compile its regions.
    """
    if kind == "debug":
        return lambda values: reference.evaluate(mod, values).value
    result = mod["main"].body.checked_type
    if kind == "graph" and not is_static(result):
        raise InputError(
            f"Graph Executor only supports static graphs, got output type {result}; "
            f'relay.create_executor("vm") accepts unknown shapes'
        )
    try:
        executable = building.build(mod, target).executable
    except BuildError as error:
        if offloads(mod):
            raise  # running the program is a test of this back end
        reason = f"computed by NumPy, because it cannot be compiled: {error}"
        warnings.warn(reason, InterpretedWarning, stacklevel=4)
        return lambda values: reference.evaluate(mod, values).value
    main = executable.mod["main"]
    result = main.body.checked_type
    if kind != "graph":
        return lambda values: nested(executable.run(values), result)
    return lambda values: nested(executable.run(list(map(cast, values, main.params))), result)


class Executor:
    """Evaluates expressions that may call the functions of a module."""

    def __init__(
        self, kind: str, mod: IRModule, params: Mapping[str, Any] | None = None, target: Any = None
    ):
        self.kind, self.mod, self.params, self.target = kind, mod, params, target

    def evaluate(self, expr: Any = None, binds: Mapping[Any, Any] | None = None) -> Any:
        """For a function (None: @main): a callable that takes arrays. For any other expression: its
        value.

        binds: values of the free variables of an expression, arrays or expressions.
        """
        program = expr.tuple_value if isinstance(expr, TupleWrapper) else expr
        if binds:
            program = bound(program, binds)
        if isinstance(program, GlobalVar):
            program = self.mod[program]
        is_function = program is None or isinstance(program, Function)
        run = self._callable(self._module(program))
        return run if is_function else run()

    def _module(self, program: Expr | None) -> IRModule:
        mod = self.mod.copy()
        if program is not None:
            function = program if isinstance(program, Function) else None
            if function is None and free_vars(program):
                raise InputError("an expression with free variables has no value; evaluate a "
                                 "relay.Function of them")  # fmt: skip
            mod["main"] = function or Function([], program)
        if self.params:
            mod["main"] = bind_params_by_name(mod["main"], self.params)
        return InferType()(mod)

    def _callable(self, mod: IRModule) -> Callable[..., Any]:
        main = mod["main"]
        names = [p.name_hint for p in main.params]
        run = runner(self.kind, mod, self.target)

        def call(*args: Any, **kwargs: Any) -> Any:
            # As in TVM, arguments with other names, such as bound parameters, are ignored.
            values = [plain(a) for a in args]
            rest = names[len(values) :]
            twice = set(kwargs) & set(names[: len(values)])
            if twice or len(values) > len(names) or not set(rest) <= set(kwargs):
                found = ", ".join([*map(str, range(len(values))), *kwargs]) or "none"
                raise InputError(f"expected arguments ({', '.join(names)}), found {found}")
            values += [plain(kwargs[name]) for name in rest]
            return as_result(run(values))

        return call


def create_executor(
    kind: str = "debug",
    mod: IRModule | Function | None = None,
    device: Any = None,
    target: Any = "llvm",
    params: Mapping[str, Any] | None = None,
    ctx: Any = None,
) -> Executor:
    """An executor of one of `KINDS`, on the CPU. Raises BuildError for another kind or target."""
    if kind not in KINDS:
        raise BuildError(f"an executor must be one of {', '.join(KINDS)}, found {kind!r}")
    building.check_target(target)
    module = IRModule() if mod is None else building.as_module(mod)
    return Executor(kind, module, params, target)


GraphExecutor = VMExecutor = Interpreter = Executor

__all__ = ["Executor", "GraphExecutor", "Interpreter", "VMExecutor", "create_executor"]
