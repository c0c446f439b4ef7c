"""A student with a fresh copy of the notebooks: reads, runs, tries the exercises."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from byoc_lab.lessons.exercises import all_exercises

from .jupyterlab import JupyterLab, write_notebook

pytestmark = [pytest.mark.browser, pytest.mark.slow]

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
WALKED = ("01_one_region", "03_annotating_by_hand", "05_patterns_order_names")
# With BYOC_LAB_SCREENSHOTS=folder, the walk leaves its pictures there, to be looked at.
PICTURES = os.environ.get("BYOC_LAB_SCREENSHOTS")


def picture(page: Any, tmp_path: Path, name: str) -> None:
    folder = Path(PICTURES) if PICTURES else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    page.screenshot(path=folder / f"student_{name}.png")
    assert (folder / f"student_{name}.png").stat().st_size > 10_000


@pytest.mark.parametrize("name", WALKED)
def test_a_notebook_runs_from_top_to_bottom(
    new_page: Callable[..., Any], jupyterlab: JupyterLab, tmp_path: Path, name: str
) -> None:
    shutil.copy(NOTEBOOKS / f"{name}.ipynb", jupyterlab.root)
    page = new_page(viewport={"width": 1500, "height": 1000})
    jupyterlab.open(page, f"{name}.ipynb")
    jupyterlab.run_all(page)
    assert "Traceback" not in page.locator(".jp-Notebook").inner_text()
    page.locator(".jp-Notebook .jp-OutputArea-output").last.scroll_into_view_if_needed()
    picture(page, tmp_path, name)


def test_every_exercise_can_be_opened_and_an_unchanged_stub_is_no_answer(
    new_page: Callable[..., Any], jupyterlab: JupyterLab, tmp_path: Path
) -> None:
    cells = ["import byoc_lab\nfrom byoc_lab.lessons import cases, exercises"]
    cells += [f"print(exercises.get({e.name!r}).statement)" for e in all_exercises()]
    write_notebook(jupyterlab.root / "walk.ipynb", *cells, "cases")
    page = new_page(viewport={"width": 1500, "height": 1000})
    jupyterlab.open(page, "walk.ipynb")
    jupyterlab.run_all(page)
    assert "Traceback" not in page.locator(".jp-Notebook").inner_text()
    asked = "e = exercises.get('add-the-missing-begin'); print(bool(e.check(e.question())))"
    assert jupyterlab.ask(page, asked).splitlines()[-1] == "False"
    frame = page.frame_locator(".jp-OutputArea iframe").last
    frame.locator("#find").fill("tuple")
    shown = frame.locator("#count").inner_text()
    assert shown.endswith(" cases") and not shown.startswith("0 ")
    picture(page, tmp_path, "museum")
