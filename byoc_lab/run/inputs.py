"""Inputs of a run: named or in order, checked against the types of the parameters."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from byoc_lab.errors import ArgumentError, InputError, counted
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.expr import Function, Var
from byoc_lab.relay.ir.module import IRModule, module_expected
from byoc_lab.relay.ir.ndarray import NDArray, name_of, refuse_masked
from byoc_lab.relay.ir.types import TensorType, TupleType, Type, TypeVar, is_dtype
from byoc_lab.run.values import ConstructorValue, RefValue

WIDENED = ("bfloat16", "float16", "float32")


def widened(array: np.ndarray) -> np.ndarray:
    """A bfloat16, float16 or float32 array converted to float64; any other array unchanged."""
    return array.astype(np.float64) if name_of(array.dtype) in WIDENED else array


def checked_module(mod: Any, taker: str) -> IRModule:
    """`mod`, if it is a module; otherwise raises ArgumentError. taker: the function that the error
    names."""
    if not isinstance(mod, IRModule):
        raise ArgumentError(module_expected(taker, mod))
    return mod


def bind_inputs(
    main: Function, inputs: Mapping[str, Any] | Sequence[Any], *, wide: bool = False
) -> dict[Var, Any]:
    """Each parameter of `main` with its array, checked against its type. Raises InputError."""
    names = [p.name_hint for p in main.params]
    if isinstance(inputs, Mapping):
        twice = {n for n in names if names.count(n) > 1} if len(set(names)) < len(names) else set()
        if twice:
            raise InputError(
                f"several inputs are called {', '.join(sorted(twice))}; give a sequence instead"
            )
        missing = [n for n in names if n not in inputs]
        surplus = [n for n in inputs if n not in set(names)]
        if missing or surplus:
            raise InputError(_difference(missing, surplus, main))
        given = [inputs[n] for n in names]
    else:
        given = in_order(inputs)
        if len(given) != len(names):
            lists = len(given) == 1 and isinstance(given[0], (list, tuple))
            raise InputError(
                f"expected {counted(len(names), 'input')} ({', '.join(names)}), found {len(given)}"
                + (", a list; write exe(a, b) or exe.run([a, b])" if lists else "")
            )
    return {
        p: _checked(f"input %{p.name_hint}", value, _type_of(p), wide)
        for p, value in zip(main.params, given, strict=True)
    }


def given_inputs(inputs: Any, more: Sequence[Any], named: Mapping[str, Any]) -> Any:
    """The inputs given to `run(inputs, ...)`: one list or mapping, or keywords. Raises InputError
    for several positional arrays, and for both kinds at once."""
    if more:
        raise InputError(
            f"run takes the inputs as one list or mapping, found {1 + len(more)} arguments; write "
            f"run([a, b]), run({{name: a, ...}}), or call it: exe(a, b)"
        )
    if inputs is not None and named:
        raise InputError("give the inputs in order or by name, not both")
    return named if inputs is None else inputs


def in_order(inputs: Any) -> list[Any]:
    """Positional inputs as a list. Raises InputError for anything but a list of arrays."""
    wanted = "inputs must be a list or a dict of arrays"
    if isinstance(inputs, (np.ndarray, np.generic, NDArray)) or hasattr(inputs, "__dlpack__"):
        found = f" of shape {tuple(inputs.shape)}" if hasattr(inputs, "shape") else ""
        raise InputError(f"{wanted}, found one array{found}; write [x]")
    if isinstance(inputs, (str, bytes)) or not isinstance(inputs, Iterable):
        raise InputError(f"{wanted}, found {_shown(inputs)}; write [x], or {{name: x}}")
    return list(inputs)


def by_position(inputs: Any, names: Sequence[str]) -> list[Any]:
    """Inputs of these names, given by name or in order, in order. Raises InputError."""
    if isinstance(inputs, Mapping):
        if set(inputs) != set(names):
            raise InputError(f"expected the inputs {', '.join(names)}, found {', '.join(inputs)}")
        return [inputs[name] for name in names]
    given = in_order(inputs)
    if len(given) != len(names):
        raise InputError(
            f"expected {counted(len(names), 'input')} ({', '.join(names)}), found {len(given)}"
        )
    return given


def _difference(missing: list[str], surplus: list[str], main: Function) -> str:
    parts = []
    if missing:
        typed = {p.name_hint: _type_of(p) for p in main.params}
        listed = ", ".join(f"%{n}: {typed[n]}" if typed[n] else f"%{n}" for n in missing)
        parts.append(f"missing inputs: {listed}")
    if surplus:
        have = ", ".join(f"%{p.name_hint}" for p in main.params) or "none"
        parts.append(f"no input is called {', '.join(map(repr, surplus))}; the inputs are {have}")
    return "; ".join(parts)


def _type_of(parameter: Var) -> Type | None:
    return parameter.checked_type if parameter.is_typed else parameter.type_annotation


def _checked(what: str, value: Any, ty: Type | None, wide: bool) -> Any:
    """`value` as an array (or tuple of arrays) that fits `ty`."""
    if isinstance(ty, TupleType):
        if not isinstance(value, (tuple, list)) or len(value) != len(ty.fields):
            raise InputError(f"{what}: expected {ty}, found {_shown(value)}")
        parts = zip(value, ty.fields, strict=True)
        return tuple(_checked(f"{what}.{n}", v, t, wide) for n, (v, t) in enumerate(parts))
    if not isinstance(ty, TensorType):
        if isinstance(value, ConstructorValue):
            fields = tuple(_checked(what, f, None, wide) for f in value.fields)
            return ConstructorValue(value.constructor, fields)
        if isinstance(value, RefValue):
            return value
        if isinstance(ty, TypeVar) and isinstance(value, tuple):
            return tuple(_checked(what, v, ty, wide) for v in value)
    refuse_masked(what, value)
    exact = isinstance(value, (np.ndarray, np.generic, NDArray))
    array = np.asarray(value)
    if array.dtype == object:
        raise InputError(f"{what}: expected an array of numbers, found {_shown(value)}")
    if isinstance(ty, TensorType):
        if not exact and np.can_cast(array.dtype, ty.dtype, "same_kind"):
            array = array.astype(ty.dtype)  # plain numbers and lists have no dtype
        fits = len(array.shape) == len(ty.shape) and all(
            isinstance(want, Unknown) or want == have
            for want, have in zip(ty.shape, array.shape, strict=True)
        )
        if not fits or not _same_dtype(array.dtype, ty.dtype, wide):
            raise InputError(f"{what}: expected {ty}, found {_shown(array)}")
    return widened(array) if wide else array


def _same_dtype(found: np.dtype, wanted: str, wide: bool) -> bool:
    return found.name == wanted or (wide and found == np.float64 and wanted in WIDENED)


def _shown(value: Any) -> str:
    if isinstance(value, np.ndarray) and is_dtype(value.dtype.name):
        return str(TensorType(value.shape, value.dtype.name))
    return f"{type(value).__name__} {value!r:.60}"
