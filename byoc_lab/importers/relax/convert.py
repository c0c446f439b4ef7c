"""Reads a Relax module: functions, bindings and types. Operator definitions translate the calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import ArgumentError, ByocLabError, ImporterError, nearest
from byoc_lab.importers.registry import Params
from byoc_lab.importers.relax.reader import RelaxReader
from byoc_lab.relay.ir.expr import Function, GlobalVar, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType, TupleType, Type
from byoc_lab.relay.op.framework.registry import RELAX_NAMES
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.relax_values import (
    is_number_type,
    is_shape_type,
    is_variable,
    name_of,
    relax_call,
    sizes_of,
)
from byoc_lab.run.tvm_runtime import import_tvm

MAIN = "main"


def converted(
    mod: Any, params: Mapping[str, Any], shape: Mapping[str, Sequence[int]]
) -> tuple[IRModule, Params]:
    """See `from_relax`."""
    tvm = import_tvm()
    if not isinstance(mod, tvm.ir.IRModule):
        raise ArgumentError(
            f"from_relax takes a module of TVM's Relax, found {type(mod).__module__}."
            f"{type(mod).__name__}"
        )
    names = [gv.name_hint for gv in mod.functions]
    if MAIN not in names:
        raise ArgumentError(
            f'from_relax needs a function "main", found {", ".join(names) or "no function"}'
        )
    _check_kinds(params, shape)
    if shape:
        mod = _bound(tvm, mod, shape)
    reader = _ModuleReader(mod)
    main = reader.function(mod[MAIN])
    out = IRModule({**reader.made, GlobalVar(MAIN): main})
    return infer_module(out), _parameters(mod[MAIN], main, params)


def _check_kinds(params: Any, shape: Any) -> None:
    """Raise ArgumentError unless `params` maps names to lists of arrays, and `shape` names to
    shapes."""
    if not _lists_by_name(params):
        raise ArgumentError(
            f'from_relax: params must be a dict such as {{"main": [array, ...]}}, found '
            f"{type(params).__name__} {params!r:.80}"
        )
    sizes = [n for each in shape.values() for n in each] if _lists_by_name(shape) else [None]
    if not all(isinstance(n, (int, np.integer)) and 0 <= n < 2**63 for n in sizes):
        raise ArgumentError(
            f'from_relax: shape must be a dict of sizes by parameter, such as {{"x": (5, 3)}}, '
            f"found {type(shape).__name__} {shape!r:.80}"
        )


def _lists_by_name(given: Any) -> bool:
    return isinstance(given, Mapping) and all(
        isinstance(name, str) and isinstance(each, Sequence) and not isinstance(each, str)
        for name, each in given.items()
    )


def _bound(tvm: Any, mod: Any, shape: Mapping[str, Sequence[int]]) -> Any:
    """The function with symbolic sizes bound to the given shapes of parameters."""
    values: dict[Any, int] = {}
    by_name = {name_of(p): p for p in mod[MAIN].params}
    for name, sizes in shape.items():
        if name not in by_name:
            raise ArgumentError(
                f"from_relax: shape has {name!r}, but no parameter of @main has that name; "
                f"{nearest(name, by_name)}"
            )
        declared = sizes_of(by_name[name].ty)
        if declared is None or len(declared) != len(sizes):
            raise ArgumentError(
                f"from_relax: shape of {name!r} has {len(sizes)} sizes, but the parameter is "
                f"{by_name[name].ty}"
            )
        for size, value in zip(declared, sizes, strict=True):
            if is_variable(size):
                values[size] = int(value)
            elif int(getattr(size, "value", value)) != int(value):
                raise ArgumentError(
                    f"from_relax: shape of {name!r} is {list(sizes)}, but the parameter is "
                    f"{by_name[name].ty}"
                )
    return tvm.relax.transform.BindSymbolicVars(values, MAIN)(mod) if values else mod


def _parameters(function: Any, main: Function, params: Mapping[str, Any]) -> Params:
    """The arrays for the last parameters of @main, by parameter name."""
    unknown = [name for name in params if name != MAIN]
    if unknown:
        raise ArgumentError(f'from_relax: params must be of "main", found {", ".join(unknown)}')
    arrays = list(params.get(MAIN, ()))
    if len(arrays) > len(main.params):
        raise ArgumentError(
            f"from_relax: params has {len(arrays)} arrays for @main, which has "
            f"{len(main.params)} parameters"
        )
    last = main.params[len(main.params) - len(arrays) :]
    found = {}
    for parameter, array in zip(last, arrays, strict=True):
        value = array.numpy() if hasattr(array, "numpy") else np.asarray(array)
        ty = parameter.type_annotation
        assert isinstance(ty, TensorType)
        if value.shape != tuple(ty.concrete_shape) or str(value.dtype) != ty.dtype:
            raise ArgumentError(
                f"from_relax: the array of %{parameter.name_hint} has shape {value.shape} and "
                f"dtype {value.dtype}, expected {ty}"
            )
        found[parameter.name_hint] = value
    return found


def _relay_type(ty: Any, what: str) -> Type:
    """A Relax type in Relay. Raises ImporterError if a size is not known."""
    fields = getattr(ty, "fields", None)
    if fields is not None:
        return TupleType([_relay_type(field, what) for field in fields])
    if is_shape_type(ty) or is_number_type(ty):
        raise ImporterError(
            f"{what} must be a tensor, found {ty}; replace it by its value in the function"
        )
    sizes = sizes_of(ty)
    known = sizes is not None and all(hasattr(size, "value") for size in sizes)
    if sizes is None or not known:
        raise ImporterError(
            f"{what} must be a tensor of known shape, found {ty}; give sizes with "
            f"relax.transform.BindSymbolicVars, or the shapes of parameters with "
            f"from_relax(mod, shape={{name: (...)}})"
        )
    return TensorType([int(size.value) for size in sizes], str(ty.dtype))


def _tensor_type(value: Any) -> TensorType:
    """The Relay type of a Relax tensor. Raises ImporterError if its shape is not known."""
    found = _relay_type(value.ty, "a value")
    assert isinstance(found, TensorType)
    return found


class _ModuleReader(RelaxReader):
    """Reads the functions that @main reaches; `made` holds the functions that are also global in
    Relay."""

    def __init__(self, mod: Any):
        super().__init__()
        self.mod = mod
        self.made: dict[GlobalVar, Function] = {}
        self._globals: dict[str, GlobalVar | Function] = {}

    def function(self, function: Any, outer: Mapping[Any, Any] | None = None) -> Function:
        """A Relax function in Relay, with the corresponding Relay attributes."""
        params = [Var(name_of(p), _relay_type(p.ty, f"%{name_of(p)}")) for p in function.params]
        values: dict[Any, Any] = dict(outer or {})
        values |= zip(function.params, params, strict=True)
        body = self.body(function.body, values)
        made = relay.Function(params, body)
        for name, value in _attributes(function).items():
            made = made.with_attr(name, value)
        return made

    def global_function(self, gv: Any) -> Any:
        """The callee for calls of a global function: a composite function itself, or the name of
        any other function."""
        name = str(gv.name_hint)
        if name in self._globals:
            return self._globals[name]
        found = self.mod[gv]
        if not isinstance(found, self.relax.Function):
            raise ImporterError(f"@{name} is a function of TIR, which has no counterpart in Relay")
        made = self.function(found)
        if "Composite" in made.attrs and "Compiler" not in made.attrs:
            self._globals[name] = made
        else:
            own = GlobalVar(name)
            self._globals[name] = own
            self.made[own] = made.with_attr("global_symbol", name)
        return self._globals[name]

    def bound(self, binding: Any, values: dict[Any, Any]) -> Any:
        try:
            return super().bound(binding, values)
        except ByocLabError as error:
            if str(error).startswith("%"):
                raise
            raise ImporterError(f"%{name_of(binding.var)}: {error}") from error

    def local_function(self, function: Any, values: dict[Any, Any]) -> Function:
        return self.function(function, values)

    def call(self, call: Any, operands: list[Any], values: dict[Any, Any]) -> Any:
        if isinstance(call.op, self.tvm.ir.GlobalVar):
            callee = self.global_function(call.op)
            return relay.Call(callee, [self.expr(operand) for operand in operands])
        if not isinstance(call.op, self.tvm.ir.Op):
            return relay.Call(values[call.op], [self.expr(operand) for operand in operands])
        name = str(call.op.name).removeprefix("relax.")
        convert = RELAX_NAMES.get(name)
        if convert is None:
            raise ImporterError(_no_counterpart(name, call))
        return convert(relax_call(call, _tensor_type), *operands)


def _no_counterpart(name: str, call: Any) -> str:
    if name in ("call_tir", "call_dps_packed", "call_tir_inplace", "call_pure_packed"):
        callee = call.args[0]
        what = getattr(callee, "name_hint", None) or getattr(callee, "global_symbol", "")
        return (
            f"relax.{name} calls @{what}, which is lowered code without a counterpart in "
            f"Relay; import the module as it was before LegalizeOps and RunCodegen"
        )
    return (
        f"Relay has no counterpart of relax.{name}; byoc_lab.relay.op.framework.registry."
        f"RELAX_NAMES has the {len(RELAX_NAMES)} operators with a counterpart"
    )


def _attributes(function: Any) -> dict[str, Any]:
    """The Relay attributes for the back end and the composite name of a Relax function."""
    attrs = dict(function.attrs.items()) if function.attrs else {}
    found: dict[str, Any] = {}
    if "Codegen" in attrs:
        found |= {"Compiler": str(attrs["Codegen"]), "Primitive": 1, "Inline": 1}
    if "Composite" in attrs:
        found["Composite"] = str(attrs["Composite"])
    return found
