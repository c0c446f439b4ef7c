"""`relay.build_module`: helpers of scripts that prepare a module for building."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.errors import DuplicateNameError, InputError
from byoc_lab.relay.expr import Constant, Expr, Function, Var, bind
from byoc_lab.relay.ndarray import array
from byoc_lab.relay.types import TensorType


def bind_params_by_name(func: Function, params: Mapping[str, Any]) -> Function:
    """`func` with the parameters named in `params` (name -> array) replaced by constants.

    Names that the function does not have are ignored, as in TVM. Raises DuplicateNameError when
    two parameters share a name that is to be bound, InputError when a value has another shape. A
    value of another dtype is bound, as in TVM: type inference says what it does not fit.
    """
    by_name: dict[str, list[Var]] = {}
    for p in func.params:
        by_name.setdefault(p.name_hint, []).append(p)
    binds: dict[Var, Expr] = {}
    for name, value in params.items():
        found = by_name.get(name, [])
        if len(found) > 1:
            raise DuplicateNameError(
                f"{len(found)} parameters are named %{name}; rename them before binding by name"
            )
        if found:
            binds[found[0]] = _constant(found[0], value)
    return bind(func, binds)  # type: ignore[return-value]


def _constant(param: Var, value: Any) -> Constant:
    data = array(value.numpy() if hasattr(value, "numpy") else value)
    expected, found = param.type_annotation, TensorType(data.shape, data.dtype)
    if isinstance(expected, TensorType) and expected.is_static and expected.shape != found.shape:
        raise InputError(f"%{param.name_hint} must be {expected}, found {found}")
    return Constant(data)
