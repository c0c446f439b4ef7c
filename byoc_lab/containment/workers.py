"""Pools of worker processes: they end with this process, and with the use of the pool."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from byoc_lab.containment.family import die_with


@contextmanager
def pool(workers: int, begin: Callable[..., object], *args: Any) -> Iterator[ProcessPoolExecutor]:
    """A pool of worker processes, which are killed after use.

    Each worker is a new Python that first calls `begin(*args)`. It ignores interrupts; this process
    ends it. A script that uses a pool needs `if __name__ == "__main__":`.
    """
    made = ProcessPoolExecutor(
        workers, get_context("spawn"), initializer=_begin, initargs=(os.getpid(), begin, args)
    )
    started = made._processes  # from Python 3.14 on, `kill_workers` does this
    try:
        yield made
    finally:
        made.shutdown(wait=False, cancel_futures=True)
        for worker in list(started.values()):
            worker.kill()  # a stopped worker would make Python wait for it at its exit
            worker.join()


def _begin(parent: int, begin: Callable[..., object], args: tuple[Any, ...]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    die_with(parent)
    begin(*args)


__all__ = ["pool"]
