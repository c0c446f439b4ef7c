"""The grading of submissions: found, run in sandboxes on any executor, judged, kept, tabulated."""

from __future__ import annotations

import csv
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import Any

from byoc_lab.errors import ArgumentError
from byoc_lab.files import replacing, write_text
from byoc_lab.lab.checking.guarded import GuardedError, guarded
from byoc_lab.lessons.exercises import all_exercises, get
from byoc_lab.lessons.grading import feedback, notebooks
from byoc_lab.lessons.grading.course import MANIFEST, Course, read_course
from byoc_lab.lessons.grading.isolation import ENDED, Limits
from byoc_lab.lessons.grading.replies import decode
from byoc_lab.lessons.verdict import NOT_HERE, Mistake, Verdict
from byoc_lab.processor_time import asleep_limit
from byoc_lab.run.threads import OF_LIBRARIES

VERSION = 1  # of kept results: another one is graded again
JUDGE_SECONDS, JUDGE_MEMORY = 30.0, 8 << 30
MAX_FILE = 32 << 20
STATE = "graded"
SOLUTIONS = Path(__file__).parents[1] / "solutions"
_CLONE = Path(__file__).parents[3]


def secret() -> list[Path]:
    """The folders that have right answers: in a clone, its history and its tests have them too."""
    clone = (_CLONE / "pyproject.toml").is_file()
    return [SOLUTIONS, *(_CLONE / name for name in (".git", "build", "tests") if clone)]


@dataclass(frozen=True)
class Grade:
    """The grade of one exercise.

    status: "passed", "not yet", "missing", NOT_HERE, or what ended the run ("timed out",
    "crashed", ...).
    messages: for the student. notes: for the teacher, such as a changed check.
    """

    exercise: str
    points: int = 0
    status: str = "missing"
    mistake: str = ""
    messages: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    html: str = ""


@dataclass(frozen=True)
class Submission:
    """The notebooks of one student, as texts by their paths below the student's folder."""

    student: str
    files: Mapping[str, str] = field(default_factory=dict)

    def digest(self, course: Course, limits: Limits) -> str:
        """Changes with anything that the grades depend on."""
        parts = [VERSION, asdict(course), asdict(limits), sorted(self.files.items())]
        return hashlib.sha256(json.dumps(parts, default=str).encode()).hexdigest()


def submissions_in(folder: Path) -> list[Submission]:
    """The submissions of a folder, sorted: one folder or one notebook for each student.

    Raises ArgumentError for a path that is no folder.
    """
    if not folder.is_dir():
        raise ArgumentError(f"{folder} is no folder; submissions are folders of notebooks in one")
    found = []
    for path in sorted(folder.iterdir()):
        if path.name.startswith(".") or path.is_symlink():
            continue
        if path.is_dir():
            inside = [
                p
                for p in sorted(path.rglob("*.ipynb"))
                if not p.is_symlink() and ".ipynb_checkpoints" not in p.parts and p.is_file()
            ]
            files = {str(p.relative_to(path)): _text(p) for p in inside}
            found.append(Submission(path.name, files))
        elif path.suffix == ".ipynb" and path.is_file():
            found.append(Submission(path.stem, {path.name: _text(path)}))
    return found


def course_of(folder: Path, submissions: Sequence[Submission]) -> Course:
    """The course that submissions belong to: that of the folder or the one above it, or else the
    exercises of which there are notebooks, with the seeds that are in these."""
    for place in (folder, folder.resolve().parent):
        if (place / MANIFEST).is_file():
            return read_course(place)
    handed_in = {Path(path).stem for each in submissions for path in each.files}
    names = tuple(e.name for e in all_exercises() if e.name in handed_in)
    return Course(folder.name, 1, names, from_notebooks=True)


def _text(path: Path) -> str:
    if path.stat().st_size > MAX_FILE:
        return ""  # no notebook: `read` says so
    return path.read_text(encoding="utf-8", errors="replace")


def grade(
    submissions: Sequence[Submission],
    course: Course,
    *,
    hidden: Sequence[Path] = (),
    limits: Limits | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    keep: Path | None = None,
    progress: Callable[[int, int, str], object] = lambda done, of, student: None,
) -> dict[str, list[Grade]]:
    """The grades of each student, in the order of the submissions and of the course's exercises.

    hidden: folders that a student's code must not read, beside the solutions. executor: any of
    `concurrent.futures`, such as a Dask client's; None for a pool of `workers` processes. keep: a
    folder in which results are kept, so that a run that was stopped goes on where it was.

    Raises ArgumentError on an operating system that does not fork processes, and for several
    submissions of one student.
    """
    twice = [s for s, n in Counter(each.student for each in submissions).items() if n > 1]
    if twice:
        raise ArgumentError(
            f"several submissions are of one student: {', '.join(twice)}; a folder NAME and a "
            f"notebook NAME.ipynb are both of NAME: put the notebook into the folder, or rename it"
        )
    if not hasattr(os, "fork"):
        raise ArgumentError(
            "grading runs each notebook in a forked process, which this operating system does not "
            "have; grade on Linux"
        )
    limits = limits or Limits()
    done: dict[str, list[Grade]] = {}
    waiting = []
    for submission in submissions:
        kept = _kept(keep, submission, course, limits)
        if kept is None:
            waiting.append(submission)
        else:
            done[submission.student] = kept
            progress(len(done), len(submissions), submission.student)
    places = [str(path.resolve()) for path in (*secret(), *hidden, *([keep] if keep else []))]
    own = executor is None
    pool = executor or ProcessPoolExecutor(
        workers or os.cpu_count() or 1, mp_context=get_context("spawn")
    )
    try:
        running = {pool.submit(grade_one, each, course, limits, places): each for each in waiting}
        for future in as_completed(running):
            submission = running[future]
            try:
                grades = future.result()
            except Exception as error:  # of the executor: a lost worker
                note = f"not graded: {type(error).__name__}: {error}"
                grades = [
                    Grade(name, 0, "not graded", "", (), (note,)) for name in course.exercises
                ]
            else:
                if all(g.status != NOT_HERE for g in grades):
                    _keep(keep, submission, course, limits, grades)
            done[submission.student] = grades
            progress(len(done), len(submissions), submission.student)
    finally:
        if own:
            pool.shutdown(wait=False, cancel_futures=True)
    return {submission.student: done[submission.student] for submission in submissions}


def grade_one(
    submission: Submission, course: Course, limits: Limits, hidden: Sequence[str]
) -> list[Grade]:
    """The grades of one submission; called by a worker of an executor."""
    tasks: dict[str, dict[str, Any]] = {}
    notes: dict[str, list[str]] = {name: [] for name in course.exercises}
    unread: dict[str, str] = {}
    for path, text in submission.files.items():
        name = Path(path).stem
        try:
            data = notebooks.read(text)
        except notebooks.NotebookError as error:
            unread[name] = str(error)
            continue
        told = data.get("metadata", {})
        told = told.get("byoc_lab") if isinstance(told, dict) else None
        told = told if isinstance(told, dict) else {}
        own = told.get("exercise")
        if name not in notes and own in notes:
            notes[own].append(f"the notebook was renamed to {path}")
            name = own
        if name not in notes or name in tasks:
            continue
        notes[name] += notebooks.changed_cells(data, name)
        seed = course.seed_of(submission.student, name)
        if course.from_notebooks:
            seed = int(told["seed"]) if isinstance(told.get("seed"), int) else 0
        seeds = [seed, *course.hidden_seeds(name)]
        tasks[name] = {"exercise": name, "cells": notebooks.code_of(data), "seeds": seeds}
    results = dict(zip(tasks, run_sandboxed(list(tasks.values()), limits, hidden), strict=True))
    return [
        _grade(name, tasks[name]["seeds"], results[name], notes[name], limits)
        if name in results
        else Grade(name, messages=(unread.get(name, "no notebook was handed in"),))
        for name in course.exercises
    ]


def run_sandboxed(
    tasks: Sequence[dict[str, Any]],
    limits: Limits,
    hidden: Sequence[str] = (),
    namespaces: bool = True,
) -> Iterator[dict[str, Any]]:
    """Run notebooks in a sandbox; yields one result for each. Where the sandbox itself ends, the
    notebook that was running has crashed, and the rest gets a new sandbox."""
    left = list(tasks)
    while left:
        with tempfile.TemporaryDirectory(prefix="byoc-lab-grade-") as folder:
            request = {
                "notebooks": left, "limits": asdict(limits), "hidden": list(hidden),
                "folder": folder, "namespaces": namespaces,
            }  # fmt: skip
            answered = 0
            for result in _served(request, asleep_limit(limits.seconds) * len(left) + 120):
                yield result
                answered += 1
            left = left[answered:]
            if left:
                yield {"status": "crashed", "printed": "", "reply": "", "isolated": False}
                left = left[1:]


def _served(request: dict[str, Any], seconds: float) -> Iterator[dict[str, Any]]:
    environment = {k: v for k, v in os.environ.items() if k in ("PATH", "LANG", "PYTHONPATH")}
    environment |= {name: "1" for name in OF_LIBRARIES}
    environment["PYTHONPATH"] = os.pathsep.join(filter(None, sys.path))
    child = subprocess.Popen(
        [sys.executable, "-m", "byoc_lab.lessons.grading.sandbox"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
        text=True, encoding="utf-8", env=environment, cwd=request["folder"],
        start_new_session=True,
    )  # fmt: skip
    assert child.stdin is not None and child.stdout is not None
    with child:
        try:
            with suppress(BrokenPipeError):
                child.stdin.write(json.dumps(request))
                child.stdin.close()
            for line in child.stdout:
                yield json.loads(line)
        finally:
            child.kill()


def _grade(
    name: str,
    seeds: Sequence[int],
    result: Mapping[str, Any],
    notes: Sequence[str],
    limits: Limits,
) -> Grade:
    told = list(notes)
    if result["status"] != "ran":
        message = f"your notebook was stopped: {result['status']}; it may use {limits}"
        if result["status"] == ENDED:
            message = "your notebook ended Python, as os._exit does; remove the call that does it"
        return Grade(name, 0, result["status"], result["status"], (message,), tuple(told))
    try:
        data = json.loads(result["reply"])
        told += [str(note) for note in data.get("noticed", [])][:5]
        errors = [str(error) for error in data.get("errors", [])][:5]
        if "error" in data:
            errors.append(str(data["error"]))
        if "not_here" in data:
            return Grade(name, 0, NOT_HERE, "", (str(data["not_here"]),), tuple(told))
        if "replies" not in data:
            message = "after your cells have run, there is no variable `answer`"
            return Grade(name, 0, "no answer", "no-answer", (message, *errors), tuple(told))
        verdict = guarded(_judge, name, seeds, data["replies"], time_limit=JUDGE_SECONDS)
    except (GuardedError, MemoryError) as error:
        message = f"your answer cannot be judged: {type(error).__name__}: {error}"
        return Grade(name, 0, "not judged", "not-judged", (message,), tuple(told))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        message = f"what your notebook gave is no reply: {type(error).__name__}"
        return Grade(name, 0, "crashed", "no-reply", (message,), (*told, str(error)[:200]))
    points = notebooks.POINTS if verdict["passed"] else 0
    status = "passed" if verdict["passed"] else "not yet"
    messages = (*verdict["messages"], *errors)
    return Grade(name, points, status, verdict["mistake"], messages, tuple(told), verdict["html"])


def _judge(name: str, seeds: Sequence[int], replies: Sequence[Any]) -> dict[str, Any]:
    """`judged` in the guarded process, whose memory is limited: a module may ask for terabytes."""
    import resource  # it does not exist on Windows

    resource.setrlimit(resource.RLIMIT_AS, (JUDGE_MEMORY, JUDGE_MEMORY))
    return judged(name, seeds, replies)


def judged(name: str, seeds: Sequence[int], replies: Sequence[Any]) -> dict[str, Any]:
    """The verdict on replies, as data; runs in a guarded process, since replies may be hostile."""
    exercise = get(name)
    found: Verdict = exercise.verdict(None, tried=len(replies))
    if not replies or (len(replies) not in (1, len(seeds))):
        found = exercise.verdict(Mistake("kind", "the answer gave no reply"))
    if len(replies) == 1 and len(seeds) > 1 and exercise.only_functions:
        found = exercise.verdict(Mistake("kind", "expected a function"))
    for seed, reply in zip(seeds, replies, strict=False):
        if "raised" in reply:
            mistake: Mistake | None = exercise.raised(str(reply["raised"]))
        elif "kind" in reply:
            mistake = Mistake("kind", f"expected a function, found {reply['kind']}")
        else:
            try:
                mistake = exercise.judge(seed, decode(reply["value"]))
            except RecursionError:
                mistake = Mistake("kind", "the answer is nested too deeply")
        if mistake is not None:
            found = exercise.verdict(mistake, seed != seeds[0])
            break
    return {
        "passed": found.passed,
        "mistake": found.mistake,
        "messages": list(found.messages),
        "html": found.to_html(),
    }


def _kept(
    keep: Path | None, submission: Submission, course: Course, limits: Limits
) -> list[Grade] | None:
    """The grades that an earlier run has kept, if they are of the same notebooks."""
    if keep is None:
        return None
    try:
        data = json.loads((keep / f"{submission.student}.json").read_text(encoding="utf-8"))
        if data["digest"] != submission.digest(course, limits):
            return None
        return [
            Grade(**{**g, "messages": tuple(g["messages"]), "notes": tuple(g["notes"])})
            for g in data["grades"]
        ]
    except (OSError, ValueError, KeyError, TypeError):
        return None  # none is kept, or it was cut off: it is graded again


def _keep(
    keep: Path | None, submission: Submission, course: Course, limits: Limits, grades: list[Grade]
) -> None:
    if keep is None:
        return
    keep.mkdir(parents=True, exist_ok=True)
    data = {
        "digest": submission.digest(course, limits), "grades": [asdict(each) for each in grades]
    }  # fmt: skip
    write_text(keep / f"{submission.student}.json", json.dumps(data))


def write_grades(path: Path, grades: Mapping[str, Sequence[Grade]], course: Course) -> None:
    """Write the table of points as CSV: a row for each student, a column for each exercise."""
    with replacing(path) as new, open(new, "w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["student", *course.exercises, "total", "notes"])
        for student, found in grades.items():
            notes = "; ".join(
                f"{g.exercise}: {', '.join((g.status, *g.notes))}"
                for g in found
                if g.notes or g.status not in ("passed", "not yet")
            )
            points = [g.points for g in found]
            table.writerow([_safe(student), *points, sum(points), _safe(notes)])


def _safe(text: str) -> str:
    """A text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t") else text


def write_feedback(folder: Path, grades: Mapping[str, Sequence[Grade]], course: Course) -> None:
    """Write one HTML page for each student."""
    folder.mkdir(parents=True, exist_ok=True)
    for student, found in grades.items():
        write_text(folder / f"{student}.html", feedback.page(student, course, found))
