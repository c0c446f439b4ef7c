"""Error messages of type inference, with source locations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from byoc_lab.errors import TypeInferenceError, WellFormedError
from byoc_lab.relay.ir.expr import Expr, Function, Span
from byoc_lab.relay.ir.module import check_closed
from byoc_lab.relay.ir.variables import Scopes


def place(node: Expr, at: Span | None = None) -> str:
    """The source location of `node` (or of `at`, if that is more precise) as a message prefix; ""
    if unknown."""
    span = at or node.span
    return f"{span}: " if span else ""


def fail(
    node: Expr,
    message: str,
    cause: Exception | None = None,
    at: Span | None = None,
    facts: Mapping[str, Any] | None = None,
) -> NoReturn:
    """Raise a TypeInferenceError about `node`. facts: see `DiagnosticError`; by default the facts
    of the cause."""
    facts = facts or getattr(cause, "facts", None)
    raise TypeInferenceError(f"{place(node, at)}{message}", node, facts, at) from cause


def check_scopes(func: Function, name: str, scopes: Scopes) -> None:
    """Raise an error for a variable of a global function that violates a scope rule, free variables
    first: FreeVariableError, WellFormedError, and TypeInferenceError for the value of a let that
    uses the variable of the let, unless it is a function literal."""
    if scopes.free or scopes.faults:
        check_closed(func, name)  # raises an error that shows the free variables
    if scopes.faults:
        raise WellFormedError(str(scopes.faults[0]))
    if scopes.in_own_value:
        used = scopes.in_own_value[0]
        fail(used.variable, str(used))
