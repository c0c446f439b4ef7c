"""nbgrader releases a course's notebooks, collects answers and grades them."""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from byoc_lab.lessons.grading.course import NBGRADER, new_course
from byoc_lab.lessons.solutions import source, wrong_source

NBGRADER_SPEC = find_spec("nbgrader")  # its import takes half a second
if NBGRADER_SPEC is None or NBGRADER_SPEC.origin is None:
    pytest.skip("nbgrader is not installed", allow_module_level=True)
# nbgrader starts `alembic`, which is installed beside it.
SCRIPTS = [str(Path(NBGRADER_SPEC.origin).parents[4] / "bin"), str(Path(sys.executable).parent)]
NAMES = ("add-the-missing-begin", "annotate-diamond")


def _nbgrader(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "nbgrader", *arguments],
        cwd=folder, capture_output=True, text=True, timeout=900,
        env={
            **os.environ,
            "JUPYTER_PATH": str(Path(SCRIPTS[0]).parent / "share" / "jupyter"),
            "PATH": os.pathsep.join([*SCRIPTS, os.environ["PATH"]]),
            "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
        },
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def _answer(path: Path, text: str) -> None:
    data = json.loads(path.read_text(encoding="utf-8"))
    (cell,) = (c for c in data["cells"] if c["metadata"].get("nbgrader", {}).get("solution"))
    cell["source"] = text
    path.write_text(json.dumps(data), encoding="utf-8")


@pytest.mark.slow
def test_course_is_released_collected_and_graded_by_nbgrader(tmp_path: Path) -> None:
    new_course(tmp_path / "course", NAMES, seed=1, name="byoc")
    folder, exchange = tmp_path / "course" / NBGRADER, tmp_path / "exchange"
    exchange.mkdir()
    exchange.chmod(0o777)
    shared = ["--course=byoc", f"--Exchange.root={exchange}"]
    _nbgrader(folder, "generate_assignment", "byoc", "--create")
    _nbgrader(folder, "release_assignment", "byoc", *shared)
    students = {"ann": (source, source), "bob": (source, None)}
    for student, answers in students.items():
        home = tmp_path / student
        home.mkdir()
        _nbgrader(home, "fetch_assignment", "byoc", *shared)
        for name, given in zip(NAMES, answers, strict=True):
            path = home / "byoc" / f"{name}.ipynb"
            text = path.read_text(encoding="utf-8")
            assert "BEGIN SOLUTION" not in text and "def answer(mod)" in text
            assert source(name).strip().splitlines()[-4] not in text
            _answer(path, given(name) if given else wrong_source(name, "no-region"))
        _nbgrader(home, "submit", "byoc", *shared)
        # nbgrader names a submission after the submitting account, here the same for all
        # students.
        inbound = exchange / "byoc" / "inbound"
        (mine,) = (p for p in inbound.iterdir() if p.name.partition("+")[0] not in students)
        mine.rename(inbound / "+".join([student, *mine.name.split("+")[1:]]))
    _nbgrader(folder, "collect", "byoc", *shared)
    assert {path.name for path in (folder / "submitted").iterdir()} == set(students)
    _nbgrader(folder, "autograde", "byoc")
    _nbgrader(folder, "export")
    rows = {row["student_id"]: row for row in csv.DictReader((folder / "grades.csv").open())}
    assert {name: float(row["score"]) for name, row in rows.items()} == {"ann": 20, "bob": 10}
    _nbgrader(folder, "generate_feedback", "byoc")
    page = folder / "feedback" / "bob" / "byoc" / "annotate-diamond.html"
    assert "Nothing is annotated yet" in page.read_text(encoding="utf-8")
