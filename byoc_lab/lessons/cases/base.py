"""Base class of cases, and the symptom that a case reproduces."""

from __future__ import annotations

import html
import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

from byoc_lab.errors import ByocLabError
from byoc_lab.relay.ir.module import IRModule


@dataclass(frozen=True, eq=False)
class Symptom:
    """What a user sees of a trouble.

    message: one sentence. module: the result that shows it, where a compiler gave one. error: what
    today's compiler raises, where it does.
    """

    message: str
    module: IRModule | None = None
    error: ByocLabError | None = None

    def __str__(self) -> str:
        return self.message


class Case(ABC):
    """Base class of cases: a trouble that people met in public, reproduced and fixed.

    One case is one file of `byoc_lab/lessons/cases`; its class is found by discovery
    (`all_cases()`). The docstring of the class tells the story: what happens, why, and what fixes
    it. Modules are small, so that a case can be run as a test.
    """

    name: ClassVar[str]
    """Words of lower case joined by hyphens; unique."""
    title: ClassVar[str]
    """One line for lists of cases."""
    reference: ClassVar[str]
    """The public discussion: where, its title, when."""
    codes: ClassVar[tuple[str, ...]] = ()
    """The codes of the lint rules that report `module()`; empty where no rule can know."""

    @abstractmethod
    def plain(self) -> IRModule:
        """The typed network before anything is annotated."""

    @abstractmethod
    def module(self) -> IRModule:
        """The network with the trouble, typed and annotated as its author annotated it."""

    @abstractmethod
    def symptom(self, mod: IRModule) -> Symptom | None:
        """What a user sees of the trouble in an annotated module; None where it is not there."""

    @abstractmethod
    def fixed(self) -> IRModule:
        """The same computation without the trouble, annotated: PartitionGraph accepts it."""

    def __str__(self) -> str:
        """The title, the story, where it was discussed, and the rules that find the trouble."""
        found = f"found by {', '.join(self.codes)}" if self.codes else "no rule of lint finds it"
        story = inspect.cleandoc(type(self).__doc__ or "")
        return f"{self.title}\n\n{story}\n\n{self.reference}; {found}"

    def _repr_html_(self) -> str:
        title, *rest = (html.escape(part) for part in str(self).split("\n\n"))
        return f"<h3>{title}</h3>" + "".join(f"<p>{part}</p>" for part in rest)

    def __repr__(self) -> str:
        return f"<case {self.name}: {self.title}>"
