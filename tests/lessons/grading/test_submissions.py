"""Grading a class: grades, renamed and changed cells, executors, resuming after an interruption."""

from __future__ import annotations

import csv
import json
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from byoc_lab import relay
from byoc_lab.containment.limits import Limits
from byoc_lab.lessons.exercises import all_exercises, get
from byoc_lab.lessons.grading import submissions as grading
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.judging import graded
from byoc_lab.lessons.grading.replies import encode
from byoc_lab.lessons.solutions import solution
from byoc_lab.lessons.tools import module_of
from byoc_lab.relay import IRModule
from tests.lessons.grading.generated import right, with_code, write, write_class, wrong
from tests.lessons.grading.ways import BEST

NAMES = ("add-the-missing-begin", "annotate-diamond", "write-conv-bias-relu")
COURSE = Course("course", 1, NAMES, from_notebooks=True)
LIMITS = Limits(seconds=10)


def _grades(folder: Path, executor: Executor | None = None) -> dict[str, list[grading.Grade]]:
    found = grading.submissions_in(folder)
    if executor is None:
        executor = ThreadPoolExecutor(1)
    return grading.grade(
        found, COURSE, hidden=[folder], limits=LIMITS, executor=executor, trust=BEST is None
    )


@pytest.mark.slow
def test_answers_get_their_grades_in_a_stable_order(tmp_path: Path) -> None:
    folder = tmp_path / "in"
    for student in ("zoe", "ann"):
        for name in NAMES:
            write(folder / student, name, right(name))
    write(folder / "bob", NAMES[0], wrong(NAMES[0], "BYL001"))
    (folder / "bob" / f"{NAMES[1]}.ipynb").write_text("no notebook")
    grades = _grades(folder)
    assert list(grades) == ["ann", "bob", "zoe"]
    assert [g.points for g in grades["ann"]] == [10, 10, 10]
    first, second, third = grades["bob"]
    assert (first.status, first.mistake, first.points) == ("not yet", "BYL001", 0)
    assert "<svg" in first.html
    assert (second.status, second.graded) == ("not graded", False)
    assert "the file is not a notebook" in second.messages[0] and second.messages == second.notes
    assert third.messages == ("no notebook was handed in",)
    grading.write_grades(tmp_path / "grades.csv", grades, COURSE)
    rows = list(csv.reader((tmp_path / "grades.csv").open(encoding="utf-8")))
    assert rows[0] == ["student", *NAMES, "total", "notes"]
    assert [row[0] for row in rows[1:]] == ["ann", "bob", "zoe"] and rows[1][4] == "30"
    grading.write_feedback(tmp_path / "out", grades, COURSE)
    assert "30 of 30 points" in (tmp_path / "out" / "ann.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_two_submissions_of_one_student_are_graded_together_with_a_note(tmp_path: Path) -> None:
    write(tmp_path / "ann", NAMES[0], right(NAMES[0]))
    write(tmp_path, "ann", right(NAMES[1]))
    (ann,) = _grades(tmp_path).values()
    assert [(g.points, g.status) for g in ann] == [(10, "passed"), (10, "passed"), (0, "missing")]
    assert {g.notes[-1] for g in ann} == {"ann and ann.ipynb are of one student; all of them count"}


@pytest.mark.skipif(BEST is None, reason="this machine cannot contain a process")
def test_right_answers_in_a_clone_are_hidden(tmp_path: Path) -> None:
    folders = [str(folder) for folder in grading.secret()]
    assert {Path(folder).name for folder in folders} == {"solutions", ".git", "build", "tests"}
    text = (
        "import os\nanswer = 'edu.conv2d_bias_sqrt'\n"
        f"for folder in {folders}:\n"
        "    try:\n"
        "        assert not os.path.isdir(folder) or not os.listdir(folder)\n"
        "    except PermissionError:\n"
        "        pass\n"
    )
    write(tmp_path / "ann", "fix-the-name", with_code("fix-the-name", text))
    course = Course("c", 0, ("fix-the-name",), from_notebooks=True)
    found = grading.submissions_in(tmp_path)
    with ThreadPoolExecutor(1) as pool:
        ((grade,),) = grading.grade(found, course, limits=LIMITS, executor=pool).values()
    assert grade.points == 10 and "AssertionError" not in str(grade.messages), grade


def test_changed_cells_are_noted_and_do_not_change_points(tmp_path: Path) -> None:
    name = NAMES[0]
    tampered = with_code(name, "def answer(mod):\n    return mod")
    tampered["cells"][3]["source"] = "check = lambda *a, **k: True\ncheck(1)"
    tampered["cells"].insert(1, {"cell_type": "code", "metadata": {}, "source": TAMPER})
    write(tmp_path / "ann", name, tampered)
    renamed = right(name)
    renamed["cells"][2]["metadata"] = {}
    write(tmp_path / "bob", "my_copy", renamed)
    deleted = right(name)
    del deleted["cells"][2]
    write(tmp_path / "cid", name, deleted)
    grades = _grades(tmp_path)
    assert grades["ann"][0].points == 0 and grades["ann"][0].mistake == "BYL001"
    assert grades["ann"][0].notes == ("the cell 'check' was changed",)
    assert grades["bob"][0].points == 10
    assert grades["bob"][0].notes == (
        "the notebook was renamed to my_copy.ipynb",
        "the cell 'answer' was deleted or renamed",
    )
    assert grades["cid"][0].status == "no answer"
    assert "there is no variable `answer`" in grades["cid"][0].messages[0]


TAMPER = """\
from byoc_lab.lessons import structure, verdict
from byoc_lab.lessons.exercises import base
base.Exercise.check = lambda *args: verdict.Verdict(True)
base.ModuleExercise.judge = lambda *args: None
structure.first = lambda checks: None
"""


@pytest.mark.slow
def test_invalid_replies_are_graded_with_zero_points(tmp_path: Path) -> None:
    forged = "import os, json\nfor fd in range(3, 20):\n    try:\n        os.write(fd, b'%s')\n"
    forged += "    except OSError:\n        pass\nos._exit(0)\n"
    texts = [b'{"replies": [{"value": {"relay": "{}"}}]}', b'{"replies": 3}', b"[1]", b'{"replies"']
    texts.append(b"[" * 100_000)
    for n, text in enumerate(texts):
        write(tmp_path / f"s{n}", NAMES[0], with_code(NAMES[0], forged % text.decode()))
    grades = _grades(tmp_path)
    assert [g[0].points for g in grades.values()] == [0] * len(texts)
    assert all(g[0].messages for g in grades.values())


def test_reply_that_needs_gigabytes_gets_no_points() -> None:
    """Forged modules with the right composites, and with the sum of a huge tensor."""
    exercise = get(NAMES[2])

    def forged(mod: IRModule) -> IRModule:
        giant = relay.full(relay.const(1.0), shape=(50_000, 50_000), dtype="float32")
        main = mod["main"]
        return module_of(relay.add(main.body, relay.sum(giant)), main.params)

    found = exercise.respond(solution(NAMES[2]).answer, exercise.question(0))
    reply = json.dumps({"replies": [{"value": encode([forged(mod) for mod in found])}]})
    grade = graded(NAMES[2], [0], {"status": "ran", "reply": reply}, (), LIMITS)
    assert grade.points == 0 and "Unable to allocate" in str(grade.messages), grade


@pytest.mark.slow
def test_interrupted_grading_resumes_where_it_stopped(tmp_path: Path) -> None:
    folder, keep = tmp_path / "in", tmp_path / "kept"
    for student in ("ann", "bob"):
        write(folder / student, NAMES[0], right(NAMES[0]))
    found = grading.submissions_in(folder)

    class Stopped(ThreadPoolExecutor):
        def submit(self, fn, submission, *args):  # type: ignore[no-untyped-def, override]
            if submission.student == "bob":
                raise KeyboardInterrupt
            return super().submit(fn, submission, *args)

    with Stopped(1) as pool:
        grading.grade(found[:1], COURSE, executor=pool, keep=keep)
        with pytest.raises(KeyboardInterrupt):
            grading.grade(found, COURSE, executor=pool, keep=keep)
    seen = []
    with ThreadPoolExecutor(1) as pool:
        grading.grade(found, COURSE, executor=pool, keep=keep, progress=lambda *a: seen.append(a))
        assert seen == [(1, 2, "ann"), (2, 2, "bob")]
        (keep / "ann.json").write_text("cut of")
        write(folder / "bob", NAMES[0], wrong(NAMES[0], "BYL001"))
        again = grading.grade(grading.submissions_in(folder), COURSE, executor=pool, keep=keep)
    assert [g[0].points for g in again.values()] == [10, 0]
    assert json.loads((keep / "ann.json").read_text(encoding="utf-8"))["grades"]


@pytest.mark.slow
def test_process_pool_and_dask_cluster_give_the_same_grades(
    tmp_path: Path, dask_client: Any
) -> None:
    write_class(tmp_path, NAMES, 5)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        of_pool = _grades(tmp_path, pool)
    of_dask = _grades(tmp_path, dask_client.get_executor())
    assert of_pool == of_dask and list(of_dask) == sorted(of_dask)


@pytest.mark.slow
def test_generated_class_gets_the_expected_grades(tmp_path: Path) -> None:
    """Right, wrong in every known way, and hostile: each exercise gets the expected mistake."""
    names = tuple(e.name for e in all_exercises())
    expected = write_class(tmp_path, names, 15)
    course = Course("course", 2, names)
    found = grading.submissions_in(tmp_path)
    grades = grading.grade(
        found, course, hidden=[tmp_path], limits=LIMITS, workers=2, trust=BEST is None
    )
    assert {s: {g.exercise: g.mistake for g in gs} for s, gs in grades.items()} == expected
