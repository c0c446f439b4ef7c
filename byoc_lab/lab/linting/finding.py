"""`Finding`: one problem that a rule found, with its location, its consequences and its fix."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from enum import Enum
from functools import cached_property
from typing import Any

from byoc_lab.display import VIEW, Shown
from byoc_lab.errors import counted
from byoc_lab.lab.diffing import Diff, diff
from byoc_lab.lab.linting.edits import Proposal
from byoc_lab.lab.linting.external import external_functions
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Call, Expr, Function, Span
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class Severity(str, Enum):
    """The severity of a finding.

    error: a pass fails or builds the wrong module. warning: suspicious. info: a hint.
    """

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"

    @printable
    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True, eq=False)
class Finding:
    """One problem that a rule found.

    node: the expression at fault. argument: the position of the argument, if the finding concerns
    one edge. place: the line of the printed module. file: the file from which a command read the
    module. what_to_do: how to fix it. others: nodes that may be at fault instead of `node`, if the
    module does not determine it. covers: the nodes at which findings with the codes `explains` are
    `consequences` of this finding. proposals: possible fixes, the likeliest first.
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
    file: str = ""
    others: tuple[Expr, ...] = ()
    consequences: tuple[Finding, ...] = ()
    proposals: tuple[Proposal, ...] = field(default=(), repr=False)
    covers: frozenset[Expr] = field(default=frozenset(), repr=False)
    explains: tuple[str, ...] = field(default=(), repr=False)
    prove: Callable[[Finding], Iterator[Fix]] | None = field(default=None, repr=False)

    @cached_property
    def fix(self) -> Fix | None:
        """The likeliest proved fix of this finding; None if there is none.

        Proved means: applied alone, it removes findings and adds none, and the module still
        computes the same results as without annotations. `byoc_lab.fix` repairs a whole module.
        """
        return next(self.prove(self), None) if self.prove is not None else None

    @property
    def fixes(self) -> list[Fix]:
        """All proved fixes of this finding, the likeliest first."""
        return list(self.prove(self)) if self.prove is not None else []

    @property
    def span(self) -> Span | None:
        """The source location from which the node was parsed; None if it was not parsed."""
        return self.node.span if self.node is not None else None

    @property
    def in_text(self) -> Span | None:
        """`span`, if it is a location in a text with lines; None for a node of a model file."""
        return self.span if self.span is not None and self.span.is_text else None

    def of_file(self, file: str) -> Finding:
        """The finding and its consequences, with the file from which the module was read."""
        return replace(
            self, file=file, consequences=tuple(f.of_file(file) for f in self.consequences)
        )

    def __iter__(self) -> Iterator[Finding]:
        """The finding, and its consequences."""
        yield self
        yield from self.consequences

    @printable
    def __str__(self) -> str:
        where = f"@{self.function}" if self.function else "module"
        at = f"\n    at  {self.place}" if self.place else ""
        parts = ("" if self.in_text else self.file, str(self.span or ""))
        source = f"\n    in  {', '.join(filter(None, parts))}" if any(parts) else ""
        return (
            f"{self.code} {self.severity} {where}: {self.message}{at}{source}\n"
            f"    fix {self.what_to_do}{self._followed()}"
        )

    def _followed(self) -> str:
        if not self.consequences:
            return ""
        codes = ", ".join(sorted({f"{f.code} {f.name}" for f in self.consequences}))
        count = len(self.consequences)
        return f"\n    causes {counted(count, 'finding')} of {codes}"


@dataclass(frozen=True, eq=False)
class Fix(Shown):
    """A proved repair: shows itself as a diff; `apply()` gives the module, `undo()` takes it back.

    steps: the changes, in words. before, after: the modules, in the language of the given module.
    proof: why it is right, in words. left: the findings that it does not repair; empty if `after`
    is clean. others: further proved repairs, if one finding has several.
    """

    steps: tuple[str, ...]
    before: Any
    after: Any
    proof: str
    left: tuple[Finding, ...] = ()
    others: tuple[Fix, ...] = ()

    def apply(self) -> Any:
        """The repaired module."""
        return self.after

    def undo(self) -> Any:
        """The module before the repair."""
        return self.before

    def diff(self) -> Diff:
        """The difference that the fix makes."""
        return diff(self.before, self.after)

    def __bool__(self) -> bool:
        return bool(self.steps)

    @printable
    def __str__(self) -> str:
        if not self.steps:
            left = "".join(f"\n{f}" for f in self.left)
            return f"nothing was fixed: {self.proof}{left}"
        lines = [f"fix {n}: {step}" for n, step in enumerate(self.steps, 1)]
        if self.others:
            lines.append(f"makes {_regions_of(self.after)}")
        lines += [f"proved: {self.proof}", str(self.diff())]
        lines += [f"not fixed: {f}" for f in self.left]
        lines += [
            f"or, proved too: {'; '.join(other.steps)}\nmakes {_regions_of(other.after)}"
            for other in self.others
        ]
        return "\n".join(lines)

    def __repr__(self) -> str:
        left = counted(len(self.left), "finding")
        return f"<fix of {counted(len(self.steps), 'step')}, {left} left>"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return {"text/plain": str(self), **_without_text(VIEW().mimebundle(self.diff()))}


def _without_text(bundle: dict[str, Any]) -> dict[str, Any]:
    return {kind: data for kind, data in bundle.items() if kind != "text/plain"}


def _regions_of(mod: IRModule) -> str:
    """The regions that PartitionGraph creates from an annotated module, in words."""
    made = [
        f"{name} ({', '.join(_operators(func))})"
        for func, _ in external_functions(PartitionGraph()(mod))
        for name in [func.attrs["Compiler"]]
    ]
    return f"{counted(len(made), 'region')}: {', '.join(made)}" if made else "no region"


def _operators(func: Function) -> list[str]:
    called = (node for node in post_order(func) if isinstance(node, Call))
    return [node.op_name for node in called if node.op_name]
