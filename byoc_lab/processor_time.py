"""Processor time of other processes: whether one is endless does not depend on what else runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

ASLEEP = 10
"""A process that sleeps may take so many times its limit, and `LEAST_ASLEEP` seconds."""
LEAST_ASLEEP = 60.0
_SHORTEST = 0.01  # seconds between two looks at a process


def process_seconds(pid: int) -> float:
    """Processor time of a process and of its ended children; 0 after its end, or without /proc."""
    return sum(_seconds(f"/proc/{pid}/stat"))


def asleep_limit(limit: float) -> float:
    """The wall-clock limit for a process that may use `limit` seconds of processor time."""
    return max(ASLEEP * limit, LEAST_ASLEEP)


def wait(
    ready: Callable[[float], bool], pid: int, limit: float, asleep: float | None = None
) -> bool:
    """Wait for a process; whether it was ready before it used its processor time.

    ready: waits for some seconds, and returns whether the result is there. limit: seconds of one
    thread (the number of cores does not matter), or of children that have ended. Without /proc
    the limit is one of wall-clock time. asleep: the wall-clock limit; None for
    `asleep_limit(limit)`.
    """
    most = asleep_limit(limit) if asleep is None else asleep
    began, before = time.monotonic(), _by_thread(pid)
    while True:
        now = _by_thread(pid)
        passed = time.monotonic() - began
        used = max((now[t] - before.get(t, 0.0) for t in now), default=0.0 if before else passed)
        if used >= limit or passed >= most:
            return False
        if ready(max(min(limit - used, most - passed, LEAST_ASLEEP), _SHORTEST)):
            return True


def _by_thread(pid: int) -> dict[str, float]:
    """Processor time of each thread, and of children that have ended."""
    found = {"children": _seconds(f"/proc/{pid}/stat")[1]}
    folder = f"/proc/{pid}/task"
    with suppress(OSError):  # the process has ended, or there is no /proc
        for thread in os.listdir(folder):
            found[thread] = _seconds(f"{folder}/{thread}/stat")[0]
        return found
    return {}


def _seconds(path: str) -> tuple[float, float]:
    """User and system time in a file `stat` of /proc: its own, and of its ended children."""
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
        user, system, of_children, in_system = map(int, fields[11:15])
        second = os.sysconf("SC_CLK_TCK")
        return (user + system) / second, (of_children + in_system) / second
    return 0.0, 0.0
