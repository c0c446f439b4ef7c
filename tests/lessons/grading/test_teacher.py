"""The teacher's workflow with the commands of the guide: prepare, distribute, collect, grade,
read."""

from __future__ import annotations

import csv
import json
import re
import shutil
import subprocess
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import pytest

from byoc_lab.cli import main
from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.lessons.grading.course import STUDENTS
from tests.lessons.grading.generated import HOSTILE, write_class

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "teaching.md").read_text(encoding="utf-8")


def test_guide_names_exactly_the_existing_exercises() -> None:
    syllabuses = GUIDE.partition("## Three syllabuses")[2].partition("\n## ")[0]
    tables = re.findall(r"^\|.*\|$", syllabuses, re.M)
    assert len(tables) > 15
    named = set(re.findall(r"`([a-z0-9-]+)`", "\n".join(tables)))
    known = {e.name for e in all_exercises()}
    assert named <= known
    weeks = GUIDE.partition("### A part of a semester")[2]
    assert known - set(re.findall(r"`([a-z0-9-]+)`", weeks)) == {
        "add-the-missing-begin", "add-the-missing-end", "annotate-diamond",
        "predict-the-functions",
    }, "the first four"  # fmt: skip


def test_files_that_the_image_copies_and_installs_exist() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    for source in re.findall(r"^COPY (?:--\S+ )*(\S+) \S+$", text, re.M):
        assert source.startswith("/") or (ROOT / source).exists(), source
    assert "BYOC_LAB_THREADS" in text
    start = ROOT / "binder" / "start"
    assert start.stat().st_mode & 0o111
    done = subprocess.run(
        [str(start), "sh", "-c", "echo $BYOC_LAB_THREADS"], capture_output=True, text=True
    )
    assert done.stdout.strip() == "1"


@pytest.mark.slow
@pytest.mark.linux
def test_class_is_prepared_and_graded(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [e.name for e in all_exercises()][:10]
    students = [f"student{n:02}" for n in range(20)]
    (tmp_path / "names.txt").write_text("\n".join(students))
    course, folder = tmp_path / "byoc", tmp_path / "submissions"
    options = ["--exercises", ",".join(names), "--seed", "1"]
    options += ["--students", str(tmp_path / "names.txt")]
    assert main(["course", "new", str(course), *options]) == 0
    shutil.copytree(course / STUDENTS, folder)
    handed_out = json.loads((folder / students[0] / f"{names[0]}.ipynb").read_text())
    assert "answer" in "".join(handed_out["cells"][2]["source"])
    expected = write_class(folder, names, len(students))
    table, pages = tmp_path / "grades.csv", tmp_path / "feedback"
    grading = ["grade", str(folder), "--course", str(course), "-o", str(table)]
    grading += ["--feedback", str(pages), "--workers", "2", "--seconds", "15"]
    assert main(grading) == 0
    rows = {row["student"]: row for row in csv.DictReader(table.open(encoding="utf-8"))}
    assert list(rows) == students
    for student, told in expected.items():
        points = {name: int(rows[student][name]) for name in names}
        assert points == {name: 0 if mistake else 10 for name, mistake in told.items()}, student
        for name, mistake in told.items():
            if mistake in HOSTILE and int(student[-2:]) % 5 == 4:
                assert f"{name}: {mistake}" in rows[student]["notes"]
    before = table.read_bytes()
    monkeypatch.setattr(ProcessPoolExecutor, "submit", None)  # all files are kept
    assert main(grading) == 0
    assert table.read_bytes() == before
    assert "20 submissions" in capsys.readouterr().out
    assert {page.stem for page in pages.iterdir()} == set(students)
