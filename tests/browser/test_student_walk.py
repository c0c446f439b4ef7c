"""A student with a fresh copy: from the README through every notebook and exercise.

In each exercise the student first runs the given code, then makes a typical mistake and reads its
hint, then gives the right answer. With BYOC_LAB_SCREENSHOTS=folder, the pictures are kept there.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from byoc_lab.lessons.exercises import Exercise, all_exercises
from byoc_lab.lessons.solutions import solution, source, wrong_source

from .jupyterlab import JupyterLab, write_notebook
from .widget_page import drawn

pytestmark = [pytest.mark.browser, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted(path.stem for path in (ROOT / "notebooks").glob("*.ipynb"))
FOLDER = "clone/notebooks"
PICTURES = os.environ.get("BYOC_LAB_SCREENSHOTS")
WINDOW: dict[str, Any] = {
    "viewport": {"width": 1500, "height": 1000},
    "reduced_motion": "reduce",  # pictures after animations have ended
}
# The code cells of an exercise's notebook, in order.
ANSWER, CHECK = 1, 2

Open = Callable[[str], Any]


@pytest.fixture(scope="module")
def clone(jupyterlab: JupyterLab) -> Path:
    """The files that a student reads and opens, below the root of the server."""
    folder = jupyterlab.root / "clone"
    folder.mkdir()
    shutil.copy(ROOT / "README.md", folder)
    for name in ("docs", "notebooks"):
        ignored = shutil.ignore_patterns(".ipynb_checkpoints", "*.html")
        shutil.copytree(ROOT / name, folder / name, ignore=ignored)
    return folder


@pytest.fixture
def opened(new_page: Callable[..., Any], jupyterlab: JupyterLab, clone: Path) -> Iterator[Open]:
    """Opens a notebook of the copy; its kernel stops with the test."""
    pages: list[Any] = []

    def open_one(path: str) -> Any:
        pages.append(new_page(**WINDOW))
        jupyterlab.open(pages[-1], f"{FOLDER}/{path}")
        return pages[-1]

    yield open_one
    for page in pages:
        jupyterlab.shut_down(page)


def picture(page: Any, tmp_path: Path, name: str) -> None:
    folder = Path(PICTURES) if PICTURES else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"student_{name}.png"
    page.screenshot(path=path)
    assert path.stat().st_size > 10_000


def test_readme_links_to_an_exercise(opened: Open, clone: Path, tmp_path: Path) -> None:
    (first,) = set(re.findall(r"notebooks/(\w+\.ipynb)", (clone / "README.md").read_text()))
    page = opened(first)
    for words in ("03 Annotating by hand", "Add the missing begin"):
        link = page.locator(".jp-Notebook:visible a", has_text=words).first
        link.scroll_into_view_if_needed()
        link.click()
        page.locator(".jp-Notebook:visible h1", has_text=words).wait_for()
    picture(page, tmp_path, "links")


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_notebook_runs_from_top_to_bottom(
    opened: Open, jupyterlab: JupyterLab, tmp_path: Path, name: str
) -> None:
    page = opened(f"{name}.ipynb")
    jupyterlab.run_all(page)
    # A stepper is one output and its saved page another, hidden while the stepper is live.
    last = page.locator(".byl").nth(page.locator(".byl-saved").count() - 1)
    last.scroll_into_view_if_needed()
    last.locator(".byl-box").first.wait_for()
    drawn(last)
    picture(page, tmp_path, name)


@pytest.mark.parametrize("exercise", all_exercises(), ids=lambda e: e.name)
def test_exercise_rejects_a_mistake_with_its_hint_and_accepts_the_answer(
    opened: Open, jupyterlab: JupyterLab, tmp_path: Path, exercise: Exercise
) -> None:
    name = exercise.name
    page = opened(f"exercises/{name}.ipynb")
    verdict = page.locator(".jp-CodeCell").nth(CHECK).locator(".jp-OutputArea-output").last

    def attempt(text: str | None, label: str) -> str:
        """Runs the notebook with this answer; returns the key of the shown mistake."""
        if text is not None:
            page.locator(".jp-CodeCell").nth(ANSWER).locator(".cm-content").click()
            page.keyboard.press("Control+a")
            page.keyboard.insert_text(text)
        jupyterlab.run_all(page)
        told = jupyterlab.ask(page, "print(verdict.head, verdict.mistake, sep='|')")
        head, key = told.strip().split("|")
        hint = exercise.mistakes[key] if key else ""
        shown = verdict.filter(has_text=head).filter(has_text=hint)
        shown.get_by_text(head, exact=True).click()  # waits until the verdict has stopped moving
        assert shown.inner_text().startswith(head)
        if hint:
            assert hint not in shown.inner_text(), "a hint is shown when it is asked for"
            shown.get_by_text("Hint 1").click()
            shown.get_by_text(hint).wait_for(state="visible")
        picture(page, tmp_path, f"{name}_{label}")
        return key

    first = attempt(None, "1_stub")
    assert first, "the stub is not an answer"
    typical = next(key for key in solution(name).WRONG if key != first)
    assert attempt(wrong_source(name, typical), "2_wrong") == typical
    assert attempt(source(name), "3_right") == ""


def test_table_of_case_studies_is_searched(
    new_page: Callable[..., Any], jupyterlab: JupyterLab, tmp_path: Path
) -> None:
    write_notebook(jupyterlab.root / "walk.ipynb", "from byoc_lab.lessons import cases\ncases")
    page = new_page(**WINDOW)
    jupyterlab.open(page, "walk.ipynb")
    jupyterlab.run_all(page)
    frame = page.frame_locator(".jp-OutputArea iframe").last
    frame.locator("#find").fill("tuple")
    shown = frame.locator("#count").inner_text()
    assert shown.endswith(" cases") and not shown.startswith("0 ")
    picture(page, tmp_path, "cases")
    jupyterlab.shut_down(page)
