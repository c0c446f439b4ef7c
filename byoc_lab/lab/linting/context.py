"""The context of a lint run other than the module: the passes still to run, and the back end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from byoc_lab.backends.registry import Backend, is_registered
from byoc_lab.backends.registry import get as get_backend
from byoc_lab.errors import ArgumentError
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget, prefix_of
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.passes import Pass, Sequential, leaves, make_pass, skipped_members
from byoc_lab.passes.framework.pipelines import named_pipeline, running_level
from byoc_lab.relay.analysis.region_numbers import Numbers
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.patterns import DFPattern

_Member = str | Pass | Callable[[IRModule], IRModule]
Pipeline = _Member | Sequence[_Member]


@dataclass(frozen=True)
class Skip:
    """Why a run skips a pass. needed: the opt_level that the pass needs, or None if it is disabled.
    found: the opt_level of its context."""

    needed: int | None
    found: int

    @classmethod
    def of(cls, p: Pass, context: PassContext) -> Skip:
        return cls(context.needed_level(p.info), context.opt_level)


@dataclass(frozen=True, eq=False)
class Context:
    """The future run for which a module is linted.

    passes: the passes still to run on it, with sequences flattened; None if they are not known.
        skipped: the passes and sequences that the pipeline will skip, and why. backend: the back
        end whose code generator gets the regions, if it was named. region_numbers: the region
        numbers that begins of the module have from earlier stages. ahead: cached results of
        `annotated_ahead`, by the module before the passes. raised: the name of a function of the
        user after the passes that raises, and its exception.
    """

    passes: tuple[Pass, ...] | None = None
    skipped: dict[Pass, Skip] = field(default_factory=dict)
    backend: Backend | None = None
    region_numbers: Numbers = field(default_factory=dict)
    ahead: dict[IRModule, IRModule | None] = field(default_factory=dict, repr=False)
    raised: tuple[str, Exception] | None = None
    _patterns: dict[str, dict[str, DFPattern]] = field(default_factory=dict, init=False)

    def pattern_of(self, composite: str) -> DFPattern | None:
        """The pattern with the name of a composite: from the pipeline's table, else from the table
        of the back end named at the start of the composite's name."""
        backend = self.backends.get(prefix_of(composite) or "")
        registered = {} if backend is None else self.patterns_of(backend)
        found = (pattern for name, pattern, *_ in self.table if name == composite)
        return next(found, registered.get(composite))

    def patterns_of(self, backend: Backend) -> dict[str, DFPattern]:
        """The pattern table of one of `backends`, by name. It is kept, because a back end may
        create its table at each request."""
        if backend.name not in self._patterns:
            table = reversed([*backend.patterns()])  # so the first entry with a name wins
            self._patterns[backend.name] = {name: pattern for name, pattern, *_ in table}
        return self._patterns[backend.name]

    @cached_property
    def table(self) -> tuple[tuple[Any, ...], ...]:
        """The pattern table of the first MergeComposite in the pipeline, else that of the back
        end."""
        for p in self.passes or ():
            if isinstance(p, MergeComposite):
                return tuple(p.table)
        if self.passes is None and self.backend is not None:
            return tuple(self.backend.patterns())
        return ()

    @cached_property
    def drops_default(self) -> bool:
        """Whether PartitionGraph drops the annotations of "default"; that of January 2020 treats
        them as those of any other compiler."""
        return all(p.era is None for p in self.running if isinstance(p, PartitionGraph))

    @property
    def may_merge(self) -> bool:
        """Whether MergeCompilerRegions may run: false only for a given pipeline without it."""
        return self.passes is None or self.has(MergeCompilerRegions)

    @cached_property
    def targets(self) -> tuple[str, ...]:
        """The compilers that the module will be annotated for."""
        found = [t for p in self.passes or () if isinstance(p, AnnotateTarget) for t in p.targets]
        if self.passes is None and self.backend is not None:
            found.append(self.backend.name)
        return tuple(dict.fromkeys(found))

    def has(self, kind: type[Pass]) -> bool:
        return any(isinstance(p, kind) for p in self.passes or ())

    @cached_property
    def running(self) -> tuple[Pass, ...]:
        """The passes that will run: those that are not skipped."""
        skipped = set(leaves(list(self.skipped)))
        return tuple(p for p in self.passes or () if p not in skipped)

    @cached_property
    def to_come(self) -> Context:
        """The context with the passes that rules simulate: without a given pipeline, the passes of
        the named back end."""
        named = self.backend
        if self.passes is not None or named is None or not is_registered(named.name):
            return self
        return context_of(named.name, named) if get_backend(named.name) is named else self

    @cached_property
    def backends(self) -> dict[str, Backend]:
        """The back ends that get regions, by name: the named back end, and registered targets."""
        found = {t: get_backend(t) for t in self.targets if is_registered(t)}
        return found | ({self.backend.name: self.backend} if self.backend is not None else {})

    def while_annotated(self) -> tuple[Pass, ...]:
        """The passes that will run on an annotated module: from AnnotateTarget (without it, from
        the first pass) to PartitionGraph."""
        first = next((n for n, p in enumerate(self.running) if isinstance(p, AnnotateTarget)), -1)
        rest = self.running[first + 1 :]
        last = next((n for n, p in enumerate(rest) if isinstance(p, PartitionGraph)), len(rest))
        return rest[:last]

    def before(self, kind: type[Pass]) -> tuple[Pass, ...]:
        """The passes before the first pass of a class; all of them without such a pass."""
        passes = self.passes or ()
        for n, p in enumerate(passes):
            if isinstance(p, kind):
                return passes[:n]
        return passes


def context_of(pipeline: Pipeline | Context | None, backend: str | Backend | None) -> Context:
    """The context of a call of `lint`; its `pipeline` argument may already be a context. Raises
    ArgumentError, UnknownNameError and PassError."""
    if isinstance(backend, str):
        backend = get_backend(backend)
    elif not isinstance(backend, (Backend, type(None))):
        raise ArgumentError(
            f"backend must be the name of a registered back end or a Backend, found "
            f"{type(backend).__name__} {backend!r:.80}"
        )
    if pipeline is None:
        return Context(backend=backend)
    if isinstance(pipeline, Context):
        return replace(pipeline, backend=backend)
    members = _members(pipeline)
    passes = tuple(leaves(members))
    if isinstance(pipeline, Pass):  # a pass called directly runs at any level
        members = pipeline.passes if isinstance(pipeline, Sequential) else []
    context = copy(PassContext.current())
    context.opt_level = running_level(pipeline)
    skipped = {p: Skip.of(p, context) for p in skipped_members(members, context)}
    return Context(passes, skipped, backend)


def _members(pipeline: Any) -> list[Pass]:
    if isinstance(pipeline, Pass):
        return [pipeline]
    if isinstance(pipeline, str):
        return named_pipeline(pipeline)
    if not isinstance(pipeline, Sequence):
        raise ArgumentError(
            f"pipeline must be a name, a pass, a function from module to module, or a list of "
            f"these, found {type(pipeline).__name__} {pipeline!r:.80}"
        )
    for member in pipeline:
        if isinstance(member, type):
            raise ArgumentError(
                f"a pipeline consists of passes, found the class {member.__name__}; write "
                f"{member.__name__}(...) or its name in quotes"
            )
        if not isinstance(member, (str, Pass)):
            raise ArgumentError(
                f"a pipeline is a list of passes, names of passes and functions, found "
                f"{type(member).__name__} {member!r:.80} in it"
            )
    return [make_pass(p) if isinstance(p, str) else p for p in pipeline]
