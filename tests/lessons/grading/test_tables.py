"""The tables of a class: points, short notes, and the formats of Moodle and Canvas."""

from __future__ import annotations

import csv
from pathlib import Path

from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.grades import NOT_GRADED, Grade
from byoc_lab.lessons.grading.settings import Settings
from byoc_lab.lessons.grading.tables import notes, write_beside, write_grades

A, B = "add-the-missing-begin", "annotate-diamond"
COURSE = Course("c", 1, (A, B))
GRADES = {
    "ann": [Grade(A, 10, "passed"), Grade(B, 6.67, "not yet", reasons=("right for 67%",))],
    "bob": [Grade(A), Grade(B)],
    "=cid": [Grade(A, 10, "passed"), Grade(B, 0, NOT_GRADED, notes=("the disk is full",))],
}
IDS = {"ann": "0042", "=cid": "0043"}


def rows(path: Path) -> list[list[str]]:
    return list(csv.reader(path.open(encoding="utf-8")))


def test_table_has_a_column_of_ids_if_there_are_any(tmp_path: Path) -> None:
    table = tmp_path / "grades.csv"
    write_grades(table, GRADES, COURSE)
    assert rows(table)[0] == ["student", A, B, "total", "notes"]
    write_grades(table, GRADES, COURSE, Settings(ids=IDS))
    assert rows(table) == [
        ["student", "id", A, B, "total", "notes"],
        ["ann", "0042", "10", "6.67", "16.67", f"{B}: not yet, right for 67%"],
        ["bob", "", "0", "0", "0", "nothing handed in"],
        ["'=cid", "0043", "10", "", "", f"{B}: not graded, the disk is full"],
    ]


def test_missing_notebooks_are_counted_and_not_listed() -> None:
    assert notes([Grade(A), Grade(B, 10, "passed")]) == "1 not handed in"
    assert notes([Grade(A, notes=("x.rar was not opened",)), Grade(B)]) == (
        f"{A}: missing, x.rar was not opened; 1 not handed in"
    )
    assert notes([Grade(A, 10, "passed"), Grade(B, 0, "not yet")]) == ""
    both = [
        Grade(name, status="not graded", notes=("x.py: it is not a notebook",)) for name in (A, B)
    ]
    assert notes(both) == f"{A}, {B}: not graded, x.py: it is not a notebook"


def test_moodle_table_has_id_numbers_and_empty_cells(tmp_path: Path) -> None:
    settings = Settings(tables=("moodle",), ids=IDS)
    (told,) = write_beside(tmp_path / "grades.csv", GRADES, COURSE, settings)
    assert "has no id of bob; complete or remove" in told
    assert rows(tmp_path / "grades.moodle.csv") == [
        ["ID number", "Full name", "Add the missing begin", "Annotate a diamond convexly",
         "Total"],
        ["0042", "ann", "10", "6.67", "16.67"],
        ["0043", "'=cid", "10", "", ""],
        ["", "bob (no id in course.toml)", "0", "0", "0"],
    ]  # fmt: skip


def test_canvas_table_has_its_columns_and_the_maximum_points(tmp_path: Path) -> None:
    settings = Settings(tables=("canvas",), ids=IDS, anonymous=True)
    write_beside(tmp_path / "grades.csv", GRADES, COURSE, settings)
    head, possible, ann, _, bob = rows(tmp_path / "grades.canvas.csv")
    assert head[:5] == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section"]
    assert possible == ["    Points Possible", "", "", "", "", "10", "10"]
    assert ann == ["ann", "", "0042", "", "", "10", "6.67"]
    assert bob == ["bob (no id in course.toml)", "", "", "", "", "0", "0"]


def test_anonymous_table_has_codes_and_a_separate_table_of_names(tmp_path: Path) -> None:
    table, settings = tmp_path / "grades.csv", Settings(anonymous=True, ids=IDS)
    write_grades(table, GRADES, COURSE, settings)
    write_beside(table, GRADES, COURSE, settings)
    codes = [row[0] for row in rows(table)[1:]]
    names = dict(rows(tmp_path / "grades.names.csv")[1:])
    assert list(names) == codes == sorted(codes), "their order tells nothing"
    assert "id" not in rows(table)[0], "which says who a student is"
    assert {*names.values()} == {"ann", "bob", "'=cid"} and not {*codes} & {*names.values()}
