"""The grading of submissions: found, run in sandboxes on any executor, judged, kept, tabulated."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    BrokenExecutor,
    Executor,
    Future,
    ProcessPoolExecutor,
    wait,
)
from dataclasses import replace
from multiprocessing import active_children, get_context
from pathlib import Path
from typing import Any

from byoc_lab.containment import containers
from byoc_lab.containment.confinement import limit
from byoc_lab.containment.containers import ContainmentError
from byoc_lab.containment.family import die_with
from byoc_lab.containment.guarded import START_LIMIT, GuardedError, guarded
from byoc_lab.errors import ArgumentError
from byoc_lab.lessons.exercises import get
from byoc_lab.lessons.grading import grades as grades_of
from byoc_lab.lessons.grading import notebooks
from byoc_lab.lessons.grading.choice import choose
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.grades import (
    MISSING,
    NOT_GRADED,
    NOT_JUDGED,
    Grade,
    not_graded,
    write_feedback,
    write_grades,
)
from byoc_lab.lessons.grading.handed_in import Submission, course_of, submissions_in, whole_class
from byoc_lab.lessons.grading.limits import ENDED, Limits
from byoc_lab.lessons.grading.replies import decode
from byoc_lab.lessons.grading.sandboxed import LOST, START_SECONDS, TRIES, run_sandboxed
from byoc_lab.lessons.verdict import NOT_HERE, Mistake, Verdict
from byoc_lab.processor_time import asleep_limit

NOT_CONTAINED = (
    "notebooks are graded without a container: they can read and change every file that this "
    "account can, see and end its processes, and use shared memory, files and processes that no "
    "limit counts. They still cannot open sockets, and the limits of each process hold"
)
JUDGE_SECONDS, JUDGE_MEMORY = 30.0, 8 << 30
TURNS = 3  # of a submission, should its worker die
SOLUTIONS = Path(__file__).parents[1] / "solutions"
_CLONE = Path(__file__).parents[3]


def secret() -> list[Path]:
    """The folders that have right answers: in a clone, its history and its tests have them too."""
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
    progress: Callable[[int, int, str], object] = lambda done, of, student: None,
) -> dict[str, list[Grade]]:
    """The grades of each student of the course, and of all who handed in something.

    hidden: folders that a student's code must not read, beside the solutions. executor: any of
    `concurrent.futures`, such as a Dask client's; None for a pool of `workers` processes, in which
    a worker that dies is replaced. keep: a folder in which results are kept, so that an interrupted
    run resumes where it stopped. trust: grade also where no container can be made, with less
    protection (`NOT_CONTAINED`). table: a CSV file, written anew after each submission.

    A submission that a worker lost is graded again; one that is lost `TURNS` times is "not graded".
    Raises ArgumentError on an operating system that does not fork processes, and for several
    submissions of one student; ContainmentError where no container can be made, without `trust`.
    """
    everyone = whole_class(submissions, course)
    if not hasattr(os, "fork"):
        raise ArgumentError(
            "grading runs each notebook in a forked process, which this operating system does not "
            "have; grade on Linux"
        )
    limits = limits or Limits()
    places = [str(path.resolve()) for path in (*secret(), *hidden, *([keep] if keep else []))]
    done: dict[str, list[Grade]] = {}
    later = not_graded(course, "its turn has not come")

    def in_order() -> dict[str, list[Grade]]:
        return {each.student: done.get(each.student, later) for each in everyone}

    def finish(submission: Submission, grades: list[Grade]) -> None:
        done[submission.student] = grades
        if table is not None:
            write_grades(table, in_order(), course)
        progress(len(done), len(everyone), submission.student)

    waiting = []
    for submission in everyone:
        found = grades_of.kept(keep, submission, course, limits)
        if found is None and not submission.files:
            found = grade_one(submission, course, limits, places, trust)
        if found is None:
            waiting.append(submission)
        else:
            finish(submission, found)
    given, longest = (course, limits, places, trust), _longest(course, limits)
    lost: dict[str, Exception] = {}
    for turn in range(TURNS):
        # Whichever submission it was that a worker died of, in its last turn it is alone.
        batches = [waiting] if turn < TURNS - 1 else [[each] for each in waiting]
        for batch in batches:
            for submission, result in _results(batch, given, executor, workers, longest):
                if isinstance(result, ContainmentError):
                    raise result
                if isinstance(result, Exception):
                    lost[submission.student] = result
                else:
                    grades_of.keep(keep, submission, course, limits, result)
                    finish(submission, result)
        waiting = [each for each in waiting if each.student not in done]
    for submission in waiting:
        error = lost[submission.student]
        note = f"its worker was lost {TURNS} times: {type(error).__name__}: {error}"
        finish(submission, not_graded(course, note))
    return in_order()


def _results(
    batch: Sequence[Submission],
    given: tuple[Any, ...],
    executor: Executor | None,
    workers: int | None,
    longest: float,
) -> Iterator[tuple[Submission, list[Grade] | Exception]]:
    """The grades of each submission as they come, or what the executor raised.

    given: the other arguments of `grade_one`. longest: seconds without any result, after which the
    submissions that have none are lost.
    """
    if not batch:
        return
    others = set(active_children())
    pool = executor or ProcessPoolExecutor(
        workers or os.cpu_count() or 1,
        mp_context=get_context("spawn"),
        initializer=die_with,
        initargs=(os.getpid(),),
    )
    try:
        running: dict[Future[list[Grade]], Submission] = {}
        for each in batch:
            try:
                running[pool.submit(grade_one, each, *given)] = each
            except BrokenExecutor as error:  # a worker died of an earlier one
                yield each, error
        while running:
            done, _ = wait(running, longest, return_when=FIRST_COMPLETED)
            for future in done or list(running):
                submission = running.pop(future)
                try:
                    yield submission, future.result(timeout=0)
                except Exception as error:
                    yield submission, error
    finally:
        if executor is None:
            pool.shutdown(wait=False, cancel_futures=True)
            for worker in set(active_children()) - others:
                worker.kill()  # it may be stopped, and Python would wait for it at its end


def _longest(course: Course, limits: Limits) -> float:
    """The seconds that one submission can take, every wait included."""
    sandbox = TRIES * (asleep_limit(limits.seconds) + START_SECONDS)
    judge = TRIES * (asleep_limit(JUDGE_SECONDS) + START_LIMIT)
    return (len(course.exercises) + 1) * (sandbox + judge)


def grade_one(
    submission: Submission,
    course: Course,
    limits: Limits,
    hidden: Sequence[str],
    trust: bool = False,
) -> list[Grade]:
    """The grades of one submission; called by a worker of an executor.

    Raises ContainmentError where no container can be made, without `trust`.
    """
    found = choose(submission, course)
    tasks = [each.task(name, course) for name, each in found.chosen.items()]
    replies = run_sandboxed(tasks, limits, hidden, _way(trust)) if tasks else ()
    results = dict(zip(found.chosen, replies, strict=True))
    grades = []
    for name in course.exercises:
        if name in results:
            chosen, result = found.chosen[name], results[name]
            seeds = [chosen.seed, *course.hidden_seeds(name)]
            grade = _grade(name, seeds, result, (*chosen.notes, *submission.notes), limits)
            grades.append(replace(grade, file=chosen.path))
        else:
            reason = found.unread.get(name, "no notebook was handed in")
            # A file that could not be read may have had the answer.
            status = NOT_GRADED if submission.notes else MISSING
            grades.append(Grade(name, 0, status, "", (reason,), submission.notes))
    return grades


def _way(trust: bool) -> str | None:
    """How notebooks are contained here; None if they are not, which takes `trust`."""
    if trust and not containers.possible():
        return None
    try:
        return containers.way()
    except ContainmentError as error:
        raise ContainmentError(f"{error}; --trust grades all the same: {NOT_CONTAINED}") from error


def _grade(
    name: str,
    seeds: Sequence[int],
    result: Mapping[str, Any],
    notes: Sequence[str],
    limits: Limits,
) -> Grade:
    told = list(notes)
    if result["status"] == LOST:
        note = "its sandbox ended or did not answer, twice: memory or the disk may be full"
        return Grade(name, 0, NOT_GRADED, "", (), (*told, note))
    if result["status"] == NOT_HERE:
        return Grade(name, 0, NOT_HERE, "", (result["reply"],), tuple(told))
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
        if "replies" not in data:
            message = "after your cells have run, there is no variable `answer`"
            return Grade(name, 0, "no answer", "no-answer", (message, *errors), tuple(told))
        verdict = _judged_apart(name, seeds, data["replies"])
    except MemoryError as error:
        message = f"your answer cannot be judged: {type(error).__name__}: {error}"
        return Grade(name, 0, "too large", "too-large", (message,), tuple(told))
    except GuardedError as error:
        return Grade(name, 0, NOT_JUDGED, "", (), (*told, f"the judge {error.kind}: {error}"))
    except (ValueError, TypeError, AttributeError, KeyError, RecursionError) as error:
        message = f"what your notebook gave is no reply: {type(error).__name__}"
        return Grade(name, 0, "crashed", "no-reply", (message,), (*told, str(error)[:200]))
    points = notebooks.POINTS if verdict["passed"] else 0
    status = "passed" if verdict["passed"] else "not yet"
    messages = (*verdict["messages"], *errors)
    return Grade(name, points, status, verdict["mistake"], messages, tuple(told), verdict["html"])


def _judged_apart(name: str, seeds: Sequence[int], replies: Sequence[Any]) -> dict[str, Any]:
    """`judged` in a guarded process; in another one, should the first die. Raises GuardedError."""
    try:
        found: dict[str, Any] = guarded(_judge, name, seeds, replies, time_limit=JUDGE_SECONDS)
    except GuardedError as error:
        if error.kind == "timed out":
            raise
        found = guarded(_judge, name, seeds, replies, time_limit=JUDGE_SECONDS)
    return found


def _judge(name: str, seeds: Sequence[int], replies: Sequence[Any]) -> dict[str, Any]:
    """`judged` in the guarded process, whose memory is limited: a module may ask for terabytes."""
    limit(as_=JUDGE_MEMORY)
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


__all__ = [
    "SOLUTIONS",
    "Grade",
    "Submission",
    "course_of",
    "grade",
    "grade_one",
    "judged",
    "secret",
    "submissions_in",
    "write_feedback",
    "write_grades",
]  # fmt: skip
