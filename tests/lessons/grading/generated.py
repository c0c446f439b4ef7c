"""Generated submissions: right, wrong in known ways, and hostile."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from byoc_lab.lessons.grading import notebooks
from byoc_lab.lessons.solutions import solution, source, wrong_source

HOSTILE: Mapping[str, str] = {
    "timed out": "while True:\n    pass",
    "too many processes": (
        "import os, time\n"
        "for _ in range(100):\n"
        "    if os.fork() == 0:\n"
        "        break\n"
        "time.sleep(1000)"
    ),
    "too much output": "while True:\n    print('x' * 1_000_000)",
    "crashed": "import os, signal\nos.kill(os.getpid(), signal.SIGSEGV)",
    "ended Python": "import os\nos._exit(0)",
}
"""Cells that end the run of a notebook, by the status that they get."""

NOTICED: Mapping[str, str] = {
    "tried to use the network": (
        "import socket\n"
        "try:\n"
        "    socket.create_connection(('127.0.0.1', 9), timeout=1)\n"
        "except OSError:\n"
        "    pass"
    ),
    "tried to read solutions, submissions or the grader's files": (
        "import os, byoc_lab.lessons as lessons\n"
        "folder = os.path.join(os.path.dirname(lessons.__file__), 'solutions')\n"
        "try:\n"
        "    print(os.listdir(folder))\n"
        "except OSError:\n"
        "    pass"
    ),
}
"""Cells that are noted and do not stop the notebook, by the note."""


def with_code(name: str, text: str, seed: int = 0) -> dict[str, Any]:
    """The notebook of an exercise with a text as its answer."""
    return notebooks.notebook(name, seed, text)


def right(name: str) -> dict[str, Any]:
    return with_code(name, source(name))


def wrong(name: str, key: str) -> dict[str, Any]:
    return with_code(name, wrong_source(name, key))


def write(folder: Path, name: str, data: Mapping[str, Any]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.ipynb").write_text(json.dumps(data), encoding="utf-8")


def write_class(
    folder: Path, exercises: Sequence[str], students: int = 60
) -> dict[str, dict[str, str]]:
    """Writes submissions of a class; returns the status or mistake expected for each exercise.

    Of five students, three are right, one makes a typical mistake in every exercise, and one is
    hostile in the first two exercises and right in the others.
    """
    expected: dict[str, dict[str, str]] = {}
    for number in range(students):
        student = f"student{number:02}"
        told = expected.setdefault(student, {})
        for place, name in enumerate(exercises):
            keys = list(solution(name).WRONG)
            if number % 5 == 3:
                told[name] = keys[number // 5 % len(keys)]
                data = wrong(name, told[name])
            elif number % 5 == 4 and place < 2:
                status = list(HOSTILE)[(number // 5 + place) % len(HOSTILE)]
                told[name] = status
                data = with_code(name, f"{HOSTILE[status]}\n{source(name)}")
            else:
                told[name] = ""
                data = right(name)
            write(folder / student, name, data)
    return expected
