"""Every notebook runs from a clean kernel without an error, within the time limit."""

from __future__ import annotations

import time
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))
SECONDS = 120


def test_there_are_notebooks() -> None:
    assert [p.name for p in NOTEBOOKS][:1] == ["00_start_here.ipynb"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_is_committed_clean(path: Path) -> None:
    """No outputs and no counts, so that a change of a notebook is a change of its text."""
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert cell.outputs == []
            assert cell.execution_count is None


@pytest.mark.notebook
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        kernel_name="python3",
        resources={"metadata": {"path": str(tmp_path)}},
    )
    started = time.monotonic()
    client.execute()
    assert time.monotonic() - started < SECONDS
    shown = [o for c in notebook.cells if c.cell_type == "code" for o in c.outputs]
    assert any("application/vnd.jupyter.widget-view+json" in o.get("data", {}) for o in shown)
    assert not [o for o in shown if o.get("name") == "stderr"]
