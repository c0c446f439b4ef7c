"""`byoc-lab course`: creates a class's course; the solutions stay with the teacher."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from byoc_lab.cli import main
from byoc_lab.lessons.grading.course import STUDENTS, read_course
from byoc_lab.lessons.solutions import source


def test_course_new_writes_exercises_for_each_student(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "names").write_text("ann\n\nbob\n")
    folder, name = tmp_path / "byoc", "annotate-diamond"
    options = ["--exercises", f"{name}, add-the-missing-end", "--seed", "7"]
    students = ["--students", str(tmp_path / "names")]
    assert main(["course", "new", str(folder), *options, *students]) == 0
    assert "2 exercises for 2 students" in capsys.readouterr().out
    course = read_course(folder)
    assert course.exercises == (name, "add-the-missing-end")
    for student in ("ann", "bob"):
        text = (folder / STUDENTS / student / f"{name}.ipynb").read_text(encoding="utf-8")
        data = json.loads(text)
        assert data["metadata"]["byoc_lab"]["seed"] == course.seed_of(student, name)
    solution = "way, host = call.args"
    assert solution in source(name)
    told = {p.parent.name for p in folder.rglob("*.ipynb") if solution in p.read_text()}
    assert told == {"instructor", "byoc"}  # source/ is nbgrader's folder


def test_course_new_leaves_a_folder_with_files_unchanged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "mine").write_text("kept")
    assert main(["course", "new", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert main(["course", "new", str(tmp_path / "new"), "--exercises", "no-such"]) == 2
    assert "no exercise is named 'no-such'" in capsys.readouterr().err


def test_course_new_without_solutions_writes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An installed wheel has no solutions."""
    monkeypatch.setitem(sys.modules, "byoc_lab.lessons.solutions", None)
    assert main(["course", "new", str(tmp_path / "new")]) == 2
    assert "in a clone of the repository" in capsys.readouterr().err
    assert not (tmp_path / "new").exists()


def test_course_list_prints_the_exercises(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["course", "list"]) == 0
    assert "annotate-diamond" in capsys.readouterr().out
    chosen = ["--exercises", "annotate-diamond,write-conv-bias-relu"]
    assert main(["course", "pictures", str(tmp_path), *chosen]) == 0
    assert (tmp_path / "annotate-diamond.svg").read_text(encoding="utf-8").startswith("<svg")
    assert len(list(tmp_path.glob("write-conv-bias-relu-*.svg"))) == 4
