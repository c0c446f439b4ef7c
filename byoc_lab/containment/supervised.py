"""`supervised`: runs a function of untrusted code in a fork with limits.

The calling process is the first process of a container, or adopts orphans (`become_reaper`). So all
processes that the function starts are its descendants; they are counted, and they end with the
call.
"""

from __future__ import annotations

import os
import select
import shutil
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

from byoc_lab.containment import usage
from byoc_lab.containment.children import Child, run
from byoc_lab.containment.confinement import confine, limit
from byoc_lab.containment.limits import (
    CRASHED,
    ENDED,
    MANY_PROCESSES,
    MUCH_MEMORY,
    MUCH_OUTPUT,
    RAN,
    TIMED_OUT,
    Limits,
)
from byoc_lab.processor_time import asleep_limit

POLL = 0.02  # seconds between two checks of the processes
SHOWN = 4096  # bytes of output that are kept
DESCRIPTORS = 1024  # descriptors above this number are not used by this package


class Supervised(NamedTuple):
    """The end of a run: a status of `limits`, the beginning of its output, and its reply."""

    status: str
    printed: bytes
    reply: bytes


def supervised(
    serve: Callable[[int], None], limits: Limits, folder: Path, contained: bool
) -> Supervised:
    """Run `serve` in a fork with `limits` and without privileges, in `folder`, which is emptied
    afterwards. serve: writes its reply to the given descriptor."""
    output, write_output = os.pipe()
    before, (_, spent) = len(usage.alive(contained)), usage.used(contained)
    child = Child.forked(partial(_confined, serve, limits, folder, write_output))
    os.close(write_output)
    assert child.answers is not None
    status, reply, printed, size = "", bytearray(), bytearray(), 0
    asleep = time.monotonic() + asleep_limit(limits.seconds)
    open_ends = {child.answers, output}
    while not status:
        # polled before the pipes are read: after its end they contain all that it wrote
        code = child.poll()
        ready, _, _ = select.select(list(open_ends), [], [], POLL if code is None else 0)
        for end in ready:
            data = os.read(end, 1 << 16)
            if not data:
                open_ends.discard(end)
            elif end == child.answers:
                reply += data
            else:
                size += len(data)
                printed += data[: max(0, SHOWN - len(printed))]
        if code is not None and not ready:
            status = CRASHED if code < 0 else RAN if reply else ENDED
        elif size > limits.output or len(reply) > limits.reply:
            status = MUCH_OUTPUT
        else:
            status = _exceeded(limits, folder, contained, before, spent, asleep)
    usage.end_all(child.pid, contained)
    child.end()
    os.close(output)
    _empty(folder)
    return Supervised(status, bytes(printed), bytes(reply) if status == RAN else b"")


def _exceeded(
    limits: Limits, folder: Path, contained: bool, before: int, spent: float, asleep: float
) -> str:
    """The limit that the processes have exceeded; empty for none.

    before, spent: the number of processes and their processor time before the run. asleep: the
    wall-clock time at which the run must end.
    """
    if len(usage.alive(contained)) - before > limits.processes:
        return MANY_PROCESSES  # stop at once, because their number grows while they are counted
    memory, seconds = usage.used(contained)
    memory += usage.bytes_in(folder) if contained else 0
    if seconds - spent > limits.seconds or time.monotonic() > asleep:
        return TIMED_OUT
    return MUCH_MEMORY if memory > limits.memory else ""


def _confined(
    serve: Callable[[int], None], limits: Limits, folder: Path, output: int, written: int
) -> None:
    """In the fork: set the limits, descriptors and folder, then run `serve`."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (1, 2):
        os.dup2(output, number)
    os.closerange(3, written)  # this also closes the caller's answer pipe
    os.closerange(written + 1, DESCRIPTORS)
    limit(
        as_=limits.memory + usage.address_space(), fsize=limits.file, core=0, nofile=256,
        nproc=2 * limits.processes,
        cpu=2 * int(limits.seconds) + 1,  # if the caller ends it too late
    )  # fmt: skip
    confine()
    os.chdir(folder)
    os.environ.update(TMPDIR=str(folder), HOME=str(folder))
    serve(written)


def _empty(folder: Path) -> None:
    """Remove the content of a folder with a program that handles deeply nested folders; entries
    that it cannot remove stay. Python and its packages are safe: if they are below the folder, they
    are separate file systems."""
    find = shutil.which("find", path=os.defpath) or "find"  # independent of PATH
    command = [find, str(folder), "-xdev", "-mindepth", "1", "-delete"]
    run(command, asleep_limit(0))
