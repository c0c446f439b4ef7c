"""Progress of long work: told to a listener, or shown as one line that overwrites itself."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, TextIO

DELAY = 1.0  # seconds of work before anything is shown
INTERVAL = 0.1  # seconds between two lines
WIDTH = 100


@dataclass(frozen=True)
class Moment:
    """How far a piece of work is: `done` of `total` steps (None: not known), now at `at`."""

    work: str
    done: int
    total: int | None
    at: str
    seconds: float

    def __str__(self) -> str:
        of = f"{self.done} of {self.total}" if self.total else f"{self.done} done"
        return f"{self.work}: {of}, {self.seconds:.0f} s, {self.at}"[:WIDTH]


Listener = Callable[[Moment], object]


class Progress:
    """Counts the steps of a piece of work.

    work: its name. total: the number of steps, if known. listener: is called with every step from
    the first one on; None: a line on a terminal (stderr) or in a notebook, once the work has taken
    more than a second. In use as a context manager the line is removed at the end.
    """

    def __init__(self, work: str, total: int | None = None, listener: Listener | None = None):
        self.work, self.total = work, total
        self.done = -1
        self._shown = 0.0
        self._start = time.monotonic()
        self._line = _line() if listener is None else None
        self._listener = listener

    def step(self, at: str) -> None:
        """The next step begins, named `at`."""
        self.done += 1
        now = time.monotonic()
        moment = Moment(self.work, self.done, self.total, at, now - self._start)
        if self._listener is not None:
            self._listener(moment)
        elif self._line is not None and moment.seconds > DELAY and now - self._shown > INTERVAL:
            self._line.show(str(moment))
            self._shown = now

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        where: TracebackType | None,
    ) -> None:
        if self._line is not None and self._shown:
            self._line.clear()


class _TerminalLine:
    def __init__(self, stream: TextIO):
        self.stream = stream

    def show(self, text: str) -> None:
        self.stream.write(f"\r{text:<{WIDTH}}")
        self.stream.flush()

    def clear(self) -> None:
        self.stream.write(f"\r{'':<{WIDTH}}\r")
        self.stream.flush()


class _NotebookLine:
    """One display that is updated in place."""

    def __init__(self) -> None:
        self.handle: Any = None

    def show(self, text: str) -> None:
        bundle = {"text/plain": text}
        if self.handle is None:
            show: Any = sys.modules["IPython.display"].display  # that of the running kernel
            self.handle = show(bundle, raw=True, display_id=True)
        else:
            self.handle.update(bundle, raw=True)

    def clear(self) -> None:
        self.handle.update({"text/plain": ""}, raw=True)


def _line() -> _TerminalLine | _NotebookLine | None:
    """Where progress is shown: nowhere if nobody looks."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    if shell is not None and hasattr(shell, "kernel"):
        return _NotebookLine()
    stream = sys.stderr
    return _TerminalLine(stream) if stream is not None and stream.isatty() else None


__all__ = ["Listener", "Moment", "Progress"]
