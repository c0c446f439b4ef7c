"""Faults in the variables of a Relax module at which TVM passes fail: unbound variables, and
variables bound by two functions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import FreeVariableError, WellFormedError
from byoc_lab.run.relax_values import name_of
from byoc_lab.run.tvm_runtime import import_tvm

COPY = "give each function separate variables: relax.utils.copy_with_new_vars(function) copies one"


@dataclass(frozen=True)
class VariableFault:
    """A fault in the variables of one function.

    free: whether the variables are unbound; otherwise another function also binds them. variables:
    TVM's objects.
    """

    function: str
    free: bool
    variables: tuple[Any, ...]
    message: str
    what_to_do: str


def variable_faults(mod: Any) -> Iterator[VariableFault]:
    """The faults in a Relax module, in the order of its functions."""
    relax = import_tvm().relax
    bound_by: dict[Any, str] = {}
    for gv, function in sorted(mod.functions.items(), key=lambda item: str(item[0].name_hint)):
        if not isinstance(function, relax.Function):
            continue
        name = str(gv.name_hint)
        free = tuple(relax.analysis.free_vars(function))
        if free:
            yield VariableFault(
                name, True, free, f"@{name} uses {_named(free)}, which nothing in it binds",
                "make the variable a parameter of the function, or bind it before it is used",
            )  # fmt: skip
        own = relax.analysis.bound_vars(function)
        shared = tuple(v for v in own if v in bound_by)
        if shared:
            others = " and ".join(sorted({f"@{bound_by[v]}" for v in shared}))
            yield VariableFault(
                name, False, shared,
                f"@{name} binds {_named(shared)}, and {others} binds the same, so that passes take "
                f"the two for one",
                COPY,
            )  # fmt: skip
        bound_by |= {v: name for v in own if v not in bound_by}


def check_variables(mod: Any, who: str) -> None:
    """Raises FreeVariableError or WellFormedError for the first fault in a Relax module."""
    for fault in variable_faults(mod):
        text = f"{who}: {fault.message}; {fault.what_to_do}"
        raise FreeVariableError(text, fault.variables) if fault.free else WellFormedError(text)


def _named(variables: tuple[Any, ...]) -> str:
    names = [f"%{name_of(v)}" for v in variables[:3]]
    return ", ".join(names) + (f" and {len(variables) - 3} more" if len(variables) > 3 else "")
