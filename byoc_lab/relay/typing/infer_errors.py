"""Error messages of type inference, with their position."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.ir.expr import Expr, Span


def place(node: Expr, at: Span | None = None) -> str:
    """The position of `node` (or, more precisely, `at`) as a message prefix; "" when unknown."""
    span = at or node.span
    return f"{span}: " if span else ""


def fail(
    node: Expr,
    message: str,
    cause: Exception | None = None,
    at: Span | None = None,
    facts: Mapping[str, Any] | None = None,
) -> NoReturn:
    """Raise a TypeInferenceError about `node`; facts: see `DiagnosticError`, else the cause's."""
    facts = facts or getattr(cause, "facts", None)
    raise TypeInferenceError(f"{place(node, at)}{message}", node, facts, at) from cause
