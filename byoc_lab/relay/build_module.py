"""`relay.build_module`: helpers that prepare a module for building."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from byoc_lab.errors import DuplicateNameError
from byoc_lab.relay.ir.expr import Constant, Expr, Function, Var, bind
from byoc_lab.relay.ir.ndarray import NDArray, array


def bind_params_by_name(func: Function, params: Mapping[str, Any]) -> Function:
    """`func` with the parameters named in `params` (name -> array) replaced by constants.

    Unknown names are ignored, and values whose shape or dtype differs from the variable's are
    bound, as in TVM: type inference reports the mismatch. Raises DuplicateNameError if a name in
    `params` belongs to several parameters.
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
            if not isinstance(value, NDArray):
                value = array(value.numpy() if hasattr(value, "numpy") else value)
            binds[found[0]] = Constant(value)
    return bind(func, binds)  # type: ignore[return-value]
