"""Exercises: code to write, graded by structure, linter and numbers; one per file.

    exercise = byoc_lab.lessons.exercises.get("add-the-missing-begin")
    mod = exercise.question()
    ...
    exercise.check(answer)

Exercises are found by discovery, so a new exercise is a new file.
"""

from __future__ import annotations

import sys
from functools import cache

from byoc_lab.lessons.discovery import discover, named
from byoc_lab.lessons.exercises.base import Exercise, ModuleExercise, Verdict

__all__ = ["Exercise", "ModuleExercise", "Verdict", "all_exercises", "get"]


@cache
def _by_name() -> dict[str, Exercise]:
    return discover(sys.modules[__name__], Exercise)  # type: ignore[type-abstract]


def all_exercises() -> tuple[Exercise, ...]:
    """Every exercise, by name."""
    return tuple(_by_name().values())


def get(name: str) -> Exercise:
    """The exercise with this name. Raises UnknownNameError."""
    return named(_by_name(), name, "exercise")
