"""The isolation of a process that runs a student's code: namespaces, limits, no privileges.

What the operating system gives is used, and `isolate` says what it was: where a user namespace can
be made (most of today's Linux), the process has no network, sees no other process, can write to its
own folder only, and finds hidden folders empty. Elsewhere the limits of resources hold, and an
audit hook refuses sockets and hidden folders, which keeps out mistakes and simple attempts but not
native code.
"""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from byoc_lab.printing import printable

NEW_USER, NEW_PROCESSES, NEW_MOUNTS = 0x10000000, 0x20000000, 0x00020000
NEW_NETWORK, NEW_IPC = 0x40000000, 0x08000000
PRIVATE, RECURSIVE = 0x40000, 0x4000
MOUNT_SETATTR, READ_ONLY, AT_RECURSIVE, AT_FDCWD = 442, 1, 0x8000, -100
NO_NEW_PRIVILEGES, DROP_BOUNDING, DUMPABLE, CHILD_SUBREAPER = 38, 24, 4, 36
CAPABILITIES = 64
NETWORK_EVENTS = ("socket.connect", "socket.bind", "socket.sendto", "socket.getaddrinfo")
FILE_EVENTS = ("open", "os.listdir", "os.scandir")


ENDED = "ended Python"
"""The status of a notebook whose process exited without a reply."""


@dataclass(frozen=True)
class Limits:
    """What one notebook may use.

    seconds: of processor time, of all its processes together. memory: bytes of address space of a
    process, and in use by all. processes: at one time. output: bytes that it prints. reply: bytes
    of its answers. file: bytes of one file.
    """

    seconds: float = 30.0
    memory: int = 2 << 30
    processes: int = 32
    output: int = 16 << 20
    reply: int = 32 << 20
    file: int = 64 << 20

    @printable
    def __str__(self) -> str:
        return (
            f"{self.seconds:g} seconds of processor time, {self.memory >> 20} MiB, "
            f"{self.processes} processes, and {self.output >> 20} MiB of output"
        )


def enter_namespaces(folder: Path, hidden: Sequence[Path]) -> bool:
    """Move this process's children into namespaces of their own; whether that was possible.

    folder: the only one that stays writable. hidden: folders that will be empty. To be called in a
    process with one thread; the first child is the first process of the namespace.
    """
    if sys.platform != "linux":
        return False
    libc = ctypes.CDLL(None, use_errno=True)
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(NEW_USER | NEW_PROCESSES | NEW_MOUNTS | NEW_NETWORK | NEW_IPC) != 0:
        return False
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    _checked(libc.mount(b"none", b"/", None, PRIVATE | RECURSIVE, None), "private mounts")
    _mount_empty(libc, folder, "size=128m")
    for path in hidden:
        if path.is_dir():
            _mount_empty(libc, path, "size=4k")
    return True


def finish_namespaces(folder: Path) -> None:
    """The rest, in the first process of the namespace: its own /proc, and a read-only root."""
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.mount(b"proc", b"/proc", b"proc", 0, None), "/proc")
    attributes = (ctypes.c_uint64 * 4)(READ_ONLY, 0, 0, 0)
    size = ctypes.c_size_t(ctypes.sizeof(attributes))
    _checked(
        libc.syscall(MOUNT_SETATTR, AT_FDCWD, b"/", AT_RECURSIVE, ctypes.byref(attributes), size),
        "a read-only root",
    )
    writable = (ctypes.c_uint64 * 4)(0, READ_ONLY, 0, 0)
    _checked(
        libc.syscall(MOUNT_SETATTR, AT_FDCWD, os.fsencode(folder), 0, ctypes.byref(writable), size),
        "a writable folder",
    )
    libc.prctl(DUMPABLE, 0, 0, 0, 0)  # no other process may look into this one


def become_reaper() -> None:
    """Orphaned grandchildren become children of this process, where no namespace holds them."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1, 0, 0, 0)


def drop_privileges() -> None:
    """Give up the capabilities of this process for good: it cannot undo a mount."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0)
    for number in range(CAPABILITIES):
        libc.prctl(DROP_BOUNDING, number, 0, 0, 0)
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _checked(libc.capset(ctypes.byref(header), ctypes.byref(none)), "no capabilities")


def limit_resources(limits: Limits) -> None:
    """Set the limits that the kernel keeps for this process and those that it starts."""
    import resource  # it does not exist on Windows

    seconds = 2 * int(limits.seconds) + 1  # should the parent be late to notice
    for kind, most in (
        (resource.RLIMIT_AS, limits.memory),
        (resource.RLIMIT_CPU, seconds),
        (resource.RLIMIT_FSIZE, limits.file),
        (resource.RLIMIT_NPROC, limits.processes),
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_NOFILE, 256),
    ):
        _, hard = resource.getrlimit(kind)
        most = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(kind, (most, most))


def refuse_by_hook(hidden: Sequence[Path], noticed: list[str]) -> None:
    """Refuse Python's sockets and hidden folders; what was tried goes into `noticed`."""
    folders = tuple(str(path) for path in hidden)

    def hook(event: str, args: tuple[Any, ...]) -> None:
        if event in NETWORK_EVENTS:
            noticed.append("tried to use the network")
            raise PermissionError("the network cannot be used in a graded run")
        if event in FILE_EVENTS and args and isinstance(args[0], (str, bytes, os.PathLike)):
            path = os.path.realpath(os.fsdecode(args[0]))
            if path.startswith(folders):
                noticed.append("tried to read solutions, submissions or the grader's files")
                raise PermissionError(f"{path} cannot be read in a graded run")

    sys.addaudithook(hook)


def _mount_empty(libc: Any, path: Path, options: str) -> None:
    done = libc.mount(b"tmpfs", os.fsencode(path), b"tmpfs", 0, options.encode())
    _checked(done, f"an empty {path}")


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)}: {what}")
