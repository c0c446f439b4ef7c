"""Courses: an incomplete one is completed, and student names must give different folders."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from byoc_lab import cli
from byoc_lab.errors import ArgumentError
from byoc_lab.lessons.grading import submissions as grading
from byoc_lab.lessons.grading.course import Course, new_course, read_course
from byoc_lab.lessons.grading.settings import DEFAULTS, SETTINGS, read_settings

NAME = "annotate-diamond"


def test_incomplete_course_is_completed(tmp_path: Path) -> None:
    folder = tmp_path / "course"
    made = new_course(folder, [NAME], ["ann", "bob"], 7)
    missing = folder / "students" / "bob" / f"{NAME}.ipynb"
    kept = folder / "students" / "ann" / f"{NAME}.ipynb"
    missing.unlink()
    kept.write_text("begun")
    settings = folder / SETTINGS
    assert read_settings(folder, made.exercises) == DEFAULTS and settings.is_file()
    settings.write_text("anonymous = true")
    assert new_course(folder, [NAME], ["ann", "bob"], 7) == made == read_course(folder)
    assert missing.is_file() and kept.read_text() == "begun"
    assert read_settings(folder, made.exercises).anonymous


def test_seed_of_a_class_is_random_and_stays(tmp_path: Path) -> None:
    first, second = (new_course(tmp_path / each, [NAME], name="c") for each in "ab")
    assert first.seed != second.seed
    assert first.hidden_seeds(NAME) != second.hidden_seeds(NAME)
    assert new_course(tmp_path / "a", [NAME], name="c") == first


@pytest.mark.parametrize(
    ("students", "seed", "what"), [(["ann"], 8, "seed"), (["ann", "bob"], 7, "students")]
)
def test_new_course_refuses_to_replace_a_different_one(
    tmp_path: Path, students: list[str], seed: int, what: str
) -> None:
    made = new_course(tmp_path / "course", [NAME], ["ann"], 7)
    with pytest.raises(ArgumentError, match=f"has a course with different {what};"):
        new_course(tmp_path / "course", [NAME], students, seed)
    assert read_course(tmp_path / "course") == made


@pytest.mark.parametrize(
    "names", [["ann", "Ann"], ["straße", "STRASSE"], ["a/b"], [".."], [""], ["a\tb"], ["x" * 201]]
)
def test_names_that_give_the_same_folder_are_refused(tmp_path: Path, names: list[str]) -> None:
    with pytest.raises(ArgumentError, match=r"look the same|must be a folder's name"):
        new_course(tmp_path / "course", [NAME], names)
    assert not (tmp_path / "course").exists()


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "latin-1", "utf-16"])
def test_file_of_names_may_have_any_encoding(tmp_path: Path, encoding: str) -> None:
    (tmp_path / "names.txt").write_bytes("Zoë\nann\n".encode(encoding))
    arguments = ["--exercises", NAME, "--students", str(tmp_path / "names.txt")]
    assert cli.main(["course", "new", str(tmp_path / "course"), *arguments]) == cli.OK
    assert read_course(tmp_path / "course").students == ("Zoë", "ann")


def test_long_names_and_formulas_have_rows_and_pages(tmp_path: Path) -> None:
    course = Course("c", 1, (NAME,))
    students = ["x" * 240, "x" * 239 + "y", "a\\tb", "=1+1"]
    grades = {student: [grading.Grade(NAME, 10, "passed")] for student in students}
    grading.write_grades(tmp_path / "grades.csv", grades, course)
    rows = list(csv.reader((tmp_path / "grades.csv").open(encoding="utf-8")))
    assert [row[0] for row in rows[1:]] == [*students[:3], "'=1+1"]
    grading.write_feedback(tmp_path / "pages", grades, course)
    assert len(list((tmp_path / "pages").iterdir())) == len(students)
