"""Control groups of version 2: the kernel counts all memory of a command and its children.

This includes memory of files, shared memory and kernel memory, and all processes in the group. The
new group is created in the nearest group in which this account may create one: the group of this
process, if that group has no process itself, or a group above it that enables its controllers for
the groups below it.
"""

from __future__ import annotations

import os
import secrets
import signal
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path

from byoc_lab.containment.children import END_LIMIT, LONGEST_LOOK, ChildError, run
from byoc_lab.errors import ByocLabError

PREFIX = "byoc-lab-"
CONTROLLERS = ("memory", "pids")
# a shell script: the process enters the group before it runs the command
ENTER = 'echo 0 > "$0/cgroup.procs" && exec "$@"'
TRIED, TAKEN = 64 << 20, 256 << 20  # memory limit of the trial, and bytes that it allocates
TRIAL = f"print(len(b'x' * {TAKEN}))"
TRIAL_SECONDS = 60.0
FORBIDDEN = "this account may not write it"
ADVICE = "`systemd-run --user --scope byoc-lab ...` runs a command in a group that allows it"


class GroupError(ByocLabError, RuntimeError):
    """This process cannot create a control group."""


class Group:
    """A control group for one command; `path` is its folder."""

    def __init__(self, path: Path):
        self.path = path

    def entering(self, command: Sequence[str]) -> list[str]:
        """The command line that runs a command inside the group from its first instruction."""
        return ["/bin/sh", "-c", ENTER, str(self.path), *command]

    def killed(self) -> int:
        """The number of processes that the kernel has killed because the group exceeded its memory
        limit."""
        counts = dict(line.split() for line in _read(self.path / "memory.events").splitlines())
        return int(counts.get("oom_kill", 0))

    def remove(self) -> None:
        """Kill all processes of the group, and remove it."""
        until = time.monotonic() + END_LIMIT
        while self.path.exists() and time.monotonic() < until:
            for process in _read(self.path / "cgroup.procs").split():
                with suppress(ProcessLookupError):
                    os.kill(int(process), signal.SIGKILL)
            with suppress(OSError):  # a process has not left it yet
                self.path.rmdir()
                return
            time.sleep(LONGEST_LOOK)


@contextmanager
def group(memory: int, processes: int) -> Iterator[Group]:
    """A group whose processes together are limited to this many bytes of memory, without swap, and
    this many processes and threads at a time. It is removed at the end; leftover groups of killed
    processes are removed first. Raises GroupError."""
    above = parent()
    for path in above.glob(f"{PREFIX}*"):
        if not os.path.exists(f"/proc/{path.name.removeprefix(PREFIX).partition('-')[0]}"):
            Group(path).remove()
    made = Group(above / f"{PREFIX}{os.getpid()}-{secrets.token_hex(4)}")
    try:
        made.path.mkdir()
        (made.path / "memory.max").write_text(str(memory))
        (made.path / "pids.max").write_text(str(processes))
        with suppress(FileNotFoundError):  # a kernel that does not count swapped memory
            (made.path / "memory.swap.max").write_text("0")
    except OSError as error:
        made.remove()
        raise GroupError(f"no control group in {above}: {error}") from error
    try:
        yield made
    finally:
        made.remove()


def parent() -> Path:
    """The nearest group, from the group of this process upwards, in which this account may create
    groups. Raises GroupError if there is none."""
    own, top = _own()
    reasons = []
    for path in (own, *own.parents):
        if not path.is_relative_to(top):
            break
        reason = _refusal(path)
        if not reason:
            return path
        reasons.append(f"{path}: {reason}")
    advice = [ADVICE] if any(FORBIDDEN in reason for reason in reasons) else []
    raise GroupError("; ".join([*reasons[:3], *advice]))


@cache
def failure() -> str:
    """The reason why control groups cannot limit memory on this machine, found by trying; empty if
    they can."""
    if sys.platform != "linux":
        return f"needs Linux, found {sys.platform}"
    try:
        with group(TRIED, 64) as tried:
            done = run(tried.entering([sys.executable, "-S", "-c", TRIAL]), TRIAL_SECONDS)
            if tried.killed():
                return ""
    except (GroupError, ChildError) as error:
        return str(error)
    return (
        done.errors.strip()
        or f"a process could allocate {TAKEN >> 20} MiB in a group limited to {TRIED >> 20} MiB"
    )


def _refusal(path: Path) -> str:
    """The reason why a group with our limits cannot be created in `folder`; empty if it can."""
    if not (os.access(path, os.W_OK) and os.access(path / "cgroup.procs", os.W_OK)):
        return FORBIDDEN
    missing = set(CONTROLLERS) - set(_read(path / "cgroup.controllers").split())
    if missing:
        return f"without the controller {' and '.join(sorted(missing))}"
    control = path / "cgroup.subtree_control"
    if not set(CONTROLLERS) <= set(_read(control).split()):
        try:
            control.write_text(" ".join(f"+{name}" for name in CONTROLLERS))
        except OSError as error:  # the kernel allows no groups below a group that has processes
            return f"its controllers are not enabled for the groups below it: {error.strerror}"
    return ""


def _own() -> tuple[Path, Path]:
    """The folder of this process's group, and the root folder of all groups. Raises GroupError."""
    named = [
        line[3:] for line in _read(Path("/proc/self/cgroup")).splitlines() if line[:3] == "0::"
    ]
    for line in _read(Path("/proc/self/mounts")).splitlines():
        _, place, kind, *_ = line.split()
        if kind == "cgroup2" and named:
            path = Path(place + named[0].rstrip("/"))
            if path.is_dir():
                return path, Path(place)
    raise GroupError("this system has no control groups of version 2")


def _read(path: Path) -> str:
    """The text of a kernel file; empty if its group no longer exists."""
    try:
        return path.read_text(encoding="utf-8")
    except OSError:
        return ""


__all__ = ["Group", "GroupError", "failure", "group", "parent"]
