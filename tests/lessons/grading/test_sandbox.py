"""The sandbox: a notebook gets its status whatever it does, and the next one runs."""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from byoc_lab.containment.limits import Limits
from byoc_lab.lessons.grading import sandboxed
from byoc_lab.lessons.grading.judging import graded
from byoc_lab.lessons.grading.sandboxed import run_sandboxed
from byoc_lab.lessons.grading.submissions import SOLUTIONS
from byoc_lab.lessons.solutions import source
from tests.lessons.grading.generated import HOSTILE, NOTICED
from tests.lessons.grading.ways import BEST, each_container, each_way

pytestmark = pytest.mark.linux
NAME = "add-the-missing-begin"
GOOD = {"exercise": NAME, "cells": [source(NAME)], "seeds": [0, 1001]}
LIMITS = Limits(seconds=120)


def _cells(*cells: str) -> dict[str, Any]:
    return {"exercise": NAME, "cells": list(cells), "seeds": [0]}


def _replied(result: Mapping[str, Any]) -> dict[str, Any]:
    assert result["status"] == "ran", result
    return json.loads(result["reply"])


@pytest.mark.slow
@each_way
def test_hostile_notebook_gets_its_status_and_the_next_one_runs(way: str | None) -> None:
    for status, text in HOSTILE.items():
        limits = Limits(seconds=2) if status == "timed out" else LIMITS
        hostile, good = run_sandboxed([_cells(text), GOOD], limits, [], way)
        assert hostile["status"] == status
        assert all("value" in reply for reply in _replied(good)["replies"])


COMPILED = f"""
import glob, os
os.symlink({str(SOLUTIONS)!r}, 'link')
answer = []
for path in ['link/__init__.py', *glob.glob({str(SOLUTIONS / "__pycache__" / "*")!r})]:
    try:
        answer.append(len(open(path, 'rb').read()))
    except OSError:
        pass
"""
IMPORTED = "from byoc_lab.lessons.solutions import annotate_diamond as found\nanswer = found.answer"
NOTEBOOKS = {
    "compiled solutions": _cells(COMPILED),
    "imported solutions": _cells(IMPORTED),
    "memory": _cells("answer = bytearray(8 << 30)"),
    "an error": _cells("%matplotlib inline\n1 / 0", "answer = 3"),
    "not unicode": _cells("x = '\ud800'", "answer = 3"),
    **{note: _cells(text, source(NAME)) for note, text in NOTICED.items()},
}


@cache
def results(way: str | None) -> dict[str, Mapping[str, Any]]:
    """The outcome of each notebook: all run in one sandbox, which takes a second to start."""
    importlib.import_module("byoc_lab.lessons.solutions.annotate_diamond")  # it may be compiled now
    ran = run_sandboxed(list(NOTEBOOKS.values()), LIMITS, [str(SOLUTIONS)], way)
    return dict(zip(NOTEBOOKS, ran, strict=True))


@each_way
def test_access_to_network_and_hidden_folders_is_refused_and_noted(way: str | None) -> None:
    for note in NOTICED:
        assert _replied(results(way)[note])["noticed"] == [note]


@each_way
def test_compiled_solutions_and_links_to_them_cannot_be_read(way: str | None) -> None:
    result = results(way)["compiled solutions"]
    assert _replied(result)["replies"] == [{"value": {"list": []}}], result


@each_way
def test_solutions_cannot_be_imported(way: str | None) -> None:
    result = results(way)["imported solutions"]
    assert _replied(result).get("missing"), result


@each_way
def test_memory_is_limited(way: str | None) -> None:
    assert _replied(results(way)["memory"])["errors"] == ["cell 1: MemoryError: "]


@each_way
def test_cell_with_an_error_does_not_stop_the_next(way: str | None) -> None:
    found = _replied(results(way)["an error"])
    assert found["errors"] == ["cell 1: ZeroDivisionError: division by zero"]
    assert found["replies"] == [{"value": 3}]


def test_answer_that_ends_python_is_graded_as_raised() -> None:
    ended = "your answer ended Python with SystemExit"
    calls = {
        "raise SystemExit": ended,
        "import sys; sys.exit(3)": ended,
        "raise KeyboardInterrupt": "raised KeyboardInterrupt",
    }
    tasks = [_cells(f"def answer(mod):\n    {call}") for call in calls]
    results = run_sandboxed(tasks, LIMITS, [], BEST)
    for result, told in zip(results, calls.values(), strict=True):
        grade = graded(NAME, [0], result, (), LIMITS)
        assert (grade.status, grade.mistake) == ("not yet", "raised") and told in grade.messages[0]


def test_error_outside_the_cells_is_not_graded_as_a_missing_answer() -> None:
    result = {"status": "ran", "reply": json.dumps({"error": "OSError: no space"})}
    grade = graded(NAME, [0], result, (), LIMITS)
    assert (grade.status, grade.mistake) == ("crashed", "no-reply")
    assert "before the answer was tried: OSError: no space" in grade.messages[0]


@each_way
def test_cell_that_is_not_unicode_does_not_stop_the_next(way: str | None) -> None:
    found = _replied(results(way)["not unicode"])
    assert found["replies"] == [{"value": 3}]
    assert len(found["errors"]) == 1 and "cell 1: UnicodeEncodeError" in found["errors"][0]


@each_container
def test_native_code_in_a_container_finds_no_files_of_others(tmp_path: Path, way: str) -> None:
    (tmp_path / "other.ipynb").write_text("secret")
    text = (
        "import subprocess\n"
        f"answer = subprocess.run('cat {tmp_path}/* {SOLUTIONS}/*.py; touch {tmp_path}/new;"
        f" umount {tmp_path}; ls {tmp_path}; echo mine > mine; cat mine', shell=True,"
        " capture_output=True, text=True).stdout"
    )
    (result,) = run_sandboxed([_cells(text)], LIMITS, [str(SOLUTIONS), str(tmp_path)], way)
    assert _replied(result)["replies"] == [{"value": "mine\n"}]
    assert [p.name for p in tmp_path.iterdir()] == ["other.ipynb"]


@each_container
def test_notebook_that_kills_processes_harms_only_itself(way: str) -> None:
    text = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nos.kill(-1, signal.SIGKILL)"
    first, second = run_sandboxed([_cells(text), GOOD], LIMITS, [], way)
    assert first["status"] != "timed out" and "value" in _replied(second)["replies"][0]


def test_library_of_the_exercises_is_registered_without_the_task_cell() -> None:
    names = ("let-program", "annotate-diamond", "halve-the-bytes", "find-the-wrong-region")
    tasks = [{"exercise": name, "cells": [source(name)], "seeds": [0, 1001]} for name in names]
    for name, result in zip(names, run_sandboxed(tasks, LIMITS, [], BEST), strict=True):
        grade = graded(name, [0, 1001], result, (), LIMITS)
        assert grade.points == 10, grade


class Counted:
    """A control group in which the kernel kills a process during some of the notebooks."""

    def __init__(self, *ended: bool):
        self.ended, self.count = list(ended), 0

    def entering(self, command: Sequence[str]) -> Sequence[str]:
        return command

    def killed(self) -> int:
        self.count += self.ended.pop(0)
        return self.count


def test_process_killed_by_the_kernel_for_memory_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    group = nullcontext(Counted(False, True, False))
    monkeypatch.setattr(sandboxed, "_counting", lambda limits: group)
    found = list(run_sandboxed([GOOD] * 3, LIMITS, [], BEST))
    assert [each["status"] for each in found] == ["ran", "too much memory", "ran"]
    grade = graded(NAME, [0, 1001], found[1], (), LIMITS)
    assert grade.messages == ("your notebook took more memory than 2048 MiB",)
    assert (grade.points, grade.mistake) == (0, "too much memory")


def test_sandbox_killed_by_the_kernel_for_memory_is_reported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = iter([Counted(True, False), Counted(False)])
    monkeypatch.setattr(sandboxed, "_counting", lambda limits: nullcontext(next(given)))
    end = "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)"
    found = list(run_sandboxed([_cells(end), GOOD], LIMITS, [], None))
    assert [each["status"] for each in found] == ["too much memory", "ran"]
