"""Exercises in the page: progress, handing in, and the same results as native Python."""

from __future__ import annotations

import ast
import csv
import json
import re
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from byoc_lab.lessons.exercises import all_exercises, get
from byoc_lab.lessons.solutions import solution, source, wrong_source
from tests.lessons.grading.running import Grader

from .conftest import Tab
from .laboratory import Laboratory
from .mutants import mutants

pytestmark = pytest.mark.browser

JUDGED = [exercise.name for exercise in all_exercises() if exercise.needs == ""]
QUICK = ("fix-the-name", "add-the-missing-begin")
MUTANTS = 16
"""Changed solutions of each exercise; some have fewer."""
SEEDS = 5
WORDED = ("AttributeError", "IndexError", "KeyError", "NameError", "TypeError", "ValueError")


def verdicts(name: str, count: int) -> str:
    """Code that prints, as JSON, the results for the solution with each seed, for the known
    wrong answers, and for `count` mutants of the solution."""
    judged = [(source(name), seed) for seed in range(SEEDS)]
    judged += [(wrong_source(name, key), 0) for key in solution(name).WRONG]
    judged += [(text, number % SEEDS) for number, text in enumerate(mutants(name, count))]
    return f"""
import json
from byoc_lab.lessons import check

found = []
for text, seed in {judged!r}:
    names = {{}}
    try:
        exec(text, names)
    except Exception as error:
        found.append(type(error).__name__)
        continue
    verdict = check({name!r}, names["answer"], seed)
    found.append([verdict.passed, verdict.mistake, verdict.messages, verdict.hints])
print(json.dumps(found))
"""


def test_mutants_are_many_and_differ_from_the_solution() -> None:
    found = {name: mutants(name, MUTANTS) for name in JUDGED}
    assert sum(map(len, found.values())) >= 200
    assert all(len(set(texts)) == len(texts) for texts in found.values())
    assert not any(ast.unparse(ast.parse(source(name))) in found[name] for name in JUDGED)


def in_page(lab: Laboratory, code: str) -> list[Any]:
    """The JSON that code prints in the page, decoded."""
    lab.open("00_start_here")
    cell = lab.page.locator("article:visible .cell").first
    lab.write(cell, code)
    lab.run(cell)
    lab.settle()
    expect(cell).to_have_attribute("data-state", "done")
    found: list[Any] = json.loads(cell.locator(".stdout").inner_text())
    return found


def natively(code: str, capsys: pytest.CaptureFixture[str]) -> list[Any]:
    exec(code, {})
    found: list[Any] = json.loads(capsys.readouterr().out)
    return found


def without_words(found: Any) -> str:
    """Results without Python's own error texts, which differ between versions, and without
    object addresses."""
    said = rf"\b({'|'.join(WORDED)}): [^\"\\]*| at 0x[0-9a-f]+"
    return re.sub(said, r"\1", json.dumps(found, indent=1))


@pytest.mark.parametrize(
    "name", [n if n in QUICK else pytest.param(n, marks=pytest.mark.slow) for n in JUDGED]
)
def test_page_and_native_python_give_equal_results(
    lab: Laboratory, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    code = verdicts(name, MUTANTS if lab.is_chromium else 0)
    found = in_page(lab, code)
    assert without_words(found) == without_words(natively(code, capsys))
    known = len(solution(name).WRONG)
    passed = [verdict[0] for verdict in found[: SEEDS + known]]
    assert passed == [True] * SEEDS + [False] * known


def answer(lab: Laboratory, name: str, text: str) -> None:
    lab.open(name)
    lab.write(lab.page.locator(f'[data-cell="{name}-answer"]'), text)
    judged = lab.page.locator(f'[data-cell="{name}-check"]')
    lab.run(judged, "Run the cells above and this one")
    lab.settle()
    expect(judged).to_have_attribute("data-state", "done")


def test_passed_exercise_is_counted_and_graded_from_the_submitted_file(
    lab: Laboratory, tmp_path: Path
) -> None:
    counted = lab.page.locator("#group-exercises .small")
    answer(
        lab,
        "annotate-diamond",
        wrong_source("annotate-diamond", *list(solution("annotate-diamond").WRONG)[:1]),
    )
    expect(counted).to_have_text(f"0 of {len(all_exercises())} passed in this browser")
    judged = lab.page.locator('[data-cell="annotate-diamond-check"]')
    expect(judged.locator(".shown > b")).to_have_text("not yet")
    expect(judged.locator(".byl[data-ready] .byl-box.byl-op")).to_have_count(4)
    answer(lab, "fix-the-name", source("fix-the-name"))
    expect(counted).to_have_text(f"1 of {len(all_exercises())} passed in this browser")
    expect(lab.page.locator("nav .passed")).to_have_text(get("fix-the-name").title)
    handed_in = tmp_path / "in"
    handed_in.mkdir()
    path = handed_in / "ann.zip"
    shutil.copyfile(lab.saved("Hand in"), path)
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None
        assert archive.namelist() == ["annotate-diamond.ipynb", "fix-the-name.ipynb"]
    grader = Grader(tmp_path)
    _, told = grader.process.communicate()
    assert grader.process.returncode == 0, told
    with grader.table.open(encoding="utf-8") as table:
        (row,) = csv.DictReader(table)
    assert (row["student"], row["fix-the-name"]) == ("ann", "10")
    assert 0 <= float(row["annotate-diamond"]) < 10


def test_answer_is_submitted_after_a_reload(tab: Tab) -> None:
    lab = tab()
    lab.show("write-a-predicate")
    lab.write(lab.page.locator('[data-cell="write-a-predicate-answer"]'), "answer = 1")
    lab.show("playground")
    lab.page.reload()
    with zipfile.ZipFile(lab.saved("Hand in")) as archive:
        (name,) = archive.namelist()
        assert "answer = 1" in archive.read(name).decode()
