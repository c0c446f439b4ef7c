"""Base classes of the linter: rules, findings, and the function under examination.

A rule is one file in `rules/`: a class with a code that is never reused, its page (the docstring),
samples of valid and invalid modules that serve as its tests, and `check`, which yields findings.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from functools import cached_property
from itertools import accumulate
from typing import Any, ClassVar

from byoc_lab.relay.analysis.regions import Region, RegionSet
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, Let, Op, Span
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class Severity(str, Enum):
    """How serious a finding is.

    error: PartitionGraph fails or builds the wrong module. warning: suspicious. info: a hint.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, eq=False)
class Finding:
    """One problem that a rule found.

    node: the expression at fault. argument: the position of the argument, when the finding is about
    one edge. place: the line of the printed module. what_to_do: how to fix it.
    """

    code: str
    name: str
    severity: Severity
    message: str
    what_to_do: str
    node: Expr | None = None
    argument: int | None = None
    function: str | None = None
    place: str = ""

    @property
    def span(self) -> Span | None:
        """The place in the source text that the node was parsed from; None if it was not parsed."""
        return self.node.span if self.node is not None else None

    def __str__(self) -> str:
        where = f"@{self.function}" if self.function else "module"
        at = f"\n    at  {self.place}" if self.place else ""
        source = f"\n    in  {self.span}" if self.span else ""
        return (
            f"{self.code} {self.severity} {where}: {self.message}{at}{source}\n"
            f"    fix {self.what_to_do}"
        )


@dataclass(frozen=True)
class Problem:
    """A problem that the region analysis reported (`RegionSet.problem` lists the kinds)."""

    kind: str
    node: Expr
    details: dict[str, Any]


@dataclass(eq=False)
class Subject:
    """The function under examination. Analyses that several rules need are computed once."""

    func: Function
    name: str
    mod: IRModule
    problems: list[Problem] = field(default_factory=list)

    @cached_property
    def regions(self) -> RegionSet:
        # Captures the list instead of `self`, which would be a reference cycle.
        problems = self.problems

        def note(kind: str, node: Expr, details: dict[str, Any]) -> None:
            problems.append(Problem(kind, node, details))

        return RegionSet(self.func, note)

    @cached_property
    def nodes(self) -> list[Expr]:
        return list(post_order(self.func))

    @cached_property
    def place(self) -> dict[Expr, int]:
        """The position of each node in `nodes`."""
        return {n: i for i, n in enumerate(self.nodes)}

    def in_order(self, region: Region) -> list[Expr]:
        """The nodes of a region, operands before users."""
        return sorted(region.nodes, key=self.place.__getitem__)

    @cached_property
    def let_values(self) -> set[Expr]:
        """The values that `let` binds."""
        return {n.value for n in self.nodes if isinstance(n, Let)}

    def problems_of(self, kind: str) -> Iterator[Problem]:
        _ = self.regions  # computing the regions reports the problems
        return (p for p in self.problems if p.kind == kind)

    def number(self, region: Region) -> int:
        """The id of a region once PartitionGraph has removed the annotations of "default"."""
        return self._offloaded_before[region.id]

    @cached_property
    def _offloaded_before(self) -> list[int]:
        """For each begin, the number of begins before it whose compiler is not "default"."""
        return list(accumulate((t != "default" for t in self.regions.opened), initial=0))

    @cached_property
    def all_regions(self) -> list[Region]:
        return list(self.regions)


@dataclass(frozen=True)
class Sample:
    """A module in Relay text.

    points_at, argument: for an invalid module, the operator and the argument of the finding.
    """

    text: str
    points_at: str = ""
    argument: int | None = None


class LintRule(ABC):
    """Base class of rules. The docstring of a rule is its page."""

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    VALID: ClassVar[tuple[Sample, ...]] = ()
    INVALID: ClassVar[tuple[Sample, ...]] = ()

    @abstractmethod
    def check(self, subject: Subject) -> Iterator[Finding]:
        """The findings of the rule in one function."""

    def finding(
        self,
        message: str,
        what_to_do: str,
        node: Expr | None,
        subject: Subject,
        argument: int | None = None,
    ) -> Finding:
        return Finding(
            self.code, self.name, self.severity, message, what_to_do, node, argument, subject.name
        )


def called(node: Expr) -> str:
    """The name of a node in messages: its operator, or the kind of node."""
    if isinstance(node, Call):
        callee = node.op
        if isinstance(callee, Function):
            return str(callee.attrs.get("Composite", "a function"))
        if isinstance(callee, GlobalVar):
            return f"@{callee.name_hint}"
        return callee.name if isinstance(callee, Op) else "a call"
    return type(node).__name__.lower()
