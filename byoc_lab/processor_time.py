"""Processor time of other processes: unlike wall-clock time, it detects an endless process
independently of other load."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress

ASLEEP = 10
"""A sleeping process may take this many times its limit, plus `LEAST_ASLEEP` seconds."""
LEAST_ASLEEP = 60.0
_SHORTEST = 0.01  # seconds between two checks of a process


def process_seconds(pid: int) -> float:
    """Processor time of a process and of its ended children; 0 after its end, or without /proc."""
    return sum(_seconds(f"/proc/{pid}/stat"))


def asleep_limit(limit: float) -> float:
    """The wall-clock limit for a process that may use `limit` seconds of processor time."""
    return max(ASLEEP * limit, LEAST_ASLEEP)


def wait(
    ready: Callable[[float], bool], pid: int, limit: float, asleep: float | None = None
) -> bool:
    """Wait for a process; returns whether it was ready before it used up its processor time.

    ready: waits for the given seconds, and returns whether the result is available. limit: seconds
    of a single thread (so the number of cores does not matter), or of ended children. Without
    /proc, the limit is wall-clock time. asleep: the wall-clock limit; None for
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
    """The processor time of each thread, and of ended children."""
    found = {"children": _seconds(f"/proc/{pid}/stat")[1]}
    folder = f"/proc/{pid}/task"
    with suppress(OSError):  # the process has ended, or there is no /proc
        for thread in os.listdir(folder):
            found[thread] = _seconds(f"{folder}/{thread}/stat")[0]
        return found
    return {}


def _seconds(path: str) -> tuple[float, float]:
    """User and system time in a `stat` file of /proc: of the process or thread, and of its ended
    children."""
    with suppress(OSError), open(path, encoding="utf-8", errors="replace") as file:
        fields = file.read().rpartition(")")[2].split()
        user, system, of_children, in_system = map(int, fields[11:15])
        second = os.sysconf("SC_CLK_TCK")
        return (user + system) / second, (of_children + in_system) / second
    return 0.0, 0.0
