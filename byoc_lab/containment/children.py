"""Child processes: each ends with this process, and every wait for a child has a limit.

A child is a fork of this process or a command, and answers messages on a pipe. Each message is
preceded by its length. Waits end when the child has used its processor time (see
`processor_time.wait`); a stopped or sleeping child is ended by wall-clock time.
"""

from __future__ import annotations

import os
import select
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, BinaryIO, NamedTuple, NoReturn

from byoc_lab import processor_time
from byoc_lab.containment.family import die_with
from byoc_lab.errors import ByocLabError

END_LIMIT = 10.0  # time for a process to end after it has closed its pipe
KILL = getattr(signal, "SIGKILL", signal.SIGTERM)  # Windows ends a process by any signal
LENGTH = struct.Struct("<Q")
NOTHING = subprocess.DEVNULL
LONGEST_LOOK = 0.05  # seconds between two checks of a process that should end


class ChildError(ByocLabError, RuntimeError):
    """A child process gave no answer.

    Attributes: `kind`, "crashed" or "timed out"; `code`, the exit status of a crashed child: the
    negative number of the signal that ended it, or None if it closed its pipe but continued to run.
    """

    def __init__(self, message: str, kind: str, code: int | None = None):
        super().__init__(message)
        self.kind, self.code = kind, code


class Child:
    """A child process that answers messages. It leads a session, which ends with it.

    pid: its process id. poll: returns its exit status once it has ended, else None. answers,
    requests: the descriptors to read from it and to write to it, if any.
    """

    def __init__(
        self,
        pid: int,
        poll: Callable[[], int | None],
        answers: int | None = None,
        requests: int | None = None,
    ):
        self.pid, self.poll, self.answers, self._requests = pid, poll, answers, requests

    @classmethod
    def forked(cls, serve: Callable[[int], None]) -> Child:
        """A fork of this process, in which `serve` writes messages to the given descriptor.

        Its input is empty, and Ctrl-C does not reach it.
        """
        parent, (answers, written) = os.getpid(), os.pipe()
        _flush()  # otherwise the child would write buffered output, too
        pid = os.fork()
        if pid == 0:
            _serve_in_fork(serve, written, parent)
        os.close(written)
        return cls(pid, _Fork(pid).poll, answers)

    @classmethod
    def started(cls, command: Sequence[str], **options: Any) -> Child:
        """A command that reads requests on its input and writes answers to its output.

        options: for `subprocess.Popen`."""
        asked, requests = os.pipe()
        answers, written = os.pipe()
        os.set_blocking(requests, False)
        given: dict[str, Any] = {"stdin": asked, "stdout": written, **options}
        try:
            process = subprocess.Popen(command, start_new_session=True, **given)
        except OSError:
            os.close(requests)
            os.close(answers)
            raise
        finally:
            os.close(asked)
            os.close(written)
        return cls(process.pid, process.poll, answers, requests)

    def send(self, message: bytes, limit: float) -> None:
        """Send a message. limit: seconds of processor time. Raises ChildError."""
        assert self._requests is not None
        left, descriptor = memoryview(LENGTH.pack(len(message)) + message), self._requests
        while left:
            self._wait(lambda seconds: bool(select.select([], [descriptor], [], seconds)[1]), limit)
            try:
                left = left[os.write(descriptor, left) :]
            except BrokenPipeError:
                raise self._crashed() from None

    def receive(self, limit: float, asleep: float | None = None) -> bytes:
        """The next message. limit, asleep: as for `processor_time.wait`. Raises ChildError."""
        (length,) = LENGTH.unpack(self._read(LENGTH.size, limit, asleep))
        return self._read(length, limit, asleep)

    def ended(self, seconds: float) -> int | None:
        """The exit status of the child, if it ends within this number of seconds of wall-clock
        time."""
        until, pause = time.monotonic() + seconds, 0.0005
        while (code := self.poll()) is None and time.monotonic() < until:
            time.sleep(pause)
            pause = min(2 * pause, LONGEST_LOOK)
        return code

    def end(self) -> None:
        """Kill the child and its session."""
        if hasattr(os, "killpg"):  # not available on Windows
            with suppress(ProcessLookupError):
                os.killpg(self.pid, KILL)
        if self.poll() is None:  # a fork may not lead a session yet
            with suppress(ProcessLookupError):
                os.kill(self.pid, KILL)
        self.ended(END_LIMIT)
        for descriptor in (self.answers, self._requests):
            if descriptor is not None:
                os.close(descriptor)

    def _read(self, count: int, limit: float, asleep: float | None) -> bytes:
        assert self.answers is not None
        found, descriptor = bytearray(), self.answers
        while len(found) < count:
            self._wait(
                lambda seconds: bool(select.select([descriptor], [], [], seconds)[0]), limit, asleep
            )
            part = os.read(descriptor, count - len(found))
            if not part:
                raise self._crashed()
            found += part
        return bytes(found)

    def _wait(
        self, ready: Callable[[float], bool], limit: float, asleep: float | None = None
    ) -> None:
        if not processor_time.wait(ready, self.pid, limit, asleep):
            raise timed_out(limit)

    def _crashed(self) -> ChildError:
        code = self.ended(END_LIMIT)
        if code is None:
            return ChildError("it closed its pipe and did not end", "crashed")
        how = f"exit status {code}" if code >= 0 else signal.Signals(-code).name
        return ChildError(f"its process crashed ({how})", "crashed", code)


class Completed(NamedTuple):
    """A finished command: its exit status, and its output."""

    code: int
    output: str
    errors: str


def run(
    command: Sequence[str], limit: float, asleep: float | None = None, **options: Any
) -> Completed:
    """Run a command until it and all processes that it started have ended; without input unless
    `options` give a `stdin`.

    limit, asleep: as for `processor_time.wait`. options: for `subprocess.Popen`. Raises ChildError
    for a command that does not end, and OSError for a command that cannot be run.
    """
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
        given: dict[str, Any] = {"stdin": subprocess.DEVNULL, **options}
        process = subprocess.Popen(
            command, stdout=output, stderr=errors, start_new_session=True, **given
        )
        child = Child(process.pid, process.poll)

        def ready(seconds: float) -> bool:
            return child.ended(seconds) is not None

        try:
            if not processor_time.wait(ready, child.pid, limit, asleep):
                raise timed_out(limit)
        finally:
            child.end()
        written = []
        for file in (output, errors):
            file.seek(0)
            written.append(file.read().decode(errors="replace"))
    return Completed(process.returncode, *written)


def in_front(command: Sequence[str]) -> int:
    """Run a command on this terminal, without a limit, because a person works with it; returns its
    exit status."""
    return subprocess.run(command).returncode


def timed_out(limit: float) -> ChildError:
    """The error for a child that has used up its processor time."""
    return ChildError(
        f"it did not end within {limit:g} s of processor time and was stopped", "timed out"
    )


class _Fork:
    """The exit status of a fork."""

    def __init__(self, pid: int):
        self.pid = pid
        self.code: int | None = None

    def poll(self) -> int | None:
        if self.code is None:
            try:
                done, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # the host ignores SIGCHLD: the status is lost
                done, status = self.pid, 0
            if done:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code


def _serve_in_fork(serve: Callable[[int], None], written: int, parent: int) -> NoReturn:
    code = 1
    try:
        die_with(parent)
        os.setsid()
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        serve(written)
        code = 0
    except Exception:
        traceback.print_exc()
    finally:  # the fork must not continue as if it were the parent
        _flush()
        os._exit(code)


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def write_message(descriptor: int, message: bytes) -> None:
    """Write a message of a child to its answer pipe, after flushing its output."""
    _flush()
    left = memoryview(LENGTH.pack(len(message)) + message)
    while left:
        left = left[os.write(descriptor, left) :]


def read_message(stream: BinaryIO) -> bytes | None:
    """The next message that a child receives on its input; None after the last message."""
    header = stream.read(LENGTH.size)
    return stream.read(*LENGTH.unpack(header)) if len(header) == LENGTH.size else None


__all__ = [
    "NOTHING", "Child", "ChildError", "Completed", "in_front", "read_message", "run",
    "write_message",
]  # fmt: skip
