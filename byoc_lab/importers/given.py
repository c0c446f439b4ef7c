"""Shapes and values that a user gives for inputs of a model.

A key of a shape is the name of an input, or the name that the model gives to an unknown size, such
as `batch`: {"image": (1, 3, 224, 224)} or {"batch": 1}.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from byoc_lab.errors import ArgumentError, counted, nearest
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.expr import Function, Var, bind
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.typing.infer import infer_module

Shapes = Mapping[str, Any]  # {input: its sizes} or {symbolic name: one size}
Values = Mapping[str, Any]


@dataclass(frozen=True)
class Input:
    """An input of a model. lengths: the size of each dimension: an int, the name of an unknown
    size, or None if it has no name. The whole list is None if the model does not state the rank.
    sequence: whether it is a sequence of tensors."""

    name: str
    lengths: tuple[int | str | None, ...] | None
    sequence: bool = False


def check_shapes(shape: Any) -> None:
    """Raise ArgumentError unless `shape` maps names to shapes or sizes."""
    good = isinstance(shape, Mapping) and all(
        isinstance(s, (list, tuple)) or (isinstance(s, int) and not isinstance(s, bool))
        for s in shape.values()
    )
    if not good:
        raise ArgumentError(
            "shape must be a dict from names of inputs to tuples of sizes, or from names of "
            f"unknown sizes to ints, found {shape!r:.200}"
        )


def shapes_of(inputs: Sequence[Input], shape: Shapes) -> dict[str, tuple[Any, ...]]:
    """The shapes of the inputs that `shape` changes; sizes that stay unknown are None.

    Raises ArgumentError for a name that the model lacks, for several sizes if one is expected, and
    for a shape whose rank differs from that of the input."""
    by_name = {i.name: i for i in inputs}
    symbols = {n for i in inputs for n in i.lengths or () if isinstance(n, str)}
    for name in shape:
        if name not in by_name and name not in symbols:
            known = [*by_name, *sorted(symbols)]
            raise ArgumentError(
                f"shape names {name!r}, which is neither an input of the model nor an unknown "
                f"size; {nearest(name, known)}"
            )
    lengths = {n: _one_length(n, shape[n]) for n in symbols if n in shape and n not in by_name}
    found: dict[str, tuple[Any, ...]] = {}
    for one in inputs:
        if one.name in shape:
            given = shape[one.name]
            found[one.name] = tuple(given) if isinstance(given, (list, tuple)) else (given,)
            _check_rank(one, found[one.name])
        elif one.lengths is not None and any(n in lengths for n in one.lengths):
            mapped = (lengths.get(n, n) if isinstance(n, str) else n for n in one.lengths)
            found[one.name] = tuple(None if isinstance(n, str) else n for n in mapped)
    return found


def _check_rank(one: Input, given: tuple[Any, ...]) -> None:
    nested = [isinstance(n, (list, tuple)) for n in given]
    if not all(nested) if one.sequence else any(nested):
        expected = "a list with the shape of each element" if one.sequence else "one shape"
        raise ArgumentError(f"shape gives the input {one.name!r} {given!r:.80}; give {expected}")
    if one.lengths is None or len(one.lengths) == len(given):
        return
    has = ", ".join("?" if n is None else str(n) for n in one.lengths)
    raise ArgumentError(
        f"shape gives the input {one.name!r} {counted(len(given), 'size')}, {given}; the "
        f"model has {len(one.lengths)}, ({has}): give one size per dimension"
    )


def _one_length(name: str, given: Any) -> int:
    parts = tuple(given) if isinstance(given, (list, tuple)) else (given,)
    if len(parts) != 1 or not isinstance(parts[0], int):
        raise ArgumentError(f"{name!r} is the name of one size, found {given!r:.80}; give an int")
    return parts[0]


def inputs_of(mod: IRModule) -> list[Input]:
    """The inputs of a module's @main. Unknown sizes have no names in Relay."""
    return [
        Input(p.name_hint, tuple(n if isinstance(n, int) else None for n in ty.shape))
        for p in mod["main"].params
        if isinstance(ty := p.checked_type if p.is_typed else p.type_annotation, TensorType)
    ]


def with_given(mod: IRModule, shape: Shapes | None, freeze: Values | None) -> IRModule:
    """The module with the given shapes and constants for inputs of @main, with inferred types.

    Raises ArgumentError for names that @main lacks, TypeInferenceError for shapes that do not fit.
    """
    if not shape and not freeze:
        return mod
    if "main" not in mod:
        raise ArgumentError(
            "shapes and values apply to inputs of @main, but the module has no @main"
        )
    check_shapes(shape or {})
    main = mod["main"]
    assert isinstance(main, Function)
    inputs = inputs_of(mod)
    wanted = shapes_of(inputs, shape or {})
    if wanted:
        main = _reshaped(main, wanted)
    types = {p.name_hint: p.type_annotation for p in main.params}
    values = {n: frozen(n, v, types.get(n), list(types)) for n, v in (freeze or {}).items()}
    if values:
        main = bind_params_by_name(main, values)
    return infer_module(mod.with_functions({mod.get_global_var("main"): main}))


def _reshaped(main: Function, wanted: Mapping[str, tuple[Any, ...]]) -> Function:
    new: dict[Var, Var] = {}
    for p in main.params:
        ty = p.type_annotation
        if p.name_hint in wanted and isinstance(ty, TensorType):
            new[p] = Var(p.name_hint, TensorType(wanted[p.name_hint], ty.dtype))
    params = [new.get(p, p) for p in main.params]
    return Function(params, bind(main.body, new), None, main.type_params, main.attrs)


def frozen(name: str, value: Any, ty: Any, names: Sequence[str]) -> np.ndarray[Any, Any]:
    """The constant that an input becomes, in the data type and rank of the input.

    Raises ArgumentError for a name that is not an input and for a value that does not fit."""
    if name not in names:
        raise ArgumentError(f"freeze names {name!r}, which is not an input; {nearest(name, names)}")
    try:
        array = np.asarray(value)
        if isinstance(ty, TensorType):
            array = array.astype(ty.dtype) if str(array.dtype) != ty.dtype else array
            if array.ndim == 0 and ty.shape:
                lengths = [1 if not isinstance(n, int) else n for n in ty.shape]
                array = np.full(lengths, array)
            fits = len(ty.shape) == array.ndim and all(
                not isinstance(n, int) or n == m for n, m in zip(ty.shape, array.shape, strict=True)
            )
            if not fits:
                raise ArgumentError(
                    f"freeze gives {name!r} a value of shape {array.shape}; the input is {ty}"
                )
    except (TypeError, ValueError) as error:
        raise ArgumentError(
            f"freeze gives {name!r} {value!r:.80}, which is not a value for {ty}: {error!s:.200}"
        ) from error
    return array
