"""How long a class takes to grade: 60 submissions of ten exercises, on two workers.

`python benchmarks/grading.py [--students 60] [--workers 2]` prepares a course, writes submissions
(of five students three right, one wrong in a typical way, one hostile in two exercises), and grades
them as `byoc-lab grade` does.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.limits import Limits
from byoc_lab.lessons.grading.submissions import grade, submissions_in, write_feedback
from tests.lessons.grading.generated import write_class

LIMIT = 300.0  # seconds, for 60 submissions of ten exercises on two cores


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
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
        start = time.perf_counter()
        grades = grade(
            submissions_in(submissions), course, hidden=[submissions],
            limits=Limits(seconds=options.seconds), workers=options.workers,
        )  # fmt: skip
        write_feedback(pages, grades, course)
        seconds = time.perf_counter() - start
    other = [
        f"{student}, {g.exercise}: {g.mistake or 'passed'}, expected {told or 'passed'}"
        for student, found in grades.items()
        for g in found
        if g.mistake != (told := expected[student][g.exercise])
    ]
    print(
        f"{len(grades)} submissions of {len(names)} exercises on {options.workers} workers: "
        f"{seconds:.0f} s; {len(other)} grades other than expected"
    )
    print("\n".join(other))
    return 1 if other or seconds >= LIMIT else 0


if __name__ == "__main__":
    sys.exit(main())
