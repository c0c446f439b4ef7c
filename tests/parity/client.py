"""The client of the oracle: starts `server.py` under TVM's Python and sends requests.

    oracle = Oracle.find()
    for result in oracle.run("conv_bn_relu.two_blocks", ["InferType", "SimplifyInference"]):
        result.bare   # the module's text after the step, as TVM prints it

The oracle is a real TVM 0.16 in a separate environment, created by `make oracle`.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import subprocess
import tempfile
import threading
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from byoc_lab import processor_time

TESTS = Path(__file__).resolve().parents[1]
REPOSITORY = TESTS.parent
START_SECONDS = 60  # seconds of processor time


@dataclass(frozen=True)
class StepError:
    """The failure that ended a request: an exception's name and message, or a dead process.

    `kind` is the name of TVM's exception, "crash" (message: the signal's name) or "timeout".
    """

    kind: str
    message: str


@dataclass(frozen=True)
class StepResult:
    """The module after one step.

    Attributes:
        step: position in the request's steps; -1 is the module as built.
        bare: its text without metadata, or None when the step failed.
        full: its text with metadata, or None when it failed or its constants are too large.
        error: why the step failed, or None. No step after a failed one is run.
    """

    step: int
    bare: str | None = None
    full: str | None = None
    error: StepError | None = None

    @property
    def text(self) -> str:
        """The text with metadata if there is one, else without. Raises ValueError on failure."""
        if self.error is not None:
            raise ValueError(f"step {self.step} failed: {self.error.kind}: {self.error.message}")
        return self.full or self.bare or ""


class OracleUnavailable(RuntimeError):
    """The oracle's Python is missing, or TVM cannot be imported in it."""


class Oracle:
    """A TVM 0.16 process that stays running and is restarted after a crash.

    Use as a context manager, or call `close()`.
    """

    def __init__(self, python: Path) -> None:
        self.python = python
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.Queue[str | None] = queue.Queue()
        self._line: str | None = None
        self.version = self._start()

    @classmethod
    def find(cls) -> Oracle | None:
        """The started oracle, or None; `skip_reason()` then states the reason."""
        if skip_reason() is not None:
            return None
        return cls(python_path())

    def run(
        self,
        source: str | dict[str, Any],
        steps: list[Any],
        *,
        constants_up_to: int | None = None,
        places: bool = False,
        timeout: float = 300.0,
    ) -> list[StepResult]:
        """Build a case or a recipe, then run the steps.

        A text, which starts with `#[version` or `def`, is parsed instead.

        `constants_up_to` is the size in bytes up to which a module's constants are written out;
        None writes them always. With `places`, texts keep their spans. `timeout` is in
        seconds of processor time, for one step. The first result is the module as built. Raises
        ValueError when there is no such case.
        """
        request = {
            _kind(source): source,
            "steps": steps,
            "constants_up_to": constants_up_to,
            "places": places,
        }
        if self._process is None:
            self._start()
        assert self._process is not None and self._process.stdin is not None
        self._process.stdin.write(json.dumps(request) + "\n")
        self._process.stdin.flush()
        results: list[StepResult] = []
        while True:
            if not processor_time.wait(self._has_answered, self._process.pid, timeout):
                self.close()
                error = StepError("timeout", f"no answer within {timeout:g} s")
                return [*results, StepResult(len(results) - 1, error=error)]
            line = self._line
            if line is None:
                error = StepError("crash", self._death())
                return [*results, StepResult(len(results) - 1, error=error)]
            answer = json.loads(line)
            if "done" in answer:
                return results
            if "refused" in answer:
                raise ValueError(f"the oracle refused {source!r}: {answer['refused']}")
            if "error" in answer:
                error = StepError(answer["error"]["type"], answer["error"]["message"])
                results.append(StepResult(answer["step"], error=error))
            else:
                results.append(StepResult(**answer))

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None

    def __enter__(self) -> Oracle:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _start(self) -> str:
        """Starts the server and waits until TVM is loaded; returns TVM's version."""
        self._answers = queue.Queue()
        self._process = subprocess.Popen(
            [str(self.python), "-m", "parity.server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            encoding="utf-8",
            cwd=tempfile.gettempdir(),  # TVM leaves cache folders in its working folder
            env={**os.environ, "PYTHONPATH": str(TESTS), "PYTHONDONTWRITEBYTECODE": "1"},
        )
        threading.Thread(target=_pump, args=(self._process, self._answers), daemon=True).start()
        started = processor_time.wait(self._has_answered, self._process.pid, START_SECONDS)
        line = self._line if started else None
        if line is None:
            self.close()
            raise OracleUnavailable(
                f"TVM does not start under {self.python}; try "
                f"`{self.python} -c 'import tvm.relay'`, then `make oracle`"
            )
        return str(json.loads(line)["ready"])

    def _has_answered(self, seconds: float) -> bool:
        """Waits for the next line of the server; stores it in `_line`, None at the end."""
        try:
            self._line = self._answers.get(timeout=seconds)
        except queue.Empty:
            return False
        return True

    def _death(self) -> str:
        """Waits for a dead server; returns the signal that ended it, or its exit status."""
        assert self._process is not None
        code = self._process.wait()
        self._process = None
        return signal.Signals(-code).name if code < 0 else f"exit status {code}"


def _kind(source: str | dict[str, Any]) -> str:
    if isinstance(source, dict):
        return "recipe"
    is_text = "\n" in source or source.lstrip().startswith(("#[version", "def "))
    return "text" if is_text else "case"


def _pump(process: subprocess.Popen[str], answers: queue.Queue[str | None]) -> None:
    """Moves the server's lines to the queue; None after the last."""
    assert process.stdout is not None
    for line in process.stdout:
        answers.put(line)
    answers.put(None)


def python_path() -> Path:
    """The path at which the oracle's Python is expected; $BYOC_LAB_ORACLE_PYTHON overrides it."""
    default = REPOSITORY / ".oracle-venv" / "bin" / "python"
    return Path(os.environ.get("BYOC_LAB_ORACLE_PYTHON", default))


def skip_reason() -> str | None:
    """The reason why there is no oracle, or None if its environment exists."""
    if python_path().exists():
        return None
    return f"no TVM 0.16 at {python_path()}: `make oracle` installs one (needs Python 3.10)"


def printed_by_tvm(script: str) -> Any:
    """The JSON in the last line that a script prints under TVM's Python."""
    done = subprocess.run(
        [str(python_path()), script],
        check=True,
        capture_output=True,
        text=True,
        cwd=tempfile.gettempdir(),  # TVM leaves cache folders where it is started
    )
    return json.loads(done.stdout.splitlines()[-1])
