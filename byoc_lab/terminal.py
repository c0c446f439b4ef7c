"""Text for terminals, without control sequences, which any encoding can write."""

from __future__ import annotations

import io
import re
import shutil
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from typing import TextIO

from byoc_lab.printing import encodable

# Control characters except newline and tab, marks that change the text direction, surrogates.
_UNSEEN = r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff]"
_COLOUR = r"\x1b\[\d*(?:;\d+)*m"
_MARKS = re.compile(f"({_COLOUR})|{_UNSEEN}")


def visible(text: str, colours: bool = False) -> str:
    """The text with an escape, such as \\x1b, in place of each control character.

    colours: keep sequences that only change the colour.
    """

    def escape(found: re.Match[str]) -> str:
        kept = colours and found[1]
        return found[0] if kept else found[0].encode("unicode_escape").decode()

    return _MARKS.sub(escape, text)


class Visible(io.TextIOBase):
    """A stream that writes `visible` text to another stream, in characters that its encoding
    has."""

    def __init__(self, stream: TextIO):
        self._stream = stream

    @property
    def unfiltered(self) -> TextIO:
        """The underlying stream, for control sequences."""
        return self._stream

    def write(self, text: str) -> int:
        shown, encoding = visible(text, self.isatty()), self._stream.encoding or "utf-8"
        self._stream.write(encodable(shown, encoding))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def isatty(self) -> bool:
        return self._stream.isatty()


@contextmanager
def visible_output() -> Iterator[None]:
    """A context in which all output is printable text; it is flushed at the end."""
    with redirect_stdout(Visible(sys.stdout)), redirect_stderr(Visible(sys.stderr)):
        try:
            yield
        finally:  # this also runs after --help, which ends by SystemExit
            sys.stdout.flush()


DELAY = 1.0  # seconds of work before a progress line is shown
INTERVAL = 0.2  # seconds between two updates of the line
BAR = 20  # length of the bar in characters


class ProgressLine:
    """A line on standard error that reports a command's progress, for work of more than a second.

    with ProgressLine() as progress:
        progress("reading net.onnx")
        progress("FoldConstant", 3, 9)     # step 3 of 9: with a bar

    It counts seconds while a step takes long, and is removed at the end. Nothing is shown if
    standard error is not a terminal.
    """

    def __init__(self) -> None:
        found = sys.stderr
        self._stream = found.unfiltered if isinstance(found, Visible) else found
        self._on = self._stream is not None and self._stream.isatty()
        self._said = ""
        self._began = time.monotonic()
        self._shown = 0  # maximum of characters
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._show, daemon=True)

    def __call__(self, what: str, step: int | None = None, total: int | None = None) -> None:
        """Show the activity that begins now. step: its number, from 1, out of `total`."""
        self._said = visible(what) if step is None else f"{_bar(step, total)} {visible(what)}"

    def __enter__(self) -> ProgressLine:
        if self._on:
            self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        if self._on:
            self._thread.join()
            self._write("")

    def _show(self) -> None:
        wait = DELAY
        while not self._ended.wait(wait):
            wait = INTERVAL
            if self._said:
                self._write(f"{self._said}, {time.monotonic() - self._began:.0f} s")

    def _write(self, text: str) -> None:
        """Write `text` over the previous one."""
        text = text.split("\n")[0][: shutil.get_terminal_size().columns - 1]
        if text or self._shown:
            self._stream.write(f"\r{text.ljust(self._shown)}\r{text}")
            self._stream.flush()
        self._shown = len(text)


def _bar(step: int, total: int | None) -> str:
    if not total:
        return f"{step}:"
    full = BAR * min(step - 1, total) // total
    return f"[{'#' * full}{'.' * (BAR - full)}] {step} of {total}:"
