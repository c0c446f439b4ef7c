"""`supervised`: runs a function of untrusted code in a fork with limits.

The process that calls it is the first of a container, or adopts orphans (`become_reaper`): what the
function starts is below it, is counted, and ends with the call.
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

POLL = 0.02  # seconds between two looks at the processes
SHOWN = 4096  # bytes of output that are kept
DESCRIPTORS = 1024  # above which a process of this package has none


class Supervised(NamedTuple):
    """The end of a run: a word of `limits`, the beginning of its output, and its reply."""

    status: str
    printed: bytes
    reply: bytes


def supervised(
    serve: Callable[[int], None], limits: Limits, folder: Path, contained: bool
) -> Supervised:
    """Run `serve` in a fork that may use `limits`, has no privileges and works in `folder`, which
    is emptied after it. serve: writes its reply to the descriptor that it gets."""
    output, write_output = os.pipe()
    before, (_, spent) = len(usage.alive(contained)), usage.used(contained)
    child = Child.forked(partial(_confined, serve, limits, folder, write_output))
    os.close(write_output)
    assert child.answers is not None
    status, reply, printed, size = "", bytearray(), bytearray(), 0
    asleep = time.monotonic() + asleep_limit(limits.seconds)
    open_ends = {child.answers, output}
    while not status:
        code = child.poll()  # before the pipes are read: all that it wrote is in them then
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

    before, spent: how many there were, and their processor time, before the run. asleep: when it
    ends by the clock."""
    if len(usage.alive(contained)) - before > limits.processes:
        return MANY_PROCESSES  # at once: while they are counted, they become more
    memory, seconds = usage.used(contained)
    memory += usage.bytes_in(folder) if contained else 0
    if seconds - spent > limits.seconds or time.monotonic() > asleep:
        return TIMED_OUT
    return MUCH_MEMORY if memory > limits.memory else ""


def _confined(
    serve: Callable[[int], None], limits: Limits, folder: Path, output: int, written: int
) -> None:
    """The fork, before it serves: its limits, its descriptors and its folder."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (1, 2):
        os.dup2(output, number)
    os.closerange(3, written)  # the caller's answer pipe is among them
    os.closerange(written + 1, DESCRIPTORS)
    limit(
        as_=limits.memory + usage.address_space(), fsize=limits.file, core=0, nofile=256,
        nproc=2 * limits.processes,
        cpu=2 * int(limits.seconds) + 1,  # should the caller be late to notice
    )  # fmt: skip
    confine()
    os.chdir(folder)
    os.environ.update(TMPDIR=str(folder), HOME=str(folder))
    serve(written)


def _empty(folder: Path) -> None:
    """Remove the content of a folder by a program that handles deeply nested folders; what it
    cannot remove stays. Python and its packages are other file systems, if they are below the
    folder."""
    find = shutil.which("find", path=os.defpath) or "find"  # independent of PATH
    command = [find, str(folder), "-xdev", "-mindepth", "1", "-delete"]
    run(command, asleep_limit(0))
