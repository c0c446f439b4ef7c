"""Inputs generated from a seed, for checks without given inputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from byoc_lab.errors import InputError
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.ndarray import numpy_dtype
from byoc_lab.relay.ir.types import TensorType, TupleType, Type

# name: the property that the floating-point inputs exercise
SETS = {
    "normal": "standard normal numbers",
    "wide": "normal numbers times 6: both ends of a clip, the flat parts of sigmoid and tanh",
    "ties": "multiples of a half from -8 to 8: ties of roundings, equal elements, zeros",
}


def example_inputs(main: Function, kind: str = "normal", seed: int = 0) -> dict[str, Any]:
    """A value for each parameter of a typed function.

    kind: one of SETS. 8-bit integers are drawn from their whole range, wider integers from 0 to 7,
    because they may be indices. Booleans are drawn evenly; "wide" has the opposite ones, because
    they may select branches. Raises InputError.
    """
    random = np.random.default_rng([seed, list(SETS).index(kind)])
    truth = np.random.default_rng(seed)
    names = [p.name_hint for p in main.params]
    if len(set(names)) < len(names):
        raise InputError("several inputs have the same name; give the inputs as a sequence")
    draw = partial(_drawn, kind=kind, random=random, truth=truth)
    return {p.name_hint: _value(p.name_hint, p.checked_type, draw) for p in main.params}


def in_words(inputs: Mapping[str, Any] | Sequence[Any], kind: str) -> str:
    """A description of the inputs that `example_inputs` generated."""
    kinds = set(_kinds(inputs.values() if isinstance(inputs, Mapping) else inputs))
    words = [SETS[kind]] if kinds - set("biu") else []
    if kinds & set("iu"):
        words.append("8-bit integers from their whole range, wider integers from 0 to 7")
    if "b" in kinds:
        words.append("truth values")
    return " and ".join(words) or "none: the module has no parameters"


def _kinds(inputs: Iterable[Any]) -> Iterator[str]:
    """The NumPy kinds of the dtypes."""
    for value in inputs:
        if isinstance(value, tuple):
            yield from _kinds(value)
        else:
            yield np.asarray(value).dtype.kind


def _value(name: str, ty: Type, draw: Callable[[tuple[int, ...], Any], Any]) -> Any:
    if isinstance(ty, TupleType):
        return tuple(_value(name, f, draw) for f in ty.fields)
    if not isinstance(ty, TensorType) or not ty.is_static:
        raise InputError(f"give a value for input %{name}: cannot generate a value of type {ty}")
    try:
        return draw(ty.concrete_shape, numpy_dtype(ty.dtype))
    # NumPy raises these for shapes that are too large
    except (MemoryError, ValueError, TypeError) as error:
        raise InputError(f"give a value for input %{name} of {ty}: {error}") from error


def _drawn(
    shape: tuple[int, ...],
    dtype: Any,
    kind: str,
    random: np.random.Generator,
    truth: np.random.Generator,
) -> Any:
    if dtype.kind == "b":
        return (truth.integers(0, 2, shape) ^ (kind == "wide")).astype(dtype)
    if dtype.kind in "iu":
        low, high = (np.iinfo(dtype).min, np.iinfo(dtype).max) if dtype.itemsize == 1 else (0, 7)
        return random.integers(low, high, shape, endpoint=True).astype(dtype)
    if kind == "ties":
        return (random.integers(-16, 17, shape) / 2).astype(dtype)
    return (random.standard_normal(shape) * (6 if kind == "wide" else 1)).astype(dtype)
