"""Notebooks of exercises: for students, for instructors (with the solution), and for nbgrader (with
its metadata)."""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Mapping
from pathlib import PurePosixPath
from typing import Any

from byoc_lab.errors import ByocLabError
from byoc_lab.lessons.exercises import all_exercises, get

Notebook = dict[str, Any]
POINTS = 10
PARTS = ("statement", "task", "answer", "check")
KERNEL = {"display_name": "Python 3", "language": "python", "name": "python3"}
CHECK = "from byoc_lab.lessons import check"
ANEW = """\
import sys

for _loaded in [each for each in sys.modules if each.startswith("byoc_lab.lessons")]:
    del sys.modules[_loaded]  # `check` is imported anew: an earlier cell may have replaced it
"""
"""The beginning of the check cell for nbgrader; its verdict gives the points."""
HIDDEN = "`check` also runs a function on variants of the task that you do not see."
MAX_ANSWER = 20_000  # maximum of characters that are kept of an answer
HINT = re.compile(r"\.hint\(\s*(?:step\s*=\s*)?([1-3]?)\s*\)")
CALL = re.compile(
    r"""\b(?:exercise|check)\(\s*["']([\w-]+)["'](?:[^)]{0,99}?\bseed\s*=\s*(\d{1,9}))?"""
)
SOLUTION = ("### BEGIN SOLUTION", "### END SOLUTION")


class SolutionsError(ByocLabError):
    """The solutions of the exercises are not installed."""


class NotebookError(ByocLabError, ValueError):
    """A file is not a notebook, or its cells cannot be read."""


def notebook(
    name: str, seed: int = 0, answer: str | None = None, nbgrader: bool = False
) -> Notebook:
    """The notebook of an exercise in the variant of a seed, as JSON.

    answer: the text of the answer cell; None for the stub. nbgrader: whether to add the metadata
    with which nbgrader releases and grades it.

    Raises UnknownNameError if no exercise has this name.
    """
    exercise = get(name)
    stub = exercise.stub_of(seed).strip()
    needed = f" It needs {exercise.needs}." if exercise.needs else ""
    given = "" if not seed else f", seed={seed}"
    texts = {
        "statement": f"# {exercise.title}\n\n**About {exercise.minutes} minutes.**{needed} {HIDDEN}"
        f"\n\n{exercise.statement_of(seed).strip()}",
        "task": f"from byoc_lab.lessons import exercise\n\n"
        f'task = exercise("{name}"{given})\n{exercise.shown}',
        "answer": stub if answer is None else answer.strip(),
        # Imports `check` again: an earlier cell may have redefined the name.
        "check": f'{CHECK}\n\nverdict = check("{name}", answer{given})\nverdict',
    }
    if nbgrader:
        texts["check"] = f"{ANEW}{texts['check']}\nassert verdict, str(verdict)"
    cells = []
    for part, text in texts.items():
        metadata: dict[str, Any] = {"byoc_lab": {"cell": part}}
        if nbgrader and part in ("answer", "check"):
            metadata["nbgrader"] = _nbgrader(name, part)
        cell: dict[str, Any] = {
            "cell_type": "markdown" if part == "statement" else "code",
            "id": f"{name}-{part}"[-64:],
            "metadata": metadata,
            "source": text.splitlines(keepends=True),
        }
        if part != "statement":
            cell |= {"execution_count": None, "outputs": []}
        cells.append(cell)
    return {
        "cells": cells,
        "metadata": {"byoc_lab": {"exercise": name, "seed": seed}, "kernelspec": KERNEL},
        "nbformat": 4,
        "nbformat_minor": 5,
    }


def with_solution(name: str, seed: int = 0, nbgrader: bool = False) -> Notebook:
    """The instructor's copy. For nbgrader, the solution is between markers, and nbgrader removes
    it.

    Raises SolutionsError if the solutions are not installed.
    """
    try:
        from byoc_lab.lessons.solutions import source
    except ImportError as error:
        raise SolutionsError(
            "the solutions are not installed: wheels, which students install, leave them out. "
            "Run `python -m byoc_lab.cli course new FOLDER` in a clone of the repository"
        ) from error
    text = source(name).strip()
    if nbgrader:
        text = "\n".join((get(name).stub_of(seed).strip(), SOLUTION[0], text, SOLUTION[1]))
    return notebook(name, seed, text, nbgrader)


def _nbgrader(name: str, part: str) -> dict[str, Any]:
    check = part == "check"
    data = {
        "grade": check, "grade_id": f"{name}-{part}", "locked": check, "schema_version": 3,
        "solution": not check, "task": False,
    }  # fmt: skip
    return data | ({"points": POINTS} if check else {})


def dumps(data: Notebook) -> str:
    """The text of a notebook's file."""
    return json.dumps(data, indent=1, ensure_ascii=False) + "\n"


def read(text: str) -> Notebook:
    """An external notebook, of format version 3 or later. Raises NotebookError for other text."""
    if not text.strip():
        raise NotebookError("the file is not a notebook: it is empty")
    try:
        data = json.loads(text)
        if not isinstance(data, dict):
            raise TypeError("a notebook is an object of JSON, with a list of cells")
        if "worksheets" in data:  # version 3, whose code cells have an input
            cells = [cell for sheet in data["worksheets"] for cell in sheet["cells"]]
            data["cells"] = [{"source": cell.get("input", ""), **cell} for cell in cells]
        for cell in data["cells"]:
            if not isinstance(cell, dict):
                raise TypeError("a cell is not an object of JSON")
            if not isinstance(cell["cell_type"], str):
                raise TypeError("the kind of a cell is not text")
            "".join(cell.setdefault("source", ""))
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise NotebookError(
            f"the file is not a notebook: {type(error).__name__}: {error}"
        ) from error
    return data


def told(data: Notebook) -> Mapping[str, Any]:
    """The metadata of byoc_lab in a notebook; empty if it has none."""
    metadata = data.get("metadata")
    found = metadata.get("byoc_lab") if isinstance(metadata, dict) else None
    return found if isinstance(found, dict) else {}


def exercise_of(path: str, data: Notebook, known: Collection[str]) -> str:
    """The exercise of a notebook, among the known exercises: by its metadata, else by its calls of
    `exercise` and `check`, its heading, or its file name.

    Raises NotebookError if a notebook with an answer names no exercise or several.
    """
    name = told(data).get("exercise")
    if isinstance(name, str) and name in known:
        return name
    names, titles = {*called(data)}, {f"# {e.title}": e.name for e in all_exercises()}
    heads = ("".join(c["source"]).split("\n")[0] for c in data["cells"] if c["cell_type"] != "code")
    for found in (names, {titles.get(head, "") for head in heads}, {named_by(path)}):
        if len(found := found & {*known}) == 1:
            return found.pop()
    elsewhere = not names & {*known} and {str(name), *names} & {*titles.values()}
    if not elsewhere and any(re.search(r"\banswer\b", text) for text in code_of(data)):
        raise NotebookError(
            f"its cells name {', '.join(sorted(names & {*known})) or 'no exercise of the course'}; "
            f"a notebook is graded if it has the cells, the heading or the name of one exercise"
        )
    return ""


def called(data: Notebook) -> dict[str, int]:
    """The exercises for which a notebook's code calls `exercise` or `check`, with the seed."""
    return {name: int(seed or 0) for text in code_of(data) for name, seed in CALL.findall(text)}


def named_by(path: str) -> str:
    """The exercise whose name is in the name of a file, however it is written; empty if no exercise
    or several match."""
    words = re.sub("[^a-z0-9]+", "-", PurePosixPath(path).name.lower())
    found = [e.name for e in all_exercises() if e.name in words]
    return found[0] if len(found) == 1 else ""


def code_of(data: Notebook) -> list[str]:
    """The texts of the code cells, except those that only start the task and check the answer."""
    return ["".join(c["source"]) for c in data["cells"] if c["cell_type"] == "code"]


def answer_cells(data: Notebook) -> list[str]:
    """The texts of the student's code cells: all except the task and the check."""
    cells = (c for c in data["cells"] if c["cell_type"] == "code")
    texts = ("".join(c["source"]).strip() for c in cells if _part(c) not in ("task", "check"))
    return [text for text in texts if text]


def answer_of(data: Notebook) -> str:
    """The student's code as one text, cut after MAX_ANSWER characters."""
    text = "\n\n".join(answer_cells(data))
    return text if len(text) <= MAX_ANSWER else f"{text[:MAX_ANSWER]}\n# ... cut off"


def hints_of(data: Notebook) -> int:
    """The highest hint that a notebook's code requests, as with `verdict.hint(2)`; 0 for none."""
    lines = (line for text in code_of(data) for line in text.splitlines())
    found = (step for line in lines for step in HINT.findall(line.partition("#")[0]))
    return max((int(step or 1) for step in found), default=0)


def changed_cells(data: Notebook, name: str) -> list[str]:
    """Describe the changes of cells that students should not change."""
    original = notebook(name)
    found = {_part(cell): "".join(cell["source"]) for cell in data["cells"]}
    if not {*PARTS} & {*found}:
        return ["its cells have no metadata, so that all their code counts as the answer"]
    notes = []
    for cell in original["cells"]:
        part = _part(cell)
        if part not in found:
            notes.append(f"the cell '{part}' was deleted or renamed")
        elif part == "check" and not _same_check(found[part], name):
            notes.append("the cell 'check' was changed")
    return notes


def _part(cell: Any) -> str:
    metadata = cell.get("metadata")
    data = metadata.get("byoc_lab") if isinstance(metadata, dict) else None
    return str(data.get("cell")) if isinstance(data, dict) else ""


def _same_check(text: str, name: str) -> bool:
    """Whether a check cell is that of the notebook, except for its seed and requested hints."""
    call = re.escape(f'verdict = check("{name}", answer')
    expected = (
        rf"({re.escape(ANEW)})?{re.escape(CHECK)}\n\n{call}(, seed=\d+)?\)\nverdict"
        r"(\nassert verdict, str\(verdict\))?"
        r"(\n+(print\()?verdict\.hint\((step=)?[1-3]?\)\)?)*"
    )
    return re.fullmatch(expected, text.strip()) is not None
