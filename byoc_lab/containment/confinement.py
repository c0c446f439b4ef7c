"""Permanent restrictions of a process by the kernel: privileges, system calls, resources.

They also work without namespaces. A system call is refused if it reaches another process or
program, or if it uses memory that no limit counts.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
import sys

NO_NEW_PRIVILEGES, DROP_BOUNDING, DUMPABLE, CHILD_SUBREAPER = 38, 24, 4, 36
SECCOMP, FILTER = 22, 2
CAPABILITIES = 64
NEW_NAMESPACES = 0x7E020000  # the CLONE_NEW* flags of clone

ARCHITECTURES = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
CALLS = {
    # Sockets reach programs outside; io_uring opens them without a system call.
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "io_uring_setup": (425, 425),
    # Memory outside of every address space and every folder.
    "memfd_create": (319, 279), "memfd_secret": (447, 447), "shmget": (29, 194),
    "msgget": (68, 186), "semget": (64, 190), "mq_open": (240, 180),
    "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219),
    # A new user namespace has all privileges: it can mount folders of any size.
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "fsopen": (430, 430),
    # Calls that affect other processes and the kernel.
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271),
    "pidfd_getfd": (438, 438), "bpf": (321, 280), "perf_event_open": (298, 241),
    "userfaultfd": (323, 282), "open_by_handle_at": (304, 265),
}  # fmt: skip
"""Refused system calls, with their numbers on x86-64 and AArch64."""

CLONE, CLONE3, MMAP, SOCKETPAIR = (56, 220), (435, 435), (9, 222), (53, 199)
SHARED_AND_ANONYMOUS, STREAM, KIND_OF_SOCKET = 0x21, 1, 0xF


def confine() -> None:
    """Drop the capabilities of this process permanently, and make the kernel refuse system
    calls."""
    if sys.platform != "linux":
        return
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    for number in range(CAPABILITIES):
        libc.prctl(DROP_BOUNDING, number, 0, 0, 0)
    header, none = (ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)()
    _checked(libc.capset(ctypes.byref(header), ctypes.byref(none)), "no capabilities")
    refuse_calls()


def refuse_calls() -> None:
    """Make the kernel refuse, with EPERM, the system calls of CALLS, new namespaces, shared memory
    without a file, and socket pairs that could send elsewhere."""
    program = _filter()
    code = ctypes.create_string_buffer(program, len(program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_void_p))

    given = Program(len(program) // 8, ctypes.addressof(code))
    libc = ctypes.CDLL(None, use_errno=True)
    _checked(libc.prctl(NO_NEW_PRIVILEGES, 1, 0, 0, 0), "no new privileges")
    _checked(libc.prctl(SECCOMP, FILTER, ctypes.byref(given), 0, 0), "a filter of system calls")


def _filter() -> bytes:
    """The filter program for the kernel, in classic BPF."""
    machine = platform.machine()
    if machine not in ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"no numbers of system calls are known for {machine}")
    column = list(ARCHITECTURES).index(machine)
    load, equal, least, masked, any_of, give = 0x20, 0x15, 0x35, 0x54, 0x45, 0x06
    allow, refuse, kill = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000

    def argument(number: int) -> int:
        return 16 + 8 * number

    steps = [
        (load, 0, 0, 4), (equal, 1, 0, ARCHITECTURES[machine]), (give, 0, 0, kill),
        # system calls of the x32 ABI
        (load, 0, 0, 0), (least, 0, 1, 0x40000000), (give, 0, 0, refuse),
    ]  # fmt: skip
    for numbers in CALLS.values():
        steps += [(equal, 0, 1, numbers[column]), (give, 0, 0, refuse)]
    # the C library then falls back to clone, whose flags can be checked
    missing = 0x00050000 | errno.ENOSYS
    steps += [(equal, 0, 1, CLONE3[column]), (give, 0, 0, missing)]
    steps += [
        (equal, 0, 4, CLONE[column]), (load, 0, 0, argument(0)),
        (any_of, 0, 1, NEW_NAMESPACES), (give, 0, 0, refuse), (give, 0, 0, allow),
        (equal, 0, 5, MMAP[column]), (load, 0, 0, argument(3)),
        (masked, 0, 0, SHARED_AND_ANONYMOUS), (equal, 0, 1, SHARED_AND_ANONYMOUS),
        (give, 0, 0, refuse), (give, 0, 0, allow),
        (equal, 0, 5, SOCKETPAIR[column]), (load, 0, 0, argument(1)),
        (masked, 0, 0, KIND_OF_SOCKET), (equal, 1, 0, STREAM),
        (give, 0, 0, refuse), (give, 0, 0, allow),
        (give, 0, 0, allow),
    ]  # fmt: skip
    return b"".join(struct.pack("<HBBI", *step) for step in steps)


def hide_from_others() -> None:
    """Prevent unprivileged processes from inspecting this process and its memory."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(DUMPABLE, 0, 0, 0, 0)


def become_reaper() -> None:
    """Make this process adopt orphaned grandchildren, for systems without namespaces."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(CHILD_SUBREAPER, 1, 0, 0, 0)


def limit(**most: int) -> None:
    """Set kernel limits for this process and the processes that it starts: `as_`, `cpu`, `fsize`,
    ... of `resource`; each becomes the lower of the given and the current limit."""
    import resource  # not available on Windows

    for name, value in most.items():
        kind = getattr(resource, f"RLIMIT_{name.strip('_').upper()}")
        _, hard = resource.getrlimit(kind)
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def _checked(result: int, what: str) -> None:
    if result != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{os.strerror(number)}: {what}")
