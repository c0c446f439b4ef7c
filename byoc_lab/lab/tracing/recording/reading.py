"""Reads a recording that `tvm_recorder.py` made inside a real TVM, as a Trace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from byoc_lab.errors import ByocLabError, RecordedError, TraceFileError
from byoc_lab.lab.tracing.stages import Stage, Trace
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.text.parser import parse

FORMAT, VERSION = "byoc_lab recording", 1
CONTAINER = "sequential"  # TVM's name of a sequence that was not given one


def recorder_source() -> str:
    """The text of `tvm_recorder.py`."""
    return (Path(__file__).parent / "tvm_recorder.py.txt").read_text(encoding="utf-8")


def is_recording(path: Path) -> bool:
    """Whether a file begins as a recording does. Raises OSError."""
    with path.open("rb") as file:
        return FORMAT.encode() in file.read(100)


@dataclass
class _Open:
    name: str
    text: str
    time: float


def read_recording(path: Path) -> Trace:
    """The passes of a recording as stages; no events, as TVM's C++ reports none.

    A pass that a pass runs is part of it; passes of a sequence without a name are stages of their
    own, and a sequence with a name is one stage.

    Raises TraceFileError for a damaged file, another version, and a module that does not parse.
    """
    try:
        lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        if lines[0]["version"] != VERSION:
            raise TraceFileError(
                f"{path} is a recording of version {lines[0]['version']!r:.20}; this byoc_lab "
                f"reads version {VERSION}. `byoc-lab recorder` writes the recorder that fits"
            )
        return _Reader(path).trace(lines[1:])
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        if isinstance(error, ByocLabError):
            raise
        raise TraceFileError(
            f"{path} is a damaged recording: {type(error).__name__}: {error!s:.200}. Record again"
        ) from error


class _Reader:
    def __init__(self, path: Path):
        self.path = path
        self.modules: dict[str, IRModule] = {}
        self.stages: list[Stage] = []

    def trace(self, lines: list[dict[str, Any]]) -> Trace:
        stack: list[_Open] = []
        text = ""
        for line in lines:
            if line["event"] == "error":
                error = RecordedError(f"{line['type']}: {line['message']}")
                for begun in [b for b in stack if b.name != CONTAINER][:1]:
                    self.add(begun, None, 0.0, error)
                return self.finished(error)
            if "unprintable" in line:
                raise TraceFileError(
                    f"{self.path}: TVM could not print the module at pass {line['pass']}: "
                    f"{line['unprintable']}"
                )
            text = text if line.get("same") else line["module"]
            if line["event"] == "begin":
                stack.append(_Open(line["pass"], text, line["time"]))
            else:
                ended = stack.pop()
                if ended.name != CONTAINER and all(b.name == CONTAINER for b in stack):
                    self.add(ended, text, line["time"] - ended.time, None)
        return self.finished(None)

    def add(self, begun: _Open, after: str | None, seconds: float, error: Exception | None) -> None:
        before = self.module(begun.text, begun.name)
        result = None if after is None else self.module(after, begun.name)
        self.stages.append(
            Stage(len(self.stages), begun.name, before, result, seconds, error=error)
        )

    def module(self, text: str, name: str) -> IRModule:
        if text not in self.modules:
            try:
                self.modules[text] = parse(text, f"{self.path} at pass {name}")
            except ByocLabError as error:
                raise TraceFileError(
                    f"{self.path}: the module at pass {name} does not parse: {error}"
                ) from error
        return self.modules[text]

    def finished(self, error: Exception | None) -> Trace:
        if not self.stages:
            raise TraceFileError(
                f"{self.path} has no pass; run passes in a PassContext that has the options of "
                f"the recorder: PassContext(**recorder.options())"
            )
        return Trace(self.stages, self.path.name, error)
