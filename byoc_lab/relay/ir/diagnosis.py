"""Who is told of an error in a program before it is raised.

Nobody, unless a script sets a renderer of diagnostics as TVM's scripts do: see
`compat.diagnostics`. `in_tvm` of an error has then what TVM 0.16 says of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from byoc_lab.errors import DiagnosticError, ParseError, TypeInferenceError

Listener = Callable[[DiagnosticError, Any], DiagnosticError]
_listener: Listener | None = None


def tell(listener: Listener | None) -> None:
    """Let `listener(error, module)` hear of errors, and say what is raised instead; None: nobody.

    The module is None when the text of it could not be read.
    """
    global _listener
    _listener = listener


@contextmanager
def diagnosed(mod: Any) -> Iterator[None]:
    """Inside, something is read, or `mod` is typed: who is to be told hears of errors in it."""
    try:
        yield
    except (ParseError, TypeInferenceError) as error:
        if _listener is None:
            raise
        raise _listener(error, mod) from error


def called(token: str) -> str:
    """What TVM calls a token."""
    start = token[:1]
    if not token or token == "#[metadata]":
        return "metadata section" if token else "end of file"
    if start == "%" and len(token) > 1:
        return "graph variable" if token[1].isdecimal() else "local variable"
    if start == "@" and len(token) > 1:
        return "global variable"
    if start.isdecimal():
        return "float" if set(token) & set(".ef") else "integer"
    if start == '"':
        return "string literal"
    if token.startswith("meta["):
        return "`meta`"
    if token in ("True", "False"):
        return "boolean"
    if token in _WORDS or not (start.isalpha() or start == "_") or token == "_":
        return f"`{_FIRST.get(token, token)}`"
    return "identifier"


_WORDS = {"let", "if", "else", "fn", "def", "type", "extern", "free_var", "match"}
_WORDS |= {"ref", "ref_read", "ref_write"}
# TVM has no tokens of two signs, and it mixes up the angles.
_FIRST = {"->": "-", "=>": "=", "==": "=", "<=": ">", ">=": "<", "!=": "!", "<": ">", ">": "<"}


def mismatch(first: Any, second: Any) -> tuple[str, ...]:
    """What TVM says of two types that have to be one, and cannot be."""
    said = [
        f"The Relay type checker is unable to show the following types match.\n"
        f"In particular `{first}` does not match `{second}`"
    ]
    mine, theirs = getattr(first, "shape", None), getattr(second, "shape", None)
    if mine is None or theirs is None or first.dtype != second.dtype:
        return tuple(said)
    if len(mine) != len(theirs):
        said.insert(
            0,
            f"tensor type `{second}` has {len(theirs)} dimensions, "
            f"while `{first}` has {len(mine)} dimensions",
        )
        return tuple(said)
    dims = "  ".join(
        f"dimension {n} conflicts: {b} does not match {a}."
        for n, (a, b) in enumerate(zip(mine, theirs, strict=True))
        if a != b and str(a) != "?" and str(b) != "?"
    )
    said.insert(
        0,
        f"The Relay type checker is unable to show the following types match:\n"
        f"  {second}\n  {first}\nIn particular:\n  {dims}",
    )
    return tuple(said)


def in_full(ty: Any) -> str:
    """A tensor type as TVM writes it in C++."""
    dims = ", ".join(map(str, getattr(ty, "shape", ())))
    return f"TensorType([{dims}], {ty.dtype})" if hasattr(ty, "dtype") else str(ty)


UNDERCONSTRAINED = (
    "The type inference pass was unable to infer a type for this expression.\n"
    "This usually occurs when an operator call is under constrained in some way, check other "
    "reported errors for hints of what may of happened."
)
