"""Every notebook runs in a new kernel without an error, within the time limit."""

from __future__ import annotations

import re
import resource
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
SECONDS = 120  # seconds of processor time, over all threads


def test_each_notebook_is_linked_from_the_first() -> None:
    first, *others = NOTEBOOKS
    assert first.name == "00_start_here.ipynb"
    text = "".join(cell.source for cell in nbformat.read(first, as_version=4).cells)
    assert re.findall(r"\]\((\d\d_\w+\.ipynb)\)", text) == [p.name for p in others]


@pytest.mark.parametrize("path", NOTEBOOKS[1:], ids=lambda p: p.stem)
def test_notebook_states_its_minutes_goals_and_results(path: Path) -> None:
    cells = [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "markdown"]
    assert re.match(rf"# {path.name[:2]} \S.*\n\n\*\*About \d+ minutes\.\*\*", cells[0].source)
    assert "\nGoals:\n\n* " in cells[0].source
    assert "## What you know now\n\n* " in cells[-1].source
    text = "".join(cell.source for cell in cells)
    assert text.count("**Question") == text.count("<details><summary>Answer</summary>") >= 1


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_is_committed_without_outputs(path: Path) -> None:
    """No outputs and no execution counts, so that a diff shows only changes of the text."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.notebook
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_notebook_runs_without_an_error(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=10 * SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    client.execute()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)  # includes the kernel once it has ended
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < SECONDS
    shown = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
    assert any("application/vnd.jupyter.widget-view+json" in o.get("data", {}) for o in shown)
    assert not [o for o in shown if o.get("name") == "stderr"]
