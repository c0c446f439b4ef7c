"""The processes of a container, or those below this one: their total usage, and killing them."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from byoc_lab.containment.family import below
from byoc_lab.processor_time import process_seconds

BYTES_OF_A_FILE = 1024  # kernel memory of an empty file
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096  # not on Windows


def alive(contained: bool) -> list[str]:
    """The processes in the container of this one, or else those below this one."""
    if contained:
        return [name for name in os.listdir("/proc") if name.isdigit()]
    return [str(number) for number in below(os.getpid())]


def used(contained: bool) -> tuple[int, float]:
    """The bytes of memory and the seconds of processor time that `alive` use together.

    Memory that this process has, and that they share with it since their fork, does not count."""
    ids, pages = alive(contained), 0
    shared = _pages("self") if ids else 0
    for name in ids:
        with suppress(OSError):
            own = _pages(name)
            pages += max(0, own - shared) if _command(name) == _command("self") else own
    return pages * PAGE, sum(process_seconds(int(name)) for name in ids)


def address_space() -> int:
    """The bytes of address space of this process; it depends on what its libraries reserve."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * PAGE


def bytes_in(folder: Path) -> int:
    """The bytes in a folder that is a file system in memory, including the names of files."""
    found = os.statvfs(folder)
    blocks, files = found.f_blocks - found.f_bfree, found.f_files - found.f_ffree
    return blocks * found.f_frsize + files * BYTES_OF_A_FILE


def end_all(child: int, contained: bool) -> None:
    """End the session of a child and all of `alive`, however fast they start new ones."""
    while True:
        if contained:
            with suppress(ProcessLookupError):
                os.kill(-1, signal.SIGKILL)
        else:
            with suppress(ProcessLookupError):
                os.killpg(child, signal.SIGKILL)
            for process in below(os.getpid()):
                with suppress(ProcessLookupError):
                    os.kill(process, signal.SIGKILL)
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def _command(process: str) -> bytes:
    """The command line of a process: that of its parent until it executes another program."""
    return Path(f"/proc/{process}/cmdline").read_bytes()


def _pages(process: str) -> int:
    """The pages of a process that are in memory."""
    with open(f"/proc/{process}/statm", encoding="ascii") as file:
        return int(file.read().split()[1])
