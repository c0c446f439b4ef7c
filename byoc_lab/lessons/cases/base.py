"""Base classes of cases, their symptoms, and the diagnoses of the tools."""

from __future__ import annotations

import html
import inspect
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from byoc_lab.display import text_in_full
from byoc_lab.errors import ByocLabError
from byoc_lab.lab.explaining import decode, explain, explain_patterns
from byoc_lab.lab.linting import lint
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, Sequential
from byoc_lab.printing import printable
from byoc_lab.relay.ir.expr import Call, Function, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


@dataclass(frozen=True, eq=False)
class Symptom:
    """The symptom of a case: what a user sees of the bug.

    message: one sentence. module: the result that shows the bug, if a compiler produced one. error:
    the error of today's compiler, if it raises one.
    """

    message: str
    module: IRModule | None = None
    error: ByocLabError | None = None

    @printable
    def __str__(self) -> str:
        return self.message


@dataclass(frozen=True)
class ExpectedDiagnosis:
    """The diagnosis that a tool must give for a case.

    tool: "lint", "explain" or "decode". causes: the codes of the rules, the causes of the calls, or
    the names of the messages. text: the whole diagnosis, for people.
    """

    tool: str
    causes: tuple[str, ...]
    text: str

    @printable
    def __str__(self) -> str:
        return self.text


class Case(ABC):
    """Base class of cases: a bug that people reported in public.

    One case is one file of `byoc_lab/lessons/cases`; its class is found by discovery
    (`all_cases()`). The docstring of the class tells the story: what happens, why, and what fixes
    it. Modules are small, so that a case can be run as a test.
    """

    kind: ClassVar[str]
    """"live": the bug is reproduced here; "dump": a recorded text shows it."""
    name: ClassVar[str]
    """Lower-case words joined by hyphens; unique."""
    title: ClassVar[str]
    """One line for lists of cases."""
    reference: ClassVar[str]
    """The public discussion: where, its title, when."""
    link: ClassVar[str] = ""
    """The address of the discussion, if known."""
    era: ClassVar[str]
    """The versions with the bug, or the `era` under which it is reproduced here."""
    fix: ClassVar[str]
    """What to do, in one sentence."""
    cause: ClassVar[str]
    """The code, cause or name of the right cause in `diagnosis()`."""
    pipeline: ClassVar[tuple[str, ...]] = ("PartitionGraph",)
    """The names of the passes that show the bug in an annotated module."""

    @abstractmethod
    def shown(self) -> Symptom:
        """The symptom that a user sees."""

    @abstractmethod
    def diagnosis(self) -> ExpectedDiagnosis:
        """The diagnosis that lint, explain or decode gives."""

    @property
    def story(self) -> str:
        """The docstring of the class as plain text."""
        return inspect.cleandoc(type(self).__doc__ or "")

    @printable
    def __str__(self) -> str:
        said = self.diagnosis()
        return "\n\n".join(
            (
                f"{self.name} ({self.kind}; {self.era})",
                self.story,
                f"Symptom: {self.shown()}",
                f"What {said.tool} says:\n{said.text}",
                f"Fix: {self.fix}",
                f"Reference: {self.reference}" + (f"\n{self.link}" if self.link else ""),
            )
        )

    def __repr__(self) -> str:
        return f"<case {self.name}: {self.title}>"

    _repr_pretty_ = text_in_full

    def _repr_html_(self) -> str:
        head, *parts = (html.escape(part) for part in str(self).split("\n\n"))
        return f"<h3>{html.escape(self.title)}</h3><p>{head}</p>" + "".join(
            f'<p style="white-space: pre-wrap">{part}</p>' for part in parts
        )


class LiveCase(Case):
    """Base class of cases whose bug is reproduced here, in full or under an era."""

    kind = "live"
    codes: ClassVar[tuple[str, ...]] = ()
    """The codes of the lint rules that report `module()`; empty if no rule can detect the bug."""

    @abstractmethod
    def plain(self) -> IRModule:
        """The typed network before anything is annotated."""

    @abstractmethod
    def module(self) -> IRModule:
        """The typed network with the bug, annotated as by its author."""

    @abstractmethod
    def symptom(self, mod: IRModule) -> Symptom | None:
        """The symptom in an annotated module; None if the module does not have the bug."""

    @abstractmethod
    def fixed(self) -> IRModule:
        """The same computation without the bug, annotated: PartitionGraph accepts it."""

    def shown(self) -> Symptom:
        found = self.symptom(self.module())
        assert found is not None, f"{self.name} has no symptom"
        return found

    def diagnosis(self) -> ExpectedDiagnosis:
        return lint_says(self.module())


class DumpCase(Case):
    """Base class of cases that a recorded text shows, because no version that runs here has the
    bug.

    The recorded text is written for the case in the format of the compiler of that time; it is not
    a quotation of the discussion.
    """

    kind = "dump"
    recorded: ClassVar[str]
    """The result of the pass of that time, or its error message."""

    @abstractmethod
    def today(self) -> str:
        """The outcome of the same program today: one sentence, after running it."""


def lint_says(
    mod: IRModule, pipeline: Sequence[Pass] | None = None, backend: str | None = None
) -> ExpectedDiagnosis:
    """The diagnosis of `lint` for a module and the passes that will run on it."""
    found = lint(mod, pipeline, backend)
    return ExpectedDiagnosis("lint", tuple(sorted({f.code for f in found})), str(found))


def explain_says(
    mod: IRModule, target: str, call: str, pipeline: Sequence[Pass] | None = None
) -> ExpectedDiagnosis:
    """The diagnosis of `explain` for the calls of one operator."""
    found = explain(mod, target, call, pipeline)
    causes = {e.cause for e in found if not e.offloaded}
    return ExpectedDiagnosis("explain", tuple(sorted(c for c in causes if c)), str(found))


def patterns_say(table: Sequence[tuple[Any, ...]], mod: IRModule) -> ExpectedDiagnosis:
    """The diagnosis of `explain_patterns` for a table: the statuses of its entries."""
    report = explain_patterns(table, mod)
    return ExpectedDiagnosis("explain", tuple(sorted({e.status for e in report})), str(report))


def decode_says(text: str | ByocLabError, mod: IRModule | None = None) -> ExpectedDiagnosis:
    """The diagnosis of `decode` for an error message."""
    found = decode(text, mod)
    return ExpectedDiagnosis("decode", tuple(m.name for m in found), str(found))


class PipelineCase(LiveCase):
    """Base class of cases whose bug is in the passes or their tables, not in a module."""

    level: ClassVar[int] = 3
    """The opt_level under which the author ran the passes."""
    not_offloaded: ClassVar[str]
    """The symptom of a case whose partitioned module has no region."""

    @abstractmethod
    def passes(self) -> list[Pass]:
        """The passes that the author ran, up to the annotation."""

    @abstractmethod
    def right_passes(self) -> list[Pass]:
        """The correct passes, up to the annotation."""

    def symptom(self, mod: IRModule) -> Symptom | None:
        partitioned = PartitionGraph()(mod)
        return None if regions_of(partitioned) else Symptom(self.not_offloaded, partitioned)

    def module(self) -> IRModule:
        return run_passes(self.plain(), self.passes(), self.level)

    def fixed(self) -> IRModule:
        return run_passes(self.plain(), self.right_passes())

    def diagnosis(self) -> ExpectedDiagnosis:
        with PassContext(opt_level=self.level):
            return lint_says(self.plain(), self.passes())


def run_passes(mod: IRModule, passes: Sequence[Pass], level: int = 3) -> IRModule:
    """The module after the given passes and InferType."""
    with PassContext(opt_level=level):
        return Sequential([*passes, InferType()])(mod)


def regions_of(mod: IRModule) -> list[Function]:
    """The external functions of a partitioned module."""
    return [f for f in mod.functions.values() if "Compiler" in f.attrs]


def operators_in(func: Function) -> list[str]:
    """The names of the operators that a function calls, including calls in its composites."""
    calls = (n for n in post_order(func) if isinstance(n, Call))
    return [c.op.name for c in calls if isinstance(c.op, Op)]
