"""Garbage collection, put off while nodes are made by the hundred thousand.

Nodes only refer to nodes made before them, so a pass leaves no cycles for Python's collector to
find. Left on, it goes through all living nodes again and again while new ones are made: a third to
a half of the time on a module of 10,000 blocks, and more the larger the module.
"""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def collector_paused() -> Iterator[None]:
    """No garbage collection inside; also a decorator. A collector that was off stays off."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()
