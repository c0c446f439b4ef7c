"""The forms in which error messages appear in logs."""

from __future__ import annotations

import json
from collections.abc import Callable


def _each_line(prefix: str, text: str) -> str:
    return "\n".join(prefix + line for line in text.split("\n"))


def _log(text: str) -> str:
    return f"log\n{text}"


def in_pytest(text: str) -> str:
    """The text of an exception in pytest's output."""
    return f"    f()\n{_each_line('E       ', text)}\n\na.py:3: Failure\n"


FORMS: dict[str, Callable[[str], str]] = {
    "bare": lambda text: text,
    "in a log": lambda text: f"log\n{text}\nmore",
    "of another class": lambda text: f"RuntimeError: {text}",
    "of TVM's class": lambda text: f"tvm.error.InternalError: Traceback:\n  3: TVMFuncCall\n{text}",
    "of a check in C++": lambda text: f"TVMError: [12:00:00] /path/file.cc:123: {text}",
    "after a time": lambda text: f"2026-01-01 12:00:00,123 - worker - ERROR - {text}",
    "of a traceback": lambda text: (
        f'Traceback (most recent call last):\n  File "a.py", line 3, in f\n    g()\n'
        f"RuntimeError: {text}\n"
    ),
    "of pytest": lambda text: in_pytest(f"RuntimeError: {text}"),
    "of a group": lambda text: _each_line("  | ", f"RuntimeError: {text}"),
    "of Windows": lambda text: text.replace("\n", "\r\n"),
    "of a container": lambda text: _each_line("app_1  | ", f"RuntimeError: {text}"),
    "of a container with times": lambda text: _each_line(
        "worker-2 | 2026-01-01T12:00:00.1234567Z ", f"RuntimeError: {text}"
    ),
    "of a logger": lambda text: _each_line("2026-01-01 12:00:00,123 - worker - ERROR - ", text),
    "of TVM's logger": lambda text: _each_line("[12:00:00] /path/file.cc:33: ", text),
    "of a scheduler": lambda text: _each_line("[2026-01-01, 12:00:00 UTC] {a.py:33} INFO - ", text),
    "of the system": lambda text: _each_line("Jan  1 12:00:00 host app[12]: ", text),
    "of glog": lambda text: _each_line("E0101 12:00:00.123456    12 file.cc:33] ", text),
    "in a reply": lambda text: _each_line("> ", f"RuntimeError: {text}"),
    "of pytest in a container": lambda text: _each_line("ci | E       ", text),
    "in a repr": lambda text: f"failed: {RuntimeError(_log(text))!r}, retrying",
    "of bytes": lambda text: f"stderr={_log(text).encode()!r}",
    "in JSON": lambda text: json.dumps({"level": "error", "message": _log(text)}),
    "in colours": lambda text: f"\x1b[31mRuntimeError\x1b[39;49m: {text}\x1b[0m",
}
"""Forms of logs by name; each function writes an error text as a log."""
