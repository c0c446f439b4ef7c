"""Writes the notebooks of all exercises into one folder (`python -m
byoc_lab.lessons.grading.handout`)."""

from __future__ import annotations

import sys
from pathlib import Path

from byoc_lab.files import write_text
from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.lessons.grading.notebooks import dumps, notebook


def write_notebooks(folder: Path) -> list[Path]:
    """Write one notebook for each exercise, in the variant of seed 0; returns their paths."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for exercise in all_exercises():
        path = folder / f"{exercise.name}.ipynb"
        write_text(path, dumps(notebook(exercise.name)))
        written.append(path)
    return written


if __name__ == "__main__":
    for path in write_notebooks(Path(sys.argv[1] if sys.argv[1:] else "notebooks/exercises")):
        print(path)
