"""Lessons: case studies (bugs that people reported), exercises, and their grading.

from byoc_lab.lessons import check, exercise

task = exercise("annotate-diamond")
task.start()                                 # the module to annotate
check("annotate-diamond", answer)            # right, or what is wrong, with a picture and hints
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from byoc_lab.lessons.exercises.base import Variant
    from byoc_lab.lessons.verdict import Verdict

__all__ = ["available", "check", "exercise"]


def available(*needs: str) -> bool:
    """Whether a requirement of a notebook cell is available: "a C compiler", "apache-tvm", "DNNL".

        if available("DNNL"):
            program.assert_offloaded()

    Prints why not. Raises UnknownNameError for anything else.
    """
    from byoc_lab.lessons.needs import available

    return available(*needs)


def check(name: str, answer: Any, seed: int = 0) -> Verdict:
    """Grade an answer to the exercise with this name, in the variant of a seed.

    Raises UnknownNameError if no exercise has the name.
    """
    return exercise(name, seed).check(answer)


def exercise(name: str, seed: int = 0) -> Variant:
    """The exercise with this name, in the variant of a seed. Raises UnknownNameError."""
    from byoc_lab.lessons.exercises import get

    return get(name).with_seed(seed)
