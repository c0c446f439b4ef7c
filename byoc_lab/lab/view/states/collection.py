"""Building large states without garbage collection."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def without_collection() -> Iterator[None]:
    """No garbage collection inside: what is built here is kept, and each collection walks all
    modules, which takes longer than to build a part. It counts as old afterwards, so that it does
    not bring about the next collection either."""
    was = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if not gc.get_freeze_count():  # nobody else froze objects
            gc.freeze()
            gc.unfreeze()
        if was:
            gc.enable()
