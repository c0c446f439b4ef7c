"""The descendants of a process: they end with it, and are found and ended together."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from contextlib import suppress

DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG of Linux


def die_with(parent: int) -> None:
    """Kill this process when its parent ends, and at once if the parent has ended already. parent:
    the expected process id of the parent. Has no effect outside Linux."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
        if os.getppid() != parent:
            os._exit(1)


def below(root: int) -> set[int]:
    """The descendants of a process, found by parent ids; none without /proc."""
    parents: dict[int, int] = {}
    if not os.path.isdir("/proc/self"):
        return set()
    for name in os.listdir("/proc"):
        if name.isdigit():
            with (
                suppress(OSError),
                open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file,
            ):
                parents[int(name)] = int(file.read().rpartition(")")[2].split()[1])
    found: set[int] = set()
    grown = True
    while grown:
        new = {p for p, above in parents.items() if above == root or above in found} - found
        found |= new
        grown = bool(new)
    return found


def end_with_all_below(root: int) -> None:
    """Kill a process and its descendants."""
    for process in (*below(root), root):
        with suppress(ProcessLookupError):
            os.kill(process, signal.SIGKILL)
