"""Base class of exercises, and the verdict on an answer."""

from __future__ import annotations

import html
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from byoc_lab.lessons import grading
from byoc_lab.relay.ir.module import IRModule


@dataclass(frozen=True)
class Verdict:
    """The result of a check: passed or not, and what to tell the student."""

    passed: bool
    messages: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self.passed

    def __str__(self) -> str:
        head = "passed" if self.passed else "not yet"
        return "\n".join([head, *(f"- {message}" for message in self.messages)])

    def _repr_html_(self) -> str:
        items = "".join(f"<li><pre>{html.escape(message)}</pre></li>" for message in self.messages)
        return f"<b>{'passed' if self.passed else 'not yet'}</b><ul>{items}</ul>"


Check = Callable[[], grading.Messages]


class Exercise(ABC):
    """Base class of exercises: a module to change, graded by structure, linter and numbers.

    One exercise is one file of `byoc_lab/lessons/exercises`; its class is found by discovery
    (`all_exercises()`). The docstring of the class is for teachers.
    """

    name: ClassVar[str]
    """Words of lower case joined by hyphens; unique."""
    title: ClassVar[str]
    """One line for lists of exercises."""
    statement: ClassVar[str]
    """The task, in Markdown, for students."""
    regions: ClassVar[tuple[grading.RegionShape, ...]]
    """The regions that the partition of a right answer has."""

    @abstractmethod
    def plain(self) -> IRModule:
        """The typed network without annotations, with which answers are compared."""

    @abstractmethod
    def start(self) -> IRModule:
        """The module that students start from."""

    @abstractmethod
    def solution(self) -> IRModule:
        """A right answer."""

    def check(self, answer: Any) -> Verdict:
        """Grade an answer: a module. It may be anything; a wrong one raises nothing.

        The checks run in order, and the first that fails gives the messages: what comes after it
        would only repeat the cause.
        """
        for messages in (check() for check in self.checks(answer)):
            if messages:
                return Verdict(False, tuple(messages))
        return Verdict(True, ("the structure is right, the linter is clean, the numbers agree",))

    def checks(self, answer: Any) -> Iterator[Check]:
        """The checks of an answer, in order; each may rely on those before it."""
        plain = self.plain()
        yield lambda: grading.wrong_kind(answer)
        yield lambda: grading.wrong_types(answer)
        yield lambda: grading.wrong_network(answer, plain)
        yield lambda: grading.lint_findings(answer)
        yield lambda: grading.wrong_regions(answer, self.regions)
        yield lambda: grading.wrong_numbers(answer, plain)

    def __repr__(self) -> str:
        return f"<exercise {self.name}: {self.title}>"

    def _repr_markdown_(self) -> str:
        return f"### {self.title}\n\n{self.statement}"
