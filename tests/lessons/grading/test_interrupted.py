"""An interrupted grader, and killed workers: graded submissions stay, others are graded again,
and no processes or files remain."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from byoc_lab.cli import INCONCLUSIVE, INTERRUPTED
from byoc_lab.containment.family import below
from tests.containment.test_family import wait_for_end
from tests.lessons.grading.generated import right, with_code, write
from tests.lessons.grading.running import FOR_EVER, WAIT, Grader

pytestmark = pytest.mark.linux
NAME = "annotate-diamond"


def test_interrupted_grader_leaves_only_its_table(tmp_path: Path) -> None:
    write(tmp_path / "in" / "ann", NAME, right(NAME))
    write(tmp_path / "in" / "bob", NAME, with_code(NAME, FOR_EVER))
    grader = Grader(tmp_path)
    assert grader.process.stderr is not None
    assert grader.process.stderr.readline() == "1/2 ann\n"
    grader.sandbox(set())
    started = below(grader.process.pid)
    os.killpg(grader.process.pid, signal.SIGINT)  # as a terminal does
    _, told = grader.process.communicate(timeout=WAIT)
    assert grader.process.returncode == INTERRUPTED and told == "byoc-lab: interrupted\n"
    assert all(wait_for_end(each) for each in started)
    assert [row[:2] for row in grader.rows()] == [["ann", "10"], ["bob", ""]]
    assert grader.left() == []


def test_submission_of_a_killed_worker_is_graded_again(tmp_path: Path) -> None:
    write(tmp_path / "in" / "ann", NAME, right(NAME))
    grader = Grader(tmp_path)
    os.kill(grader.sandbox(set()), signal.SIGKILL)
    _, told = grader.process.communicate(timeout=WAIT)
    assert grader.process.returncode == 0, told
    assert [row[:2] for row in grader.rows()] == [["ann", "10"]]
    assert grader.left() == []


@pytest.mark.slow
def test_submission_whose_worker_is_always_killed_has_an_empty_cell(tmp_path: Path) -> None:
    write(tmp_path / "in" / "bob", NAME, with_code(NAME, FOR_EVER))
    grader, killed = Grader(tmp_path), set[int]()
    for _ in range(3):
        worker = grader.sandbox(killed)
        os.kill(worker, signal.SIGKILL)
        killed.add(worker)
    _, told = grader.process.communicate(timeout=WAIT)
    assert grader.process.returncode == INCONCLUSIVE
    assert "1 answers could not be graded" in told
    ((student, points, total, note),) = grader.rows()
    assert (student, points, total) == ("bob", "", "") and "its worker was lost 3 times" in note
    assert grader.left() == []
