"""Measures the time to grade a class: 60 submissions of ten exercises, on two workers.

`python benchmarks/grading.py [--students 60] [--workers 2]` prepares a course, writes submissions
(of every five students, three are right, one makes a typical mistake, and one is hostile in two
exercises), and grades them as `byoc-lab grade` does. The result is the processor time of all
processes, divided by the number of workers. Then it interrupts a grader whose notebook sleeps
forever, and measures the time until the grader exits. `--out benchmarks/results` writes the
measurements to `grading.json`.
"""

from __future__ import annotations

import os
import signal
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from report import arguments, write_json

from byoc_lab.containment import containers, groups
from byoc_lab.containment.limits import Limits
from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.submissions import grade, submissions_in, write_feedback
from tests.lessons.grading.generated import with_code, write, write_class
from tests.lessons.grading.running import FOR_EVER, Grader

LIMIT = 300.0  # limit in seconds, for 60 submissions of ten exercises on two cores
LIMIT_OF_INTERRUPT = 2.0  # limit in seconds, for an interrupt


def main() -> int:
    parser = arguments(__doc__)
    parser.add_argument("--students", type=int, default=60)
    parser.add_argument("--exercises", type=int, default=10)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=15.0, help="limit of one notebook")
    options = parser.parse_args()
    names = tuple(e.name for e in all_exercises())[: options.exercises]
    with tempfile.TemporaryDirectory() as folder:
        submissions, pages = Path(folder, "in"), Path(folder, "out")
        expected = write_class(submissions, names, options.students)
        course = Course("class", 1, names)
        start, before = time.perf_counter(), processor_seconds()
        grades = grade(
            submissions_in(submissions), course, hidden=[submissions],
            limits=Limits(seconds=options.seconds), workers=options.workers,
        )  # fmt: skip
        write_feedback(pages, grades, course)
        seconds = time.perf_counter() - start
        each = (processor_seconds() - before) / options.workers
    other = [
        f"{student}, {g.exercise}: {g.mistake or 'passed'}, expected {told or 'passed'}"
        for student, found in grades.items()
        for g in found
        if g.mistake != (told := expected[student][g.exercise])
    ]
    print(
        f"{len(grades)} submissions of {len(names)} exercises on {options.workers} workers: "
        f"{seconds:.0f} s, {each:.0f} s of processor time each; {len(other)} grades other than "
        f"expected"
    )
    print("\n".join(other))
    with tempfile.TemporaryDirectory() as folder:
        interrupt = seconds_of_interrupt(Path(folder))
    print(f"interrupted: ended after {interrupt:.1f} s")
    write_json(
        options.out / "grading.json",
        {
            "students": options.students, "exercises": len(names), "workers": options.workers,
            "container": containers.way(), "memory is counted by the kernel": not groups.failure(),
            "seconds": seconds, "processor seconds of each worker": each, "limit": LIMIT,
            "grades other than expected": other, "seconds until interrupted": interrupt,
            "limit of interrupt": LIMIT_OF_INTERRUPT,
        },
    )  # fmt: skip
    return 1 if other or each >= LIMIT or interrupt >= LIMIT_OF_INTERRUPT else 0


def processor_seconds() -> float:
    """The processor time of this process and of all its exited child processes."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def seconds_of_interrupt(folder: Path) -> float:
    """The time from Ctrl-C to the exit of a grader that waits for a notebook."""
    name = "annotate-diamond"
    write(folder / "in" / "ann", name, with_code(name, FOR_EVER))
    grader = Grader(folder)
    grader.sandbox(set())
    start = time.perf_counter()
    os.killpg(grader.process.pid, signal.SIGINT)
    grader.process.communicate()
    return time.perf_counter() - start


if __name__ == "__main__":
    sys.exit(main())
