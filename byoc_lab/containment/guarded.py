"""Guarded calls: a function runs in a child process, so that a crash or an endless loop only loses
the result of the call.

`forked` creates a child for one call. `guarded` starts a new Python as its child, so it also works
in a process with threads. This child reads pickled calls from its standard input and writes pickled
answers, until its input ends. It serves several calls; after a crash, or a call that took too long,
a new child is started.
"""

from __future__ import annotations

import faulthandler
import os
import pickle
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO

from byoc_lab.containment.children import Child, ChildError, read_message, write_message
from byoc_lab.containment.family import die_with

START_LIMIT = 120.0  # limit for a child to become ready
SHOWN = 12  # number of last output lines of a crashed child


class WorkerProcess:
    """A child process that serves calls."""

    def __init__(self) -> None:
        self._child: Child | None = None
        self._written: BinaryIO | None = None
        self._answered = False

    def call(self, function: Callable[..., Any], *args: Any, time_limit: float) -> Any:
        """The result of `function(*args)`, computed in the child.

        function, args and the result must be picklable. time_limit: seconds of processor time of
        the call (see `processor_time.wait`). Raises ChildError for a crash or a call that does not
        end, and the exception of the function.
        """
        request = pickle.dumps((function, args))
        self.start()
        with self._closing() as child:
            if not self._answered:
                child.receive(START_LIMIT)
                self._answered = True
            child.send(request, time_limit)
            answer = child.receive(time_limit)
        return _result(answer)

    def close(self) -> None:
        """Kill the child."""
        child, self._child = self._child, None
        if child is not None:
            child.end()
            assert self._written is not None
            self._written.close()

    def __del__(self) -> None:
        self.close()

    def start(self) -> None:
        """Start the child, unless it runs already; it imports its modules while this process
        continues."""
        if self._child is None:
            self._answered = False
            self._written = tempfile.TemporaryFile()  # noqa: SIM115 (open as long as the child)
            command = [sys.executable, "-c", CHILD, str(os.getpid())]
            self._child = Child.started(command, stderr=self._written)
            with self._closing() as child:
                child.send(pickle.dumps(sys.path), START_LIMIT)

    @contextmanager
    def _closing(self) -> Iterator[Child]:
        """The child, as a context: it is killed after an error; the error of a crash includes its
        last output."""
        assert self._child is not None and self._written is not None
        try:
            yield self._child
        except ChildError as error:
            lines: list[str] = []
            if error.kind == "crashed":
                self._written.seek(0)
                lines = self._written.read().decode(errors="replace").strip().splitlines()
            self.close()
            said = "".join(f"\n  {line}" for line in lines[-SHOWN:])
            raise ChildError(f"{error}{said}", error.kind, error.code) from None


_guards = threading.local()


def guarded(function: Callable[..., Any], *args: Any, time_limit: float) -> Any:
    """Calls `WorkerProcess.call` with the child of this thread, which serves later calls, too."""
    if not hasattr(_guards, "guard"):
        _guards.guard = WorkerProcess()
    return _guards.guard.call(function, *args, time_limit=time_limit)


def forked(function: Callable[..., Any], *args: Any, time_limit: float) -> Any:
    """Like `guarded`, in a fork of this process, which already has all imported modules.

    Only for processes without threads: a fork lacks the threads, and would wait forever for locks
    that they hold.
    """
    child = Child.forked(partial(_serve_one, function, args))
    try:
        answer = child.receive(time_limit)
    finally:
        child.end()
    return _result(answer)


def _serve_one(function: Callable[..., Any], args: tuple[Any, ...], written: int) -> None:
    write_message(written, _answered(function, args))


def _result(answer: bytes) -> Any:
    ok, value = pickle.loads(answer)
    if ok:
        return value
    raise value


# The child takes over its parent's sys.path before it imports anything outside the standard
# library.
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
    answers = os.dup(1)
    os.dup2(2, 1)  # printed text must not mix with answers
    write_message(answers, _answer(True, None))
    while (request := read_message(sys.stdin.buffer)) is not None:
        write_message(answers, _answered(_call, (request,)))


def _call(request: bytes) -> Any:
    function, args = pickle.loads(request)
    return function(*args)


def _answered(function: Callable[..., Any], args: tuple[Any, ...]) -> bytes:
    try:
        return _answer(True, function(*args))
    except Exception as error:
        return _answer(False, error)


def _answer(ok: bool, value: Any) -> bytes:
    try:
        made = pickle.dumps((ok, value), pickle.HIGHEST_PROTOCOL)
        if not ok:
            pickle.loads(made)  # some exceptions can be pickled but not unpickled
    except Exception as error:
        what = f"{type(value).__name__}: {value}" if not ok else f"a {type(value).__name__}"
        reason = f"{what} (it cannot be sent to another process: {error})"
        made = pickle.dumps((False, RuntimeError(reason)))
    return made


__all__ = ["WorkerProcess", "forked", "guarded", "serve"]
