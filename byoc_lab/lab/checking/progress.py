"""Progress of long checks: reported to a listener, or shown on a terminal or in a notebook."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from byoc_lab import terminal


@dataclass(frozen=True)
class ProgressUpdate:
    """A progress update: `done` of `total` steps of `work` are finished, and step `at` is running.
    seconds: the time since the work began.
    """

    work: str
    done: int
    total: int
    at: str
    seconds: float


Listener = Callable[[ProgressUpdate], object]


class Progress:
    """Counts the steps of a piece of work; a context manager.

    work: the name of the work. total: the approximate number of steps. listener: is called when
    each step begins. None: if the work takes more than a second, a line on a terminal (see
    `byoc_lab.terminal`) or a display in a notebook shows the progress, and is removed at the end.
    """

    def __init__(self, work: str, total: int, listener: Listener | None = None):
        self.work, self.total = work, total
        self.done = -1
        self._listener = listener
        self._line = None if listener is not None else _line()
        self._began = time.monotonic()

    def step(self, at: str) -> None:
        """Begin the next step, named `at`."""
        self.done += 1
        if self._line is not None:
            self._line(f"{self.work}: {at}", self.done + 1, max(self.total, self.done + 1))
        elif self._listener is not None:
            seconds = time.monotonic() - self._began
            self._listener(ProgressUpdate(self.work, self.done, self.total, at, seconds))

    def __enter__(self) -> Progress:
        if self._line is not None:
            self._line.__enter__()
        return self

    def __exit__(self, *error: Any) -> None:
        if self._line is not None:
            self._line.__exit__(*error)


class NotebookLine:
    """One display in a notebook that is updated in place; used as `terminal.ProgressLine`."""

    def __init__(self) -> None:
        self._handle: Any = None
        self._next = time.monotonic() + terminal.DELAY

    def __call__(self, what: str, step: int, total: int) -> None:
        now = time.monotonic()
        if now >= self._next:
            self._show(f"{what} ({step} of {total})")
            self._next = now + terminal.INTERVAL

    def __enter__(self) -> NotebookLine:
        return self

    def __exit__(self, *error: Any) -> None:
        if self._handle is not None:
            self._show("")

    def _show(self, text: str) -> None:
        bundle = {"text/plain": text}
        if self._handle is None:
            display: Any = sys.modules["IPython.display"].display  # imported by the running kernel
            self._handle = display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def _line() -> terminal.ProgressLine | NotebookLine:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    return NotebookLine() if hasattr(shell, "kernel") else terminal.ProgressLine()


__all__ = ["Listener", "Progress", "ProgressUpdate"]
