"""Hostile programs in the real grader: contained, 0 points with a reason, and others are graded.

Each file of `hostile/` has programs on one topic: `== name | outcome | conditions`, and the code.
The outcome is a status or a mistake, and after a colon a part of the message. Conditions: `slow`,
`counted` (needs a kernel that counts processes), `notes:` and a part of a note, or a machine.
"""

from __future__ import annotations

import math
import os
import platform
import re
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from byoc_lab.containment import containers
from byoc_lab.containment.family import below
from byoc_lab.containment.limits import Limits
from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.lessons.grading import submissions as grading
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.grades import Grade
from tests.lessons.grading.generated import right, with_code, write
from tests.lessons.grading.ways import BEST, counted, each_container

FOLDER = Path(__file__).with_name("hostile")
NAMES = tuple(each.name for each in all_exercises() if not each.needs)
MEMORY = 1 << 30
SOON, LATE = Limits(seconds=2, memory=MEMORY), Limits(seconds=120, memory=MEMORY)
SECRET = "the secret of another student"

HEADER = """\
import ctypes, json, os, signal, sys, time
libc = ctypes.CDLL(None)
def escaped(what=""):
    raise RuntimeError(f"ESCAPED {what!r}")
def reply(**data):
    for number in range(3, 1024):
        try:
            os.write(number, json.dumps(data).encode())
        except OSError:
            pass
    os._exit(0)
"""


@dataclass(frozen=True)
class Program:
    """A hostile program and its expected outcome."""

    name: str
    outcome: str
    conditions: tuple[str, ...]
    code: str


def programs(topic: str) -> Iterator[Program]:
    """The programs of a file for this machine."""
    text = (FOLDER / f"{topic}.txt").read_text(encoding="utf-8")
    for part in re.split(r"^== ", text, flags=re.M)[1:]:
        head, _, code = part.partition("\n")
        name, outcome, *conditions = (each.strip() for each in head.split("|"))
        machines = {
            each for each in conditions if each not in ("slow", "counted") and ":" not in each
        }
        if not machines or platform.machine() in machines:
            yield Program(name, outcome, tuple(conditions), code)


TOPICS = sorted(path.stem for path in FOLDER.glob("*.txt"))
PROGRAMS = {topic: list(programs(topic)) for topic in TOPICS}


def test_corpus_has_programs_on_each_topic() -> None:
    assert TOPICS == [
        "ctypes", "descriptors", "files", "frames", "memory", "processes", "signals", "sockets",
    ]  # fmt: skip
    names = [each.name for topic in TOPICS for each in PROGRAMS[topic]]
    assert len(names) == len(set(names)) >= 140


def test_guide_names_programs_in_the_corpus() -> None:
    guide = (Path(__file__).parents[3] / "docs" / "teaching.md").read_text(encoding="utf-8")
    table = guide.partition("| A notebook cannot |")[2].partition("\n\n")[0]
    rows = [line.split("|")[2] for line in table.splitlines()[2:]]
    named = [re.findall(r"`([^`]+)`", row) for row in rows]
    assert len(named) == 13 and all(named)
    known = {each.name for topic in TOPICS for each in PROGRAMS[topic]}
    assert {name for row in named for name in row} <= known


@pytest.mark.skipif(BEST is None, reason="this machine cannot contain a process")
def test_hostile_programs_are_contained(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first program on each topic and some others, in one class; the slow test runs all."""
    assert BEST is not None
    quick = [[each for each in PROGRAMS[name] if "slow" not in each.conditions] for name in TOPICS]
    check([each for topic in quick for each in topic[::18]], BEST, tmp_path, monkeypatch)


@pytest.mark.slow
@each_container
@pytest.mark.parametrize("topic", TOPICS)
def test_all_hostile_programs_are_contained_in_each_implementation(
    topic: str, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check(PROGRAMS[topic], way, tmp_path, monkeypatch)


def check(found: list[Program], way: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Grades programs that should time out with a short limit, and others with a limit long
    enough for any machine."""
    found = [each for each in found if counted(way) or "counted" not in each.conditions]
    assert found
    late = [each for each in found if each.outcome != "timed out"]
    soon = [each for each in found if each.outcome == "timed out"]
    for name, programs, limits in (("late", late, LATE), ("soon", soon, SOON)):
        if programs:
            (folder / name).mkdir()
            check_class(programs, limits, way, folder / name, monkeypatch)


def check_class(
    found: list[Program], limits: Limits, way: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Grades a class of hostile students, each right in the last exercise, and an honest one."""
    assert len(NAMES) > 10
    monkeypatch.setattr(containers, "way", lambda: way)
    course = Course("c", 1, NAMES, from_notebooks=True)
    outside, handed_in = folder / "outside", folder / "in"
    outside.mkdir()
    (outside / "secret").write_text(SECRET)
    with (
        closing(socket.socket(socket.AF_UNIX)) as in_folder,
        closing(socket.socket(socket.AF_UNIX)) as abstract,
        closing(socket.create_server(("127.0.0.1", 0))) as port,
    ):
        monkeypatch.chdir(outside)  # a socket path must be short
        in_folder.bind("socket")
        abstract.bind(f"\0byoc-lab-{os.getpid()}-{way}")
        listening = (in_folder, abstract, port)
        for each in listening:
            each.setblocking(False)
            each.listen()
        facts: dict[str, Any] = {
            "SECRET": str(outside / "secret"), "OUTSIDE": str(outside),
            "SUBMISSIONS": str(handed_in), "SOLUTIONS": str(grading.SOLUTIONS),
            "CLONE": str(Path(__file__).parents[3]), "SOCKET": str(outside / "socket"),
            "ABSTRACT": f"byoc-lab-{os.getpid()}-{way}", "PORT": port.getsockname()[1],
            "RUNTIME": f"/run/user/{os.getuid()}", "GRADER": os.getpid(), "MEMORY": MEMORY,
        }  # fmt: skip
        given: dict[tuple[str, str], Program] = {}
        # At least two students, graded in parallel, because some programs sleep until their end.
        students = max(2, math.ceil(len(found) / (len(NAMES) - 1)))
        for number, program in enumerate(found):
            place, student = divmod(number, students)
            name = NAMES[place]
            facts["REVERSED"] = [str(seed)[::-1] for seed in course.hidden_seeds(name)]
            lines = [f"{key} = {value!r}" for key, value in facts.items()]
            text = "\n".join((*lines, HEADER, program.code))
            write(handed_in / f"hostile{student}", name, with_code(name, text))
            given[f"hostile{student}", name] = program
        for student in {student for student, _ in given} | {"honest"}:
            write(handed_in / student, NAMES[-1], right(NAMES[-1]))
        before = sorted(outside.iterdir())
        with ThreadPoolExecutor(2) as pool:
            grades = grading.grade(
                grading.submissions_in(handed_in), course,
                hidden=[handed_in], limits=limits, executor=pool,
            )  # fmt: skip
        for each in listening:
            with pytest.raises(BlockingIOError):
                each.accept()
    assert sorted(outside.iterdir()) == before
    assert (outside / "secret").read_text() == SECRET
    failed = []
    for student, each_grade in grades.items():
        last = each_grade[-1]
        busy = limits is SOON and last.status == "timed out"  # a busy machine needs longer
        assert last.points == 10 or busy, (student, last)
        for grade in each_grade:
            if (program := given.get((student, grade.exercise))) and (why := wrong(program, grade)):
                failed.append(f"{program.name}: {why}")
    assert not failed, "\n".join(failed)
    assert not [each for each in below(os.getpid()) if sandbox(each)], "a sandbox is still there"


def wrong(program: Program, grade: Grade) -> str:
    """The difference between a program's grade and the expected one; empty if there is none."""
    told = " ".join((*grade.messages, *grade.notes, grade.html))
    outcome, _, message = program.outcome.partition(": ")
    notes = [each.partition(": ")[2] for each in program.conditions if each.startswith("notes: ")]
    if "ESCAPED" in told or SECRET in told:
        return f"it escaped: {told}"
    if grade.points != 0 or not grade.graded or not (grade.messages or grade.notes):
        return f"expected 0 points and a reason, found {grade}"
    if outcome and outcome not in (grade.status, grade.mistake):
        return f"expected {outcome!r}, found {grade.status!r} ({grade.mistake}): {told}"
    if message not in told or any(note not in " ".join(grade.notes) for note in notes):
        return f"expected {message!r} and notes {notes}, found {told!r}"
    return ""


def sandbox(process: int) -> bool:
    """Whether a process runs a sandbox and has not ended."""
    try:
        return b"grading.sandbox" in Path(f"/proc/{process}/cmdline").read_bytes()
    except OSError:
        return False
