"""A listener to errors in programs, before they are raised: how a tool shows them its own way."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from byoc_lab.errors import DiagnosticError, ParseError, TypeInferenceError

Listener = Callable[[DiagnosticError, Any], DiagnosticError]
_listener: Listener | None = None


def listen(listener: Listener | None) -> None:
    """Call `listener(error, module)` for each error in a program; it gives the error to raise.

    The module is None when its text could not be read. None removes the listener.
    """
    global _listener
    _listener = listener


@contextmanager
def diagnosed(mod: Any) -> Iterator[None]:
    """Inside, something is read, or `mod` is typed: errors in it go to the listener."""
    try:
        yield
    except (ParseError, TypeInferenceError) as error:
        if _listener is None:
            raise
        raise _listener(error, mod) from error
