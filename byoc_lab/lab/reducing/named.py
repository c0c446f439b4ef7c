"""Named predicates: the properties that `reduce` and the command line can preserve."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from byoc_lab.backends import registry
from byoc_lab.errors import ArgumentError, ByocLabError, UnknownNameError, nearest
from byoc_lab.lab.checking.bisected import Bisection
from byoc_lab.lab.checking.bisection import bisect
from byoc_lab.lab.checking.report import Report
from byoc_lab.lab.checking.validation import validate
from byoc_lab.lab.explaining import CAUSES, Explanation, decode, explain
from byoc_lab.lab.linting.context import context_of
from byoc_lab.lab.linting.discovery import chosen_rules
from byoc_lab.lab.linting.examine import examine
from byoc_lab.lab.linting.finding import Finding
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.passes import Sequential, leaves, make_pass, pass_names
from byoc_lab.passes.framework.pipelines import named_pipeline, pipeline_names
from byoc_lab.plugins import import_code
from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.run.build import build

DEFAULT_TARGET = "dnnl"
KINDS_THAT_RUN_CODE = ("crash", "wrong", "bisect")
"""Kinds of predicates that run a back end's code, which can end the process."""


@dataclass(frozen=True)
class NamedPredicate:
    """A predicate that is written as text: `kind:what`, such as "finding:BYL013".

    target: the name of the back end. pipeline: the passes that run on the module: the name of a
    pipeline, or pass names separated by commas. None: the passes of the back end, or no passes for
    a finding. imports: modules and files that register the names it uses.
    """

    text: str
    kind: str
    what: str
    target: str | None
    pipeline: str | None
    imports: tuple[str, ...] = ()

    def __call__(self, mod: IRModule) -> bool:
        return KINDS[self.kind].found(self, mod) is not None

    def said(self, mod: IRModule) -> str:
        """The finding, error, report or explanation that proves that it holds; "" if it does not
        hold."""
        found = KINDS[self.kind].found(self, mod)
        if isinstance(found, Exception):
            return f"{type(found).__name__}: {found}"
        return "" if found is None else str(found)

    @property
    def __name__(self) -> str:
        given = [f"{n}={v}" for n, v in (("target", self.target), ("pipeline", self.pipeline)) if v]
        return f"{self.text} ({', '.join(given)})" if given else self.text

    def __reduce__(self) -> tuple[Any, ...]:  # a separate process may lack the back end
        return _named, (self.text, self.target, self.pipeline, self.imports)

    def is_crash(self, reason: str) -> bool:
        """Whether this predicate asks for the crash of a process that `reason` describes, such as
        "its process crashed (SIGSEGV)"."""
        return self.kind == "crash" and self.what in reason

    @property
    def uses(self) -> list[str]:
        """The names of the back ends and the pipeline that it uses."""
        asks = "[on BACKEND]" in KINDS[self.kind].form
        members = (self.pipeline or "").split(",")
        pipelines = [name for m in members if (name := m.strip()) not in pass_names()]
        names = [self.backend if asks else self.target, *pipelines]
        return list(dict.fromkeys(filter(None, names)))

    @property
    def arguments(self) -> str:
        """The arguments of `predicate_named` that create it."""
        given = [repr(self.text)]
        if self.target is not None:
            given.append(f"target={self.target!r}")
        if self.pipeline is not None:
            given.append(f"pipeline={self.pipeline!r}")
        if self.imports:
            given.append(f"imports={list(self.imports)!r}")
        return ", ".join(given)

    @property
    def backend(self) -> str:
        """The name of the back end to ask: from "... on BACKEND", else `target`, else the first
        target that the pipeline annotates."""
        return self._asked_about[1] or self.target or self._annotated_for or DEFAULT_TARGET

    @property
    def _annotated_for(self) -> str:
        passes = self.passes
        members = leaves(named_pipeline(passes)) if isinstance(passes, str) else []
        targets = (t for p in members if isinstance(p, AnnotateTarget) for t in p.targets)
        return next(targets, "")

    @property
    def subject(self) -> str:
        """The subject of the predicate, without "on BACKEND"."""
        return self._asked_about[0]

    @property
    def _asked_about(self) -> tuple[str, str]:
        """The subject, and the back end that the text names, else ""."""
        if "[on BACKEND]" not in KINDS[self.kind].form:
            return self.what, ""
        subject, _, backend = self.what.partition(" on ")
        return subject.strip(), backend.strip()

    @property
    def passes(self) -> str | list[str] | None:
        """The name of the pipeline, or the names of its passes."""
        return None if self.pipeline is None else _members(self.pipeline)

    def passed(self, mod: IRModule) -> IRModule:
        """The module after the passes have run."""
        members = _members(self.pipeline or self.backend)
        with PassContext(opt_level=3):
            if isinstance(members, str):
                passes = named_pipeline(members)
            else:
                passes = [make_pass(name) for name in members]
            return Sequential(passes, name=self.pipeline or self.backend)(mod)


def _members(pipeline: str) -> str | list[str]:
    """The name of a pipeline, or pass names. Raises UnknownNameError."""
    names = [part.strip() for part in pipeline.split(",")]
    if pipeline not in pipeline_names() and all(name in pass_names() for name in names):
        return names
    named_pipeline(pipeline)
    return pipeline


def _finding(asked: NamedPredicate, mod: IRModule) -> Finding | None:
    context = context_of(asked.passes, asked.target)
    found = examine(mod, chosen_rules([asked.what]), context)
    return next((f for cause in found for f in cause if asked.what in (f.code, f.name)), None)


def _error(asked: NamedPredicate, mod: IRModule) -> ByocLabError | None:
    try:
        asked.passed(mod)
    except ByocLabError as error:
        text = str(error)
        if asked.what in text or any(asked.what == m.name for m in decode(text)):
            return error
    return None


def _crash(asked: NamedPredicate, mod: IRModule) -> Exception | None:
    try:
        build(asked.passed(mod))
    except Exception as error:  # the error is the outcome that the predicate is about
        if asked.what == type(error).__name__ or asked.what in str(error):
            return error
    return None


def _wrong(asked: NamedPredicate, mod: IRModule) -> Report | None:
    report = validate(mod, asked.passed(mod), progress=lambda update: None)
    return report if report.wrong else None


def _bisect(asked: NamedPredicate, mod: IRModule) -> Bisection | None:
    passes = asked.passes or asked.backend
    found = bisect(mod, passes, kernels=False, progress=lambda update: None)
    return found if found.stage == asked.what else None


def _not_offloaded(asked: NamedPredicate, mod: IRModule) -> Explanation | None:
    found = explain(mod, asked.backend, None, asked.passes)
    return next((e for e in found if e.name == asked.subject and e.status == "host"), None)


def _cause(asked: NamedPredicate, mod: IRModule) -> Explanation | None:
    found = explain(mod, asked.backend, None, asked.passes)
    return next((e for e in found if e.cause == asked.subject), None)


def _rule(asked: NamedPredicate) -> None:
    chosen_rules([asked.what])
    context_of(asked.passes, asked.target)


def _backend(asked: NamedPredicate) -> None:
    registry.get(asked.backend)


def _operator(asked: NamedPredicate) -> None:
    _backend(asked)
    Op.get(asked.subject)


def _known_cause(asked: NamedPredicate) -> None:
    _backend(asked)
    if asked.subject not in CAUSES:
        raise ArgumentError(
            f"{asked.text!r}: explain has no cause {asked.subject!r}; "
            f"{nearest(asked.subject, CAUSES)}"
        )


@dataclass(frozen=True)
class Kind:
    """A kind of predicate: its form, its meaning, a function that returns the evidence for a module
    (None if it does not hold), and the check of the text after the colon."""

    form: str
    says: str
    found: Callable[[NamedPredicate, IRModule], object]
    check: Callable[[NamedPredicate], None] = _backend


KINDS = {
    "finding": Kind("finding:CODE", "the rule of this code or name reports a finding",
                    _finding, _rule),
    "error": Kind("error:TEXT", "the passes fail with a message that contains this text, or "
                  "that decode recognizes under this name", _error),
    "crash": Kind("crash:TEXT", "build fails after the passes with an error of this class, or "
                  "with this text; guarded, a crash such as SIGSEGV counts, too",
                  _crash),
    "wrong": Kind("wrong:BACKEND", "validate finds wrong numbers on this back end", _wrong),
    "bisect": Kind("bisect:PASS", "bisect says that this pass changes the numbers", _bisect),
    "not-offloaded": Kind("not-offloaded:OPERATOR [on BACKEND]",
                          "the back end does not compute a call of the operator",
                          _not_offloaded, _operator),
    "cause": Kind("cause:CAUSE [on BACKEND]", "explain gives this cause for a call",
                  _cause, _known_cause),
}  # fmt: skip


def _named(
    text: str, target: str | None, pipeline: str | None, imports: tuple[str, ...]
) -> NamedPredicate:
    try:
        return predicate_named(text, target=target, pipeline=pipeline, imports=imports)
    except UnknownNameError as error:
        raise UnknownNameError(
            f"{error}. A separate process only has the registrations of installed packages, and "
            f"of code given to byoc-lab with --import. For others, leave out guarded=True, or "
            f"give "
            f"predicate_named(..., imports=[FILE])"
        ) from error


def predicate_named(
    text: str,
    *,
    target: str | None = None,
    pipeline: str | None = None,
    imports: Iterable[str] = (),
) -> NamedPredicate:
    """The predicate that a text such as "finding:BYL013" describes; `KINDS` has the forms.

    imports: names of modules and files (.py) to import, which register back ends and pipelines.

    Raises ArgumentError for a text in none of these forms, UnknownNameError for an unknown rule,
    operator, back end or pipeline, and PlugInError for code that cannot be imported.
    """
    for code in imports:
        import_code(code)
    kind, colon, what = text.partition(":")
    if kind not in KINDS or not what.strip():
        hint = nearest(kind, KINDS) if colon and kind not in KINDS else "write one of these:"
        forms = "".join(f"\n  {k.form}: {k.says}" for k in KINDS.values())
        raise ArgumentError(f"{text!r:.100} is not a predicate; {hint}{forms}")
    what = what.strip()
    if kind == "wrong":
        target = what
    made = NamedPredicate(text, kind, what, target, pipeline, tuple(imports))
    KINDS[kind].check(made)
    if pipeline is not None:
        _members(pipeline)
    return made
