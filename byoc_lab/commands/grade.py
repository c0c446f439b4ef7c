"""grade notebooks of exercises, each in a separate process"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from byoc_lab.commands.shared import INCONCLUSIVE, OK, configure_format
from byoc_lab.output import to_json

WIDTH = 30


def configure(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "submissions", type=Path, help="a folder that contains a folder for each student"
    )
    parser.add_argument(
        "--course", type=Path, help="the folder of the course (default: SUBMISSIONS or its parent)"
    )
    parser.add_argument("-o", "--output", type=Path, default=Path("grades.csv"))
    parser.add_argument("--feedback", type=Path, help="a folder for HTML pages, one per student")
    parser.add_argument(
        "--workers", type=int, help="the number of processes (default: one per core)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=30.0,
        help="the limit of processor time for one notebook (default: 30)",
    )
    parser.add_argument(
        "--memory",
        type=int,
        default=2048,
        help="the memory limit of one notebook in MiB (default: 2048)",
    )
    parser.add_argument(
        "--trust", action="store_true", help="grade even without a container for notebooks"
    )
    parser.add_argument("--again", action="store_true", help="grade all submissions again")
    parser.add_argument(
        "--regrade",
        action="append",
        default=[],
        metavar="NAME",
        help="a student or an exercise to grade again; repeatable",
    )
    configure_format(parser)


def run(options: argparse.Namespace) -> int:
    from byoc_lab.containment import containers
    from byoc_lab.containment.limits import Limits
    from byoc_lab.errors import ArgumentError
    from byoc_lab.lessons.grading import submissions as grading
    from byoc_lab.lessons.grading.course import OF_TEACHER, read_course
    from byoc_lab.lessons.grading.settings import read_settings
    from byoc_lab.lessons.grading.tables import write_beside

    for name in ("workers", "seconds", "memory"):
        value = getattr(options, name)
        if value is not None and value <= 0:
            raise ArgumentError(f"--{name} must be above 0, found {value}")
    found = grading.submissions_in(options.submissions)
    if options.course is None:
        course, folder = grading.course_of(options.submissions, found)
    else:
        course, folder = read_course(options.course), options.course
    settings = read_settings(folder, course.exercises)
    if options.trust and not containers.possible():
        print(f"warning: {grading.not_contained()}", file=sys.stderr)
    keep = options.output.with_suffix(".graded")
    secret = [options.course] if options.course else [folder / name for name in OF_TEACHER]
    grades = grading.grade(
        found,
        course,
        hidden=[options.submissions, *secret],
        limits=Limits(seconds=options.seconds, memory=options.memory << 20),
        workers=options.workers,
        keep=keep,
        trust=options.trust,
        table=options.output,
        settings=settings,
        again=course.exercises if options.again else options.regrade,
        progress=_progress,
    )
    grading.write_grades(options.output, grades, course, settings)
    for line in write_beside(options.output, grades, course, settings):
        print(line, file=sys.stderr)
    if options.feedback is not None:
        grading.write_feedback(options.feedback, grades, course, settings)
    passed = sum(grade.status == "passed" for each in grades.values() for grade in each)
    if options.format == "json":
        shown = {settings.shown(student, course.seed): each for student, each in grades.items()}
        told = {name: [g.as_dict() for g in each] for name, each in shown.items()}
        print(to_json("grades", {"table": str(options.output), "students": told}))
    else:
        print(f"{len(grades)} submissions, {passed} answers passed; {options.output}")
    open_ = sum(not grade.graded for each in grades.values() for grade in each)
    if not open_:
        return OK
    print(
        f"{open_} answers could not be graded: their cells are empty, and the notes say why",
        file=sys.stderr,
    )
    return INCONCLUSIVE


def _progress(done: int, of: int, student: str) -> None:
    """A progress bar in a terminal; otherwise a line for each submission."""
    if sys.stderr.isatty():
        filled = WIDTH * done // of
        end = "\n" if done == of else ""
        bar = "#" * filled + "." * (WIDTH - filled)
        print(f"\r[{bar}] {done}/{of} {student:20.20}", end=end, file=sys.stderr, flush=True)
    else:
        print(f"{done}/{of} {student}", file=sys.stderr, flush=True)
