"""Chooses, for each exercise, which notebook and variant of a submission are graded."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from byoc_lab.lessons.grading import notebooks
from byoc_lab.lessons.grading.course import SEEDS, Course
from byoc_lab.lessons.grading.handed_in import Submission


@dataclass
class Chosen:
    """A notebook to grade. path: relative to the student's folder. notes: messages for the
    teacher."""

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
        """Notes on unreadable files that may contain the answer to an exercise: files named after
        it, or after no exercise."""
        return [
            f"{path}: {why}"
            for path, why in self.unread.items()
            if notebooks.named_by(path) in ("", name)
        ]


def choose(submission: Submission, course: Course) -> Choice:
    """Choose the notebook to grade for each exercise (`exercise_of`): among several, the newest
    that differs from the handout."""
    found = Choice()
    read: dict[str, notebooks.Notebook] = {}
    candidates: dict[str, list[str]] = {}
    for path, text in submission.files.items():
        try:
            read[path] = notebooks.read(text)
            name = notebooks.exercise_of(path, read[path], course.exercises)
            candidates.setdefault(name, []).append(path)
        except notebooks.NotebookError as error:
            found.unread[path] = str(error)
    for path in read:  # the student may have filled in a copy of another exercise's notebook
        candidates.setdefault(notebooks.named_by(path), [path])
    for path, why in submission.others.items():
        if notebooks.named_by(path) or not submission.files:
            found.unread[path] = why
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
    if of > 1:
        notes.append(f"of {of} notebooks, {path} was graded: the newest that has an answer")
    elif PurePosixPath(path).stem != name:
        notes.append(f"the notebook was renamed to {path}")
    other = notebooks.told(data).get("exercise", name)
    if other != name:
        notes.append(f"{path} says that it is the notebook of {str(other)[:80]!r}")
    expected = 0 if course.from_notebooks else course.seed_of(submission.student, name)
    seed = _seed(data, name, expected)
    if isinstance(seed, bool) or not isinstance(seed, int) or not 0 <= seed < SEEDS:
        notes.append(f"its seed is not one that a course gives; {expected} was used")
        seed = expected
    elif seed != expected and not course.from_notebooks:
        notes.append(f"it has the variant of seed {seed}; this student's is {expected}")
    notes += notebooks.changed_cells(data, name)
    return Chosen(path, data, seed, notes)


def _is_stub(data: notebooks.Notebook, name: str) -> bool:
    """Whether the code equals the handout, in any variant that the notebook names."""
    seed = _seed(data, name, 0)
    known = isinstance(seed, int) and 0 <= seed < SEEDS
    given = notebooks.code_of(notebooks.notebook(name, seed if known else 0))
    return [text.strip() for text in notebooks.code_of(data)] == [text.strip() for text in given]


def _seed(data: notebooks.Notebook, name: str, expected: int) -> Any:
    """The seed in a notebook's metadata, else the seed in its calls; `expected` if it has none."""
    return notebooks.told(data).get("seed", notebooks.called(data).get(name, expected))
