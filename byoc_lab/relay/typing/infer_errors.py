"""Error messages of type inference, with their position."""

from __future__ import annotations

from typing import NoReturn

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
    in_tvm: tuple[str, ...] = (),
) -> NoReturn:
    """Raise a TypeInferenceError about `node`."""
    said = in_tvm or getattr(cause, "in_tvm", ())
    raise TypeInferenceError(f"{place(node, at)}{message}", node, said, at) from cause
