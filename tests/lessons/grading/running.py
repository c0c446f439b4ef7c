"""Runs `byoc-lab grade` as a process, for tests and a benchmark that interrupt or kill it."""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

from byoc_lab.containment.family import below
from tests.lessons.grading.ways import BEST

FOR_EVER = "import time\nwhile True:\n    time.sleep(0.1)"
WAIT = 240.0  # seconds to wait for an event, even on a busy machine


class Grader:
    """`byoc-lab grade` with one worker and a separate temporary folder."""

    def __init__(self, folder: Path):
        self.table, self.scratch = folder / "grades.csv", folder / "scratch"
        self.scratch.mkdir()
        command = [sys.executable, "-m", "byoc_lab.cli", "grade", str(folder / "in")]
        command += ["-o", str(self.table), "--workers", "1"]
        command += ["--trust"] if BEST is None else []
        self.process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
            start_new_session=True, env={**os.environ, "TMPDIR": str(self.scratch)},
            preexec_fn=_hear_interrupts,
        )  # fmt: skip

    def sandbox(self, known: set[int]) -> int:
        """The process id of the worker that runs a notebook, other than the known ones."""
        for _ in range(int(WAIT / 0.05)):
            for worker in below(self.process.pid) - known:
                if _runs(worker, "spawn_main") and any(
                    _runs(each, "grading.sandbox") for each in below(worker)
                ):
                    return worker
            time.sleep(0.05)
        raise AssertionError("no sandbox was started")

    def rows(self) -> list[list[str]]:
        return list(csv.reader(self.table.open(encoding="utf-8")))[1:]

    def left(self) -> list[str]:
        return sorted(path.name for path in self.scratch.iterdir())


def _hear_interrupts() -> None:
    """Restores interrupts, which a shell disables for background jobs and their children."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def _runs(process: int, name: str) -> bool:
    try:
        return name.encode() in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
