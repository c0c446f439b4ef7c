"""Requirements of lessons beyond the package: if one is missing, lessons say so and judge
nothing."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from byoc_lab.backends.dnnl import native
from byoc_lab.errors import MissingDependencyError, UnknownNameError
from byoc_lab.lessons import available, check, exercise
from byoc_lab.lessons.exercises import Exercise, all_exercises
from byoc_lab.lessons.grading import notebooks
from byoc_lab.lessons.grading.course import Course
from byoc_lab.lessons.grading.submissions import Submission, grade
from byoc_lab.lessons.needs import NEEDS
from byoc_lab.lessons.verdict import NOT_HERE
from byoc_lab.run import tvm_runtime
from tests.lessons.grading.ways import BEST


@pytest.fixture
def nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulates a machine without a compiler, apache-tvm and the DNNL extension."""

    def missing() -> Any:
        raise MissingDependencyError("this needs apache-tvm")

    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setattr(native, "available", lambda: False)
    monkeypatch.setattr(tvm_runtime, "import_tvm", missing)


@pytest.mark.parametrize("need", NEEDS)
def test_cell_without_its_requirement_says_so(
    need: str, nothing: None, capsys: pytest.CaptureFixture[str]
) -> None:
    assert not available(need)
    assert capsys.readouterr().out.startswith(f"this needs {need}, which is missing here: ")


def test_cell_with_its_requirement_prints_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CC", "ccache gcc")
    assert available("a C compiler")
    assert not capsys.readouterr().out


def test_unknown_requirement_is_an_error() -> None:
    with pytest.raises(UnknownNameError, match="did you mean 'apache-tvm'"):
        available("apache_tvm")


NEEDING = [e for e in all_exercises() if e.needs]


def test_two_requirements_are_used_by_exercises() -> None:
    assert {e.needs for e in NEEDING} == {"a C compiler", "apache-tvm"}


@pytest.mark.parametrize("task", NEEDING, ids=lambda e: e.name)
def test_exercise_that_cannot_be_judged_is_neither_right_nor_wrong(
    task: Exercise, nothing: None
) -> None:
    for verdict in (
        check(task.name, lambda mod: mod),
        check(task.name, None),
        exercise(task.name).start(),
    ):
        assert not verdict.judged and not verdict.passed and not verdict.hints
        assert str(verdict).startswith(f"{NOT_HERE}\n- this needs {task.needs}, which is missing")
        assert NOT_HERE in verdict.to_html() and "not yet" not in verdict.to_html()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="grading needs fork")
def test_grading_reports_an_answer_that_cannot_be_judged(nothing: None, tmp_path: Path) -> None:
    name = "c-kernel"
    text = notebooks.dumps(notebooks.notebook(name))
    course = Course("c", 7, (name,))
    kept = tmp_path / "kept"
    given = [Submission("ada", {f"{name}.ipynb": text})]
    found = grade(given, course, workers=1, keep=kept, trust=BEST is None)
    (result,) = found["ada"]
    assert (result.status, result.points) == (NOT_HERE, 0)
    assert "which is missing here" in result.messages[0]
    assert not kept.exists()  # it may be judged on another machine
