"""Reading and writing traces, and building states, without garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """No garbage collection inside: the objects that are built here are kept, or freed when their
    last reference goes, and each collection walks all modules. Not around what runs passes: the
    collector is the process's, and other threads rely on it meanwhile."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
