"""A listener for errors in programs, which is called before they are raised, so that a tool can
show them in its own form."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from byoc_lab.errors import DiagnosticError, ParseError, TypeInferenceError

Listener = Callable[[DiagnosticError, Any], DiagnosticError]
_listener: Listener | None = None


def listen(listener: Listener | None) -> None:
    """Call `listener(error, module)` for each error in a program; it returns the error to raise.

    The module is None if its text could not be read. Passing None removes the listener.
    """
    global _listener
    _listener = listener


@contextmanager
def diagnosed(mod: Any) -> Iterator[None]:
    """A context for reading or typing a program: errors inside are passed to the listener."""
    try:
        yield
    except (ParseError, TypeInferenceError) as error:
        if _listener is None:
            raise
        raise _listener(error, mod) from error
