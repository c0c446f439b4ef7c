"""Guarded calls: a function runs in a child process, so that a crash or an endless loop costs the
answer and nothing else.

`python -m byoc_lab.containment.guarded` is the child: it reads pickled calls from its standard
input and writes pickled answers, until its input ends. It serves one call after the other, and a
new one is started after a crash or a call that took too long.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, BinaryIO

from byoc_lab import processor_time
from byoc_lab.containment.family import die_with
from byoc_lab.errors import ByocLabError

START_LIMIT = 120.0  # seconds in which a child must be ready
END_LIMIT = 10.0  # seconds in which a child ends that has closed its pipe
SHOWN = 12  # last lines of what a crashed child wrote
LENGTH = struct.Struct("<Q")


class GuardedError(ByocLabError, RuntimeError):
    """A guarded call gave no answer.

    Attributes: `kind`, "crashed" or "timed out".
    """

    def __init__(self, message: str, kind: str):
        super().__init__(message)
        self.kind = kind


class Guard:
    """A child process that serves calls."""

    def __init__(self) -> None:
        self._child: subprocess.Popen[bytes] | None = None
        self._written: BinaryIO | None = None
        self._answered = False

    def call(self, function: Callable[..., Any], *args: Any, time_limit: float) -> Any:
        """The result of `function(*args)`, computed in the child.

        function, args, result: what pickle takes. time_limit: seconds of processor time of the
        call (see `processor_time.wait`).
        Raises GuardedError for a crash or a call that does not end, and what the function raises.
        """
        request = pickle.dumps((function, args))
        child = self._ready()
        with self._closing():
            self._send(child, request, time_limit)
            ok, value = self._receive(child, time_limit)
        if ok:
            return value
        raise value

    def close(self) -> None:
        """End the child, whatever it is doing."""
        child, self._child = self._child, None
        if child is not None:
            with suppress(ProcessLookupError):  # it has ended by itself
                os.killpg(child.pid, signal.SIGKILL)
            child.wait()
            for stream in (child.stdin, child.stdout, self._written):
                assert stream is not None
                with suppress(BrokenPipeError):  # it died before it read all
                    stream.close()

    def __del__(self) -> None:
        self.close()

    def start(self) -> None:
        """Start the child, unless there is one; what it imports, it imports while this process goes
        on."""
        if self._child is None:
            self._answered = False
            self._written = tempfile.TemporaryFile()  # noqa: SIM115 (it lives as the child does)
            self._child = subprocess.Popen(
                [sys.executable, "-c", CHILD, str(os.getpid())],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._written,
                start_new_session=True,
                bufsize=0,
            )
            with self._closing():
                self._send(self._child, pickle.dumps(sys.path), START_LIMIT)

    def _ready(self) -> subprocess.Popen[bytes]:
        self.start()
        assert self._child is not None
        if not self._answered:
            with self._closing():
                self._receive(self._child, START_LIMIT)
            self._answered = True
        return self._child

    @contextmanager
    def _closing(self) -> Iterator[None]:
        """End the child after an error."""
        try:
            yield
        except GuardedError:
            self.close()
            raise

    def _send(self, child: subprocess.Popen[bytes], request: bytes, time_limit: float) -> None:
        assert child.stdin is not None
        left, descriptor = memoryview(LENGTH.pack(len(request)) + request), child.stdin.fileno()
        os.set_blocking(descriptor, False)

        def ready(seconds: float) -> bool:
            return bool(select.select([], [descriptor], [], seconds)[1])

        while left:
            self._wait(ready, child, time_limit)
            try:
                left = left[os.write(descriptor, left) :]
            except BrokenPipeError:
                raise self._crashed(child) from None

    def _receive(self, child: subprocess.Popen[bytes], time_limit: float) -> tuple[bool, Any]:
        (length,) = LENGTH.unpack(self._read(child, LENGTH.size, time_limit))
        answer: tuple[bool, Any] = pickle.loads(self._read(child, length, time_limit))
        return answer

    def _read(self, child: subprocess.Popen[bytes], count: int, limit: float) -> bytes:
        assert child.stdout is not None
        parts, descriptor = bytearray(), child.stdout.fileno()

        def ready(seconds: float) -> bool:
            return bool(select.select([descriptor], [], [], seconds)[0])

        while len(parts) < count:
            self._wait(ready, child, limit)
            part = os.read(descriptor, count - len(parts))
            if not part:
                raise self._crashed(child)
            parts += part
        return bytes(parts)

    def _wait(
        self, ready: Callable[[float], bool], child: subprocess.Popen[bytes], limit: float
    ) -> None:
        if not processor_time.wait(ready, child.pid, limit):
            raise GuardedError(
                f"it did not end within {limit:g} s of processor time and was stopped", "timed out"
            )

    def _crashed(self, child: subprocess.Popen[bytes]) -> GuardedError:
        try:
            code = child.wait(END_LIMIT)
        except subprocess.TimeoutExpired:  # it closed its end of the pipe and goes on
            child.kill()
            code = child.wait()
        how = f"exit status {code}" if code >= 0 else signal.Signals(-code).name
        assert self._written is not None
        self._written.seek(0)
        lines = self._written.read().decode(errors="replace").strip().splitlines()[-SHOWN:]
        said = "".join(f"\n  {line}" for line in lines)
        return GuardedError(f"its process crashed ({how}){said}", "crashed")


_guards = threading.local()


def guarded(function: Callable[..., Any], *args: Any, time_limit: float) -> Any:
    """`Guard.call` with the child of this thread, which serves later calls too."""
    return _guard().call(function, *args, time_limit=time_limit)


def warm() -> None:
    """Start the child of this thread, so that the first guarded call need not wait for it."""
    _guard().start()


def _guard() -> Guard:
    if not hasattr(_guards, "guard"):
        _guards.guard = Guard()
    guard: Guard = _guards.guard
    return guard


# The child takes the path of its parent before it imports anything that is not Python's own.
CHILD = """
import pickle, struct, sys
length, = struct.unpack("<Q", sys.stdin.buffer.read(8))
sys.path[:] = pickle.loads(sys.stdin.buffer.read(length))
from byoc_lab.containment.guarded import serve
serve()
"""


def serve() -> None:
    """Answer calls until there are no more."""
    die_with(int(sys.argv[1]))
    faulthandler.enable()
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what functions print is no answer
    requests = sys.stdin.buffer
    _answer(answers, True, None)
    while header := requests.read(LENGTH.size):
        request = requests.read(*LENGTH.unpack(header))
        try:
            function, args = pickle.loads(request)
            found = True, function(*args)
        except Exception as error:
            found = False, error
        _answer(answers, *found)


def _answer(answers: BinaryIO, ok: bool, value: Any) -> None:
    try:
        made = pickle.dumps((ok, value))
        pickle.loads(made)  # some errors can be written and not read
    except Exception as error:
        what = f"{type(value).__name__}: {value}" if not ok else f"a {type(value).__name__}"
        reason = f"{what} (it cannot be sent to another process: {error})"
        made = pickle.dumps((False, RuntimeError(reason)))
    answers.write(LENGTH.pack(len(made)) + made)
    answers.flush()


__all__ = ["Guard", "GuardedError", "guarded", "serve", "warm"]
