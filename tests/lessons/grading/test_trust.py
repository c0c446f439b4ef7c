"""The grader refuses notebooks that it cannot contain, or trusts them on request with a warning.

Its sandboxes and workers end with it, and every wait has a time limit.
"""

from __future__ import annotations

import csv
import os
import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import pytest

from byoc_lab.containment.children import LENGTH
from byoc_lab.containment.confinement import refuse_calls
from byoc_lab.containment.family import below
from byoc_lab.containment.limits import Limits
from byoc_lab.lessons.grading import sandboxed
from byoc_lab.lessons.grading import submissions as grading
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.handed_in import Submission
from byoc_lab.lessons.solutions import source
from tests.containment.test_family import wait_for_end
from tests.lessons.grading.generated import right, with_code, write
from tests.lessons.grading.ways import BEST, each_way

pytestmark = pytest.mark.linux
NAME, OTHER = "annotate-diamond", "add-the-missing-begin"


def grade_without_namespaces(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """`byoc-lab grade` in a process for which the kernel refuses to create namespaces."""
    return subprocess.run(
        [
            sys.executable, "-m", "byoc_lab.cli", "grade", str(folder / "in"),
            "-o", str(folder / "grades.csv"), "--workers", "1", *options,
        ],
        capture_output=True, text=True, preexec_fn=refuse_calls,
    )  # fmt: skip


def test_nothing_is_graded_without_containers(tmp_path: Path) -> None:
    write(tmp_path / "in" / "ann", NAME, right(NAME))
    done = grade_without_namespaces(tmp_path)
    assert done.returncode != 0 and "this machine cannot contain a process" in done.stderr
    assert "apt install bubblewrap" in done.stderr and "--trust grades all the same" in done.stderr
    assert grading.not_contained() in " ".join(done.stderr.split())
    assert not (tmp_path / "grades.csv").exists()


def test_trust_option_grades_notebooks_and_lists_what_is_not_contained(tmp_path: Path) -> None:
    write(tmp_path / "in" / "ann", NAME, right(NAME))
    network = "import socket\nsocket.socket(socket.AF_UNIX)"
    write(tmp_path / "in" / "ann", OTHER, with_code(OTHER, network))
    done = grade_without_namespaces(tmp_path, "--trust")
    assert done.returncode == 0, done.stderr
    assert grading.not_contained() in " ".join(done.stderr.split())
    rows = list(csv.reader((tmp_path / "grades.csv").open(encoding="utf-8")))
    assert rows[0][1:3] == [OTHER, NAME] and rows[1][1:3] == ["0", "10"]


@pytest.mark.slow
def test_stopped_sandbox_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sandboxed, "START_SECONDS", 15.0)
    monkeypatch.setattr(sandboxed, "asleep_limit", lambda seconds: 0.0)
    stop = "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nwhile True:\n    pass"
    tasks = [{"exercise": NAME, "cells": [text], "seeds": [0]} for text in (stop, source(NAME))]
    first, second = sandboxed.run_sandboxed(tasks, Limits(seconds=2), [], None)
    assert first["status"] == sandboxed.LOST and second["status"] == "ran"


@each_way
def test_sandbox_ends_with_the_grader(tmp_path: Path, way: str | None) -> None:
    code = (
        "from byoc_lab.containment.limits import Limits\n"
        "from byoc_lab.lessons.grading.sandboxed import run_sandboxed\n"
        "cells = ['import time\\nprint(1)\\nwhile True:\\n    time.sleep(0.1)']\n"
        f"task = {{'exercise': {NAME!r}, 'cells': cells, 'seeds': [0]}}\n"
        f"list(run_sandboxed([task], Limits(), [], {way!r}))\n"
    )
    grader = subprocess.Popen([sys.executable, "-c", code])
    started = _with_sandbox(grader.pid)
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    assert all(wait_for_end(each) for each in started)


@pytest.mark.skipif(BEST is None, reason="this machine cannot contain a process")
def test_workers_and_their_sandboxes_end_with_the_command(tmp_path: Path) -> None:
    text = "import time\nwhile True:\n    time.sleep(0.1)"
    write(tmp_path / "in" / "ann", NAME, with_code(NAME, text))
    command = [sys.executable, "-m", "byoc_lab.cli", "grade", str(tmp_path / "in")]
    command += ["-o", str(tmp_path / "grades.csv"), "--workers", "2"]
    grader = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    started = _with_sandbox(grader.pid)
    grader.send_signal(signal.SIGKILL)
    grader.wait()
    assert all(wait_for_end(each) for each in started)


def test_sandbox_without_a_grader_does_not_start() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "byoc_lab.lessons.grading.sandbox", str(os.getpid())],
        stdin=subprocess.DEVNULL, capture_output=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout) == (1, LENGTH.pack(0)), "it is ready, and gets no request"


class Never(Executor):
    """An executor whose futures never have a result."""

    def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
        return Future()


def test_worker_without_a_result_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(grading, "_longest", lambda course, limits: 0.01)
    course = Course("c", 1, (NAME,), from_notebooks=True)
    ((grade,),) = grading.grade(
        [Submission("ann", {f"{NAME}.ipynb": "{}"})], course, executor=Never()
    ).values()
    assert not grade.graded and "its worker was lost 3 times: TimeoutError" in grade.notes[0]


def _with_sandbox(grader: int) -> set[int]:
    """The processes below a grader, once a sandbox and a notebook's process are among them."""
    until = time.monotonic() + 100
    while time.monotonic() < until:
        started = below(grader)
        if sum(map(_is_sandbox, started)) >= 2:
            return started
        time.sleep(0.1)
    raise AssertionError("no sandbox has started")


def _is_sandbox(process: int) -> bool:
    try:
        command = Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
    return b"grading.sandbox" in command and b"launch.py" not in command and b"bwrap" not in command
