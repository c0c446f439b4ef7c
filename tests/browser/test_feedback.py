"""The feedback page for a student, in a browser."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from byoc_lab.containment.limits import Limits
from byoc_lab.lessons.grading import submissions as grading
from byoc_lab.lessons.grading.course import Course
from tests.lessons.grading.generated import HOSTILE, right, with_code, write, wrong

from .test_access import violations
from .widget_page import NewPage

pytestmark = [pytest.mark.browser, pytest.mark.linux]
NAMES = ("add-the-missing-begin", "annotate-diamond", "write-conv-bias-relu", "fix-the-name")


def test_feedback_shows_each_answer_with_its_picture_and_hints(
    tmp_path: Path, new_page: NewPage
) -> None:
    course, folder = Course("byoc", 1, NAMES), tmp_path / "in"
    write(folder / "ann", NAMES[0], wrong(NAMES[0], "BYL001"))
    write(folder / "ann", NAMES[1], right(NAMES[1]))
    write(folder / "ann", NAMES[2], with_code(NAMES[2], HOSTILE["timed out"]))
    with ThreadPoolExecutor(1) as pool:
        limits = Limits(seconds=2)
        found = grading.submissions_in(folder)
        grades = grading.grade(found, course, hidden=[folder], limits=limits, executor=pool)
    grading.write_feedback(tmp_path / "out", grades, course)
    page = new_page(viewport={"width": 900, "height": 1100})
    page.goto((tmp_path / "out" / "ann.html").as_uri())
    assert page.locator("h1").inner_text() == "ann"
    results = page.locator("tr td:nth-child(2)").all_inner_texts()
    assert results == ["not yet", "passed", "timed out", "missing"]
    assert page.locator("svg").first.is_visible()
    page.get_by_text("Hint 1").click()
    assert page.get_by_text("it names the call and the argument").is_visible()
    assert page.get_by_text("timed out; it may use 2 seconds of processor time").is_visible()
    assert violations(page, []) == []
    if folder_of_pictures := os.environ.get("BYOC_LAB_SCREENSHOTS"):
        page.screenshot(path=Path(folder_of_pictures) / "feedback.png", full_page=True)
