"""Grades submissions: finds them, runs them in sandboxes on any executor, judges them, and stores
and tabulates the grades."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import replace
from pathlib import Path
from typing import Any

from byoc_lab.containment import containers, groups
from byoc_lab.containment.containers import ContainmentError
from byoc_lab.containment.guarded import START_LIMIT, forked, guarded
from byoc_lab.containment.limits import Limits
from byoc_lab.containment.scratch import remove_abandoned
from byoc_lab.containment.workers import pool
from byoc_lab.errors import ArgumentError
from byoc_lab.lessons.grading import grades as grades_of
from byoc_lab.lessons.grading import notebooks
from byoc_lab.lessons.grading.choice import Choice, Chosen, choose
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.credit import with_credit
from byoc_lab.lessons.grading.feedback import write_feedback
from byoc_lab.lessons.grading.grades import MISSING, NOT_GRADED, Grade, not_graded
from byoc_lab.lessons.grading.handed_in import Submission, course_of, submissions_in, whole_class
from byoc_lab.lessons.grading.judging import JUDGE_SECONDS, Apart, graded, prepare
from byoc_lab.lessons.grading.sandboxed import SCRATCH, START_SECONDS, TRIES, run_sandboxed
from byoc_lab.lessons.grading.settings import DEFAULTS, Settings
from byoc_lab.lessons.grading.tables import write_grades
from byoc_lab.processor_time import asleep_limit

TURNS = 3  # attempts for a submission whose worker dies
SOLUTIONS = Path(__file__).parents[1] / "solutions"
_CLONE = Path(__file__).parents[3]


def not_contained() -> str:
    """A warning about the missing protection if notebooks are graded without a container."""
    uncounted = "shared memory, files and processes" if groups.failure() else "files"
    return (
        "notebooks are graded without a container: they can read and change every file that this "
        f"account can, see and end its processes, and use {uncounted} that no limit counts. They "
        "still cannot open sockets, and the limits of each process hold"
    )


def secret() -> list[Path]:
    """The folders with right answers: in a clone, this includes its history and its tests."""
    clone = (_CLONE / "pyproject.toml").is_file()
    return [SOLUTIONS, *(_CLONE / name for name in (".git", "build", "tests") if clone)]


def grade(
    submissions: Sequence[Submission],
    course: Course,
    *,
    hidden: Sequence[Path] = (),
    limits: Limits | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    keep: Path | None = None,
    trust: bool = False,
    table: Path | None = None,
    settings: Settings = DEFAULTS,
    again: Collection[str] = (),
    progress: Callable[[int, int, str], object] = lambda done, of, student: None,
) -> dict[str, list[Grade]]:
    """The grades of each student of the course, and of all others with submissions.

    hidden: folders that a student's code must not read, in addition to the solutions. executor: an
    executor of `concurrent.futures`, such as a Dask client's; None for a pool of `workers`
    processes, which replaces workers that die. keep: a folder for results, so that an interrupted
    run resumes where it stopped. trust: grade even without a container, with less protection
    (`not_contained`). table: a CSV file, rewritten after each submission. settings: rules for the
    points; stored results do not depend on them. again: students and exercises that are graded
    again although their results are stored.

    A submission that a worker lost is graded again; after `TURNS` losses it is "not graded". Raises
    ArgumentError on an operating system that cannot fork processes, and for an unknown name in
    `again`; SettingsError for settings of unknown students; ContainmentError if no container can be
    made and `trust` is false.
    """
    everyone = whole_class(submissions, course, settings.ids)
    students = [each.student for each in everyone]
    settings.check_students(students)
    for name in again:
        if name not in (*students, *course.exercises):
            raise ArgumentError(
                f"{name!r:.80} is neither a student of the class nor an exercise of the course "
                f"({', '.join(course.exercises)}); name one of them"
            )
    if not hasattr(os, "fork"):
        raise ArgumentError(
            "grading runs each notebook in a forked process, which this operating system does not "
            "have; grade on Linux"
        )
    limits = limits or Limits()
    places = [str(path.resolve()) for path in (*secret(), *hidden, *([keep] if keep else []))]
    done: dict[str, list[Grade]] = {}
    later = not_graded(course.exercises, "its turn has not come")

    def in_order() -> dict[str, list[Grade]]:
        return {each.student: done.get(each.student, later) for each in everyone}

    def finish(submission: Submission, grades: list[Grade]) -> None:
        known = kept[submission.student] | {each.exercise: each for each in grades}
        grades = [known[name] for name in course.exercises]
        grades_of.keep(keep, submission, course, limits, grades)
        done[submission.student] = with_credit(grades, submission, settings)
        if table is not None:
            write_grades(table, in_order(), course, settings)
        progress(len(done), len(everyone), settings.shown(submission.student, course.seed))

    waiting, kept, left = [], {}, {}
    for submission in everyone:
        found = grades_of.kept(keep, submission, course, limits)
        anew = course.exercises if submission.student in again else again
        found = {name: each for name, each in found.items() if name not in anew}
        kept[submission.student] = found
        left[submission.student] = [name for name in course.exercises if name not in found]
        if not left[submission.student]:
            finish(submission, [])
        elif not submission.files:
            finish(submission, grade_one(submission, [*course.exercises], course, limits, places))
        else:
            waiting.append(submission)
    given, longest = (course, limits, places, trust), _longest(course, limits)
    lost: dict[str, Exception] = {}
    for turn in range(TURNS):
        # In its last turn a submission is alone, so another submission cannot kill its worker.
        batches = [waiting] if turn < TURNS - 1 else [[each] for each in waiting]
        for batch in batches:
            for submission, result in _results(batch, left, given, executor, workers, longest):
                if isinstance(result, ContainmentError):
                    raise result
                if isinstance(result, Exception):
                    lost[submission.student] = result
                else:
                    finish(submission, result)
        waiting = [each for each in waiting if each.student not in done]
    for submission in waiting:
        error = lost[submission.student]
        note = f"its worker was lost {TURNS} times: {type(error).__name__}: {error}"
        finish(submission, not_graded(left[submission.student], note))
    return in_order()


def _results(
    batch: Sequence[Submission],
    left: Mapping[str, Sequence[str]],
    given: tuple[Any, ...],
    executor: Executor | None,
    workers: int | None,
    longest: float,
) -> Iterator[tuple[Submission, list[Grade] | Exception]]:
    """The grades of each submission as they arrive, or the exception of the executor.

    left: the exercises to grade, by student. given: the other arguments of `grade_one`. longest:
    after this many seconds without any result, the remaining submissions are lost.
    """
    if not batch:
        return
    if executor is not None:
        yield from _submitted(batch, left, (*given, guarded), executor, longest)
        return
    try:
        with pool(workers or os.cpu_count() or 1, prepare) as own:
            yield from _submitted(batch, left, (*given, forked), own, longest)
    finally:
        remove_abandoned(SCRATCH)


def _submitted(
    batch: Sequence[Submission],
    left: Mapping[str, Sequence[str]],
    given: tuple[Any, ...],
    executor: Executor,
    longest: float,
) -> Iterator[tuple[Submission, list[Grade] | Exception]]:
    running: dict[Future[list[Grade]], Submission] = {}
    for each in batch:
        try:
            running[executor.submit(grade_one, each, left[each.student], *given)] = each
        except BrokenExecutor as error:  # an earlier submission killed a worker
            yield each, error
    while running:
        done, _ = wait(running, longest, return_when=FIRST_COMPLETED)
        for future in done or list(running):
            submission = running.pop(future)
            try:
                yield submission, future.result(timeout=0)
            except Exception as error:
                yield submission, error


def _longest(course: Course, limits: Limits) -> float:
    """The maximum seconds for one submission, including every wait."""
    sandbox = TRIES * (asleep_limit(limits.seconds) + START_SECONDS)
    judge = TRIES * (asleep_limit(JUDGE_SECONDS) + START_LIMIT)
    return (len(course.exercises) + 1) * (sandbox + judge)


def grade_one(
    submission: Submission,
    exercises: Sequence[str],
    course: Course,
    limits: Limits,
    hidden: Sequence[str],
    trust: bool = False,
    apart: Apart = guarded,
) -> list[Grade]:
    """The grades of some exercises of one submission; called by a worker of an executor.

    apart: creates the judge's process, `forked` or `guarded`. Raises ContainmentError if no
    container can be made and `trust` is false.
    """
    found = choose(submission, course)
    chosen = {name: found.chosen[name] for name in exercises if name in found.chosen}
    tasks = [each.task(name, course) for name, each in chosen.items()]
    replies = run_sandboxed(tasks, limits, hidden, _way(trust)) if tasks else ()
    results = dict(zip(chosen, replies, strict=True))
    return [
        _of_chosen(name, chosen[name], results[name], submission, course, limits, apart)
        if name in chosen
        else _of_none(name, found, submission)
        for name in exercises
    ]


def _of_chosen(
    name: str,
    chosen: Chosen,
    result: Mapping[str, Any],
    submission: Submission,
    course: Course,
    limits: Limits,
    apart: Apart,
) -> Grade:
    seeds = [chosen.seed, *course.hidden_seeds(name)]
    notes = (*chosen.notes, *submission.notes, *submission.remarks)
    cells = notebooks.answer_cells(chosen.data)
    return replace(
        graded(name, seeds, result, notes, limits, cells, apart),
        file=chosen.path,
        hints=notebooks.hints_of(chosen.data),
        code=notebooks.answer_of(chosen.data),
        printed=result["printed"],
    )


def _of_none(name: str, found: Choice, submission: Submission) -> Grade:
    """The grade of an exercise without a notebook."""
    # A file that could not be read may contain the answer.
    unread = found.notes(name)
    lost = (*unread, *submission.notes)
    status = NOT_GRADED if lost else MISSING
    messages = tuple(unread) or ("no notebook was handed in",)
    return Grade(name, 0, status, "", messages, (*lost, *submission.remarks))


def _way(trust: bool) -> str | None:
    """The kind of container for notebooks on this machine; None if there is none, which requires
    `trust`."""
    if trust and not containers.possible():
        return None
    try:
        return containers.way()
    except ContainmentError as error:
        advice = f"--trust grades all the same: {not_contained()}"
        raise ContainmentError(f"{error}; {advice}") from error


__all__ = [
    "SOLUTIONS",
    "Grade",
    "Submission",
    "course_of",
    "grade",
    "grade_one",
    "secret",
    "submissions_in",
    "write_feedback",
    "write_grades",
]  # fmt: skip
