"""The processes of a container, or the descendants of this process: their total usage, and killing
them."""

from __future__ import annotations

import os
import signal
from contextlib import suppress
from pathlib import Path

from byoc_lab.containment.family import below
from byoc_lab.processor_time import process_seconds

BYTES_OF_A_FILE = 1024  # kernel memory of an empty file
PAGE = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096  # not available on Windows


def alive(contained: bool) -> list[str]:
    """The processes in the container of this process or, without one, its descendants."""
    if contained:
        return [name for name in os.listdir("/proc") if name.isdigit()]
    return [str(number) for number in below(os.getpid())]


def used(contained: bool) -> tuple[int, float]:
    """The bytes of memory and the seconds of processor time that `alive` use together.

    A fork has as much memory as this process from the start; only what it adds counts."""
    ids, memory = alive(contained), 0
    inherited = _memory("self") if ids else 0
    for name in ids:
        with suppress(OSError):
            own = _memory(name)
            memory += max(0, own - inherited) if _command(name) == _command("self") else own
    return memory, sum(process_seconds(int(name)) for name in ids)


def address_space() -> int:
    """The address space of this process in bytes; it depends on how much its libraries reserve."""
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
    """The command line of a process. A fork has its parent's command line until it executes a
    program."""
    return Path(f"/proc/{process}/cmdline").read_bytes()


def _memory(process: str) -> int:
    """The bytes of a process that are in memory; 0 if it has ended. Pages of files are left out if
    the kernel counts them separately: a fork maps a page of a file on its first read, so their
    number differs between machines."""
    lines = Path(f"/proc/{process}/status").read_text(errors="replace").splitlines()
    sizes = {line.split()[0]: int(line.split()[1]) for line in lines if line.endswith(" kB")}
    return (sizes.get("RssAnon:", sizes.get("VmRSS:", 0)) + sizes.get("RssShmem:", 0)) << 10
