"""The notebook and variant of a submission that are graded for each exercise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from byoc_lab.lessons.exercises import all_exercises
from byoc_lab.lessons.grading import notebooks
from byoc_lab.lessons.grading.course import SEEDS, Course
from byoc_lab.lessons.grading.handed_in import Submission


@dataclass
class Chosen:
    """A notebook to grade. path: below the student's folder. notes: for the teacher."""

    path: str
    data: notebooks.Notebook
    seed: int
    notes: list[str]

    def task(self, exercise: str, course: Course) -> dict[str, Any]:
        """The task for the sandbox."""
        seeds = [self.seed, *course.hidden_seeds(exercise)]
        return {"exercise": exercise, "cells": notebooks.code_of(self.data), "seeds": seeds}


@dataclass
class Choice:
    """The notebooks of a submission that are graded, and the errors of unreadable files, by
    path."""

    chosen: dict[str, Chosen] = field(default_factory=dict)
    unread: dict[str, str] = field(default_factory=dict)

    def notes(self, name: str) -> list[str]:
        """Notes on unreadable files that may contain the answer to an exercise: those named after
        it, or after no exercise."""
        others = {each.name for each in all_exercises()} - {name}
        return [f"{path}: {why}" for path, why in self.unread.items() if _stem(path) not in others]


def choose(submission: Submission, course: Course) -> Choice:
    """Choose notebooks by the exercise in their metadata, or by their file names without it. Among
    several, the newest that differs from the handout is graded."""
    found = Choice()
    read: dict[str, notebooks.Notebook] = {}
    for path, text in submission.files.items():
        try:
            read[path] = notebooks.read(text)
        except notebooks.NotebookError as error:
            found.unread[path] = str(error)
    candidates: dict[str, list[str]] = {}
    for path, data in read.items():
        name = _told(data).get("exercise")
        if not isinstance(name, str) or name not in course.exercises:
            name = _stem(path)
        candidates.setdefault(name, []).append(path)
    for path in read:  # a copy of another exercise's notebook may have been filled in
        candidates.setdefault(_stem(path), [path])
    for name in course.exercises:
        if name not in candidates:
            continue
        paths = candidates[name]
        changed = [path for path in paths if not _is_stub(read[path], name)]
        path = (changed or paths)[-1]
        found.chosen[name] = _chosen(path, read[path], name, len(paths), submission, course)
        if not changed:
            found.chosen[name].notes += found.notes(name)
    return found


def _chosen(
    path: str, data: notebooks.Notebook, name: str, of: int, submission: Submission, course: Course
) -> Chosen:
    notes: list[str] = []
    told = _told(data)
    if of > 1:
        notes.append(f"of {of} notebooks, {path} was graded: the newest that has an answer")
    elif _stem(path) != name:
        notes.append(f"the notebook was renamed to {path}")
    other = told.get("exercise", name)
    if other != name:
        notes.append(f"{path} says that it is the notebook of {str(other)[:80]!r}")
    expected = 0 if course.from_notebooks else course.seed_of(submission.student, name)
    seed = told.get("seed", expected)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < SEEDS:
        notes.append(f"its seed is not one that a course gives; {expected} was used")
        seed = expected
    elif seed != expected and not course.from_notebooks:
        notes.append(f"it has the variant of seed {seed}; this student's is {expected}")
    notes += notebooks.changed_cells(data, name)
    return Chosen(path, data, seed, notes)


def _is_stub(data: notebooks.Notebook, name: str) -> bool:
    """Whether the code is the handout, in any variant that the notebook names."""
    seed = _told(data).get("seed", 0)
    known = isinstance(seed, int) and 0 <= seed < SEEDS
    given = notebooks.code_of(notebooks.notebook(name, seed if known else 0))
    return [text.strip() for text in notebooks.code_of(data)] == [text.strip() for text in given]


def _told(data: notebooks.Notebook) -> Mapping[str, Any]:
    """The metadata of byoc_lab in a notebook; empty if it has none."""
    metadata = data.get("metadata")
    told = metadata.get("byoc_lab") if isinstance(metadata, dict) else None
    return told if isinstance(told, dict) else {}


def _stem(path: str) -> str:
    return PurePosixPath(path).stem
