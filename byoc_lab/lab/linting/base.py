"""Base class of lint rules, and their samples.

A rule is one file in `rules/`: a class with a code that is never reused, its page (the docstring),
samples of valid and invalid modules that serve as tests, and `check`, which yields findings.
"""

from __future__ import annotations

from abc import ABC
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.edits import Proposal
from byoc_lab.lab.linting.finding import Finding, Severity
from byoc_lab.lab.linting.subject import Problem, Subject
from byoc_lab.passes.framework.passes import Pass
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, Op, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.module import IRModule

__all__ = ["Finding", "LintRule", "Problem", "Sample", "Severity", "Subject", "called"]


@dataclass(frozen=True)
class Sample:
    """A module in Relay text.

    points_at, argument: for an invalid module, the operator and the argument of the finding.
    pipeline, backend: further arguments of `lint`; a function creates a new pipeline for each use.
    """

    text: str
    points_at: str = ""
    argument: int | None = None
    pipeline: str | Callable[[], Sequence[Pass]] | None = None
    backend: str | None = None

    @property
    def passes(self) -> str | Sequence[Pass] | None:
        """The pipeline, as for `lint`."""
        return self.pipeline() if callable(self.pipeline) else self.pipeline


class LintRule(ABC):
    """Base class of rules. The docstring of a rule is its page.

    A rule overrides `check`, which examines one function, or `check_module`.
    """

    code: ClassVar[str]
    name: ClassVar[str]
    severity: ClassVar[Severity] = Severity.ERROR
    explains: ClassVar[tuple[str, ...]] = ()
    """The codes of rules whose findings may be consequences of this rule's findings."""
    VALID: ClassVar[tuple[Sample, ...]] = ()
    INVALID: ClassVar[tuple[Sample, ...]] = ()

    def check(self, subject: Subject) -> Iterator[Finding]:
        """The findings of the rule in one function."""
        return iter(())

    def check_module(self, mod: IRModule, context: Context) -> Iterator[Finding]:
        """The findings of the rule in the module as a whole, or in the pipeline."""
        return iter(())

    def finding(
        self,
        message: str,
        what_to_do: str,
        node: Expr | None,
        subject: Subject | None = None,
        argument: int | None = None,
        *,
        function: str | None = None,
        severity: Severity | None = None,
        others: Sequence[Expr] = (),
        covers: frozenset[Expr] = frozenset(),
        proposals: Sequence[Proposal] = (),
    ) -> Finding:
        return Finding(
            self.code,
            self.name,
            severity or self.severity,
            message,
            what_to_do,
            node,
            argument,
            subject.name if subject is not None else function,
            others=tuple(others),
            proposals=tuple(proposals),
            covers=covers,
            explains=self.explains,
        )


def called(node: Expr) -> str:
    """The name of a node in messages: its operator, its name, or the kind of node."""
    if isinstance(node, Call):
        callee = node.op
        if isinstance(callee, Function):
            return str(callee.attrs.get("Composite", "a function"))
        if isinstance(callee, GlobalVar):
            return f"@{callee.name_hint}"
        return callee.name if isinstance(callee, Op) else "a call"
    if isinstance(node, Tuple):
        return f"a tuple of {len(node.fields)}"
    if isinstance(node, TupleGetItem):
        return f"field {node.index} of {called(node.tuple_value)}"
    return f"%{node.name_hint}" if isinstance(node, Var) else type(node).__name__.lower()
