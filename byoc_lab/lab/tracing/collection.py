"""Disables garbage collection while traces are read or written and states are built."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """Run the body without garbage collection. Each collection would visit all modules in vain: the
    objects are kept, or freed with their last reference. Not for code that runs passes: the
    collector belongs to the whole process, and other threads rely on it."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was:
            gc.enable()
