"""`byoc-lab grade`: a table and a page for each student, from a course and its notebooks."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import pytest

from byoc_lab.cli import main
from tests.lessons.grading.generated import right, write, wrong
from tests.lessons.grading.ways import BEST

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="grading needs Linux")
NAME = "annotate-diamond"


def test_submissions_of_a_course_are_graded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    course, folder = tmp_path / "course", tmp_path / "in"
    assert main(["course", "new", str(course), "--exercises", NAME, "--seed", "1"]) == 0
    write(folder / "ann", NAME, right(NAME))
    write(folder / "=1+1", NAME, wrong(NAME, "no-region"))
    table, pages = tmp_path / "grades.csv", tmp_path / "pages"
    command = ["grade", str(folder), "-o", str(table), "--feedback", str(pages), "--workers", "1"]
    if BEST is None:
        command.append("--trust")
    assert main([*command, "--course", str(course)]) == 0
    told = capsys.readouterr()
    assert "2 submissions, 1 answers passed" in told.out and "2/2 " in told.err
    rows = list(csv.DictReader(table.open(encoding="utf-8")))
    assert [(row["student"], row["total"]) for row in rows] == [("'=1+1", "0"), ("ann", "10")]
    assert "Annotate a diamond convexly" in (pages / "ann.html").read_text(encoding="utf-8")
    assert main(command) == 0  # without the course: the exercises that were handed in


def test_wrong_usage_is_told(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["grade", str(tmp_path / "none")]) == 2
    assert "is no folder" in capsys.readouterr().err
    assert main(["grade", str(tmp_path), "--course", str(tmp_path)]) == 2
    assert "`byoc-lab course new FOLDER` makes one" in capsys.readouterr().err
    assert main(["grade", str(tmp_path), "--workers", "0"]) == 2
    assert "--workers must be above 0" in capsys.readouterr().err
