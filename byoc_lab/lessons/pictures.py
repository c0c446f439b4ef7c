"""Pictures for slides: the graphs of exercises as SVG files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from byoc_lab.errors import BuildError, MissingDependencyError
from byoc_lab.files import write_text
from byoc_lab.lab.view.graph import graph
from byoc_lab.lessons.exercises import all_exercises, get
from byoc_lab.relay.ir.module import IRModule


def write_pictures(folder: Path, names: Sequence[str] = ()) -> list[Path]:
    """Write the initial modules of exercises as SVG, and return the files' paths.

    names: names of exercises; none for all. Exercises without an initial module have no picture.

    Raises UnknownNameError for an unknown exercise, and MissingDependencyError if no layout program
    is installed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for exercise in [get(name) for name in names] or all_exercises():
        question = exercise.question(0)
        parts = question if isinstance(question, (list, tuple)) else [question]
        modules = [part for part in parts if isinstance(part, IRModule)]
        for number, mod in enumerate(modules, 1):
            suffix = f"-{number}" if len(modules) > 1 else ""
            path = folder / f"{exercise.name}{suffix}.svg"
            try:
                write_text(path, graph(mod).svg)
            except BuildError as error:
                if isinstance(error, MissingDependencyError):
                    raise
                continue  # too large to draw
            written.append(path)
    return written
