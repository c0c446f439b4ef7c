"""Stored outputs of cells that cannot run in a browser, from a native run of their notebooks."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

NEEDS = re.compile(r"""\bavailable\("(a C compiler|apache-tvm)""")
"""How a cell asks for what it needs (byoc_lab.lessons.available); NumPy does what DNNL would."""
SECONDS = 300


def stored_outputs(folder: Path) -> dict[str, dict[str, Any]]:
    """The outputs of cells that need a compiler or TVM, by notebook and cell, in the worker's
    format. Raises CellExecutionError if a cell fails here, too."""
    paths = [p for p in sorted(folder.glob("*.ipynb")) if _needing(nbformat.read(p, as_version=4))]
    return {path.stem: _outputs(path) for path in paths}


def _needing(notebook: Any) -> list[Any]:
    return [c for c in notebook.cells if c.cell_type == "code" and NEEDS.search(c.source)]


def _outputs(path: Path) -> dict[str, Any]:
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(path.parent)}}
    client = NotebookClient(notebook, timeout=SECONDS, kernel_name="python3", resources=resources)
    client.execute()
    return {cell.id: [_message(o) for o in cell.outputs] for cell in _needing(notebook)}


def _message(output: Any) -> dict[str, Any]:
    """An output as a message of the worker; for a nested page, its text."""
    if output.output_type == "stream":
        return {"stream": output.name, "text": output.text}
    page = "<iframe" in output.data.get("text/html", "")
    kinds = [kind for kind in output.data if kind == "text/plain" or not page]
    return {"bundle": {kind: output.data[kind] for kind in kinds}}
