"""Tutorials: the notebooks, run, as Markdown with their displays as pages that need no kernel."""

from __future__ import annotations

import html
import re
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import nbformat
from nbclient import NotebookClient

SECONDS = 300
PROCESSES = 2
FRAME = re.compile(r'<iframe [^>]*?srcdoc="([^"]*)"[^>]*?style="([^"]*)"></iframe>')
WHOLE_WIDTH = "---\nhide: [toc]\n---"
"""Steppers get the room of the table of contents, see docs/assets/site.css."""
ANSI = re.compile(r"\x1b\[[0-9;]*m")


def write(notebooks: Path, folder: Path) -> list[tuple[str, str]]:
    """Write a page for each notebook; returns (title, page) in order."""
    folder.mkdir(parents=True, exist_ok=True)
    paths = sorted(notebooks.glob("*.ipynb"))
    with ProcessPoolExecutor(PROCESSES) as pool:
        return list(pool.map(_page, paths, [folder] * len(paths)))


def _page(path: Path, folder: Path) -> tuple[str, str]:
    """Run one notebook and write its page and the pages of its displays."""
    notebook = nbformat.read(path, as_version=4)
    resources = {"metadata": {"path": str(folder)}}
    client = NotebookClient(
        notebook,
        timeout=SECONDS,
        startup_timeout=SECONDS,
        kernel_name="python3",
        resources=resources,
    )
    client.execute()
    parts = []
    for n, cell in enumerate(notebook.cells):
        if cell.cell_type == "markdown":
            parts.append(_links(cell.source))
        else:
            parts.append(f"```python\n{cell.source}\n```")
            parts += [_output(o, folder, f"{path.stem}-{n}") for o in cell.outputs]
    text = "\n\n".join(part for part in (WHOLE_WIDTH, *parts) if part)
    (folder / f"{path.stem}.md").write_text(text + "\n", encoding="utf-8")
    title = re.search(r"^# (.*)$", notebook.cells[0].source, re.M)
    assert title is not None, f"{path.name} begins without a title"
    return title.group(1), f"{path.stem}.md"


def _links(text: str) -> str:
    """Converts links of a notebook to links between pages."""
    text = re.sub(r"\]\(\.\./docs/", "](../", text)
    text = text.replace("<details>", '<details markdown="1">')
    text = re.sub(r"^> ?", "", text, flags=re.M) if "<details" in text else text
    return re.sub(r"\]\(((?:exercises/)?[\w-]+)\.ipynb\)", r"](\1.md)", text)


def _output(output: Any, folder: Path, name: str) -> str:
    if output.output_type == "stream":
        return _fenced(output.text)
    data = output.get("data", {})
    if "application/vnd.jupyter.widget-view+json" in data:
        return ""  # the page of a widget is a separate output
    frame = FRAME.search(data.get("text/html", ""))
    if frame is not None:
        pages = folder / "displays"
        pages.mkdir(exist_ok=True)
        (pages / f"{name}.html").write_text(html.unescape(frame.group(1)), encoding="utf-8")
        page = f"displays/{name}.html"
        return (
            f'<iframe sandbox="allow-scripts" src="{page}" loading="lazy" '
            f'title="display of {name}" style="{frame.group(2)}"></iframe>\n'
            f'<a class="own-page" href="{page}" target="_blank">Open on a page of its own</a>'
        )
    if "text/html" in data:
        return f"<div>{data['text/html']}</div>"
    return _fenced(data.get("text/plain", ""))


def _fenced(text: str) -> str:
    plain = ANSI.sub("", text).strip("\n")
    return f"````text\n{plain}\n````" if plain.strip() else ""
