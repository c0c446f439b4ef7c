"""`Setup`: a module and the pipeline that runs on it, pass by pass."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from byoc_lab.backends import registry
from byoc_lab.errors import PassError
from byoc_lab.lab.explaining.outcome import Known, PipelineRun, Step
from byoc_lab.lab.tracing.recorder import (
    Member,
    Pipeline,
    as_member,
    as_pass,
    not_a_pipeline,
    recorded,
)
from byoc_lab.lab.tracing.stages import Stage, Trace
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.byoc.partition_graph import PartitionGraph
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Pass, Sequential, leaves, skipped_members
from byoc_lab.passes.framework.pipelines import named_pipeline, running_level
from byoc_lab.passes.framework.predicates import Answers, collected_answers
from byoc_lab.relay.ir.module import IRModule

Kind = TypeVar("Kind", bound=Pass)
PARTITIONING = (MergeComposite, AnnotateTarget, MergeCompilerRegions, PartitionGraph)
"""The passes whose relative order is fixed."""


@dataclass(frozen=True, eq=False)
class Setup:
    """The inputs of a run: the module, the passes, and the PassContext at the time of the request.

    own: the PassContext of each pass that a user's function runs in a separate one.
    """

    mod: IRModule
    passes: tuple[Pass, ...]
    context: PassContext
    own: Mapping[Pass, PassContext] = field(default_factory=dict)

    @classmethod
    def of(cls, mod: IRModule, pipeline: Pipeline) -> Setup:
        """The setup of `pipeline` on `mod`, at its usual level (`running_level`)."""
        members: Sequence[Member]
        least = 0
        if isinstance(pipeline, str):
            members = named_pipeline(pipeline)
        elif isinstance(pipeline, Sequential):
            members = pipeline.passes
        elif isinstance(pipeline, Pass):
            members, least = [pipeline], pipeline.opt_level  # a pass called directly always runs
        elif isinstance(pipeline, (list, tuple)):
            members = pipeline
        elif callable(pipeline):
            members = [pipeline]
        else:
            raise not_a_pipeline(pipeline)
        context = copied(PassContext.current(), opt_level=max(running_level(pipeline), least))
        return cls(mod, tuple(_with_one_table(flat(members, context))), context)

    @classmethod
    def asked(cls, mod: IRModule, target: str, pipeline: Pipeline | None) -> Setup:
        """The setup of `pipeline` on `mod`; by default the pipeline of the back end `target`.

        Raises UnknownNameError if the target is not registered and no pass of the pipeline
        annotates for it.
        """
        made = None if pipeline is None else cls.of(mod, pipeline)
        annotating = [] if made is None else leaves([p for p in made.passes if isinstance(p, Pass)])
        if not any(isinstance(p, AnnotateTarget) and target in p.targets for p in annotating):
            registry.get(target)
        return cls.of(mod, target) if made is None else made

    def run(self, target: str, known: Known | None = None) -> PipelineRun:
        """Run the pipeline, reusing known results. Without known results, checks and predicates are
        asked a second time, to compare their answers. Raises the errors of the passes, except for
        malformed regions."""
        again = known is None
        known = {} if known is None else known
        answers: list[Answers] = []
        stages: list[Stage] = []
        mod, error = self.mod, None
        for member in self.passes:
            step = mod, member, self.context_of(member)
            if step not in known:
                with step[-1], collected_answers(again) as asked:
                    ran = recorded(as_pass([member], None), mod)
                known[step] = Step(*ran, asked)
            done = known[step]
            stages += [s.at(n) for n, s in enumerate(done.stages, start=len(stages))]
            answers.append(done.answers)
            error = done.error
            if error is not None:
                break
            mod = done.result(mod)
        if not stages:
            raise error or PassError("the pipeline has no passes; give at least one")
        run = Trace(stages, "pipeline", error, as_pass(self.passes, None))
        return PipelineRun(run, target, answers, known)

    def result(self, mod: IRModule, start: int = 0, stop: int | None = None) -> IRModule:
        """The result of the passes at some positions on a module. Raises the errors of the
        passes."""
        for member in self.passes[start:stop]:
            with self.context_of(member):
                mod = Sequential([member])(mod)
        return mod

    def context_of(self, p: Pass) -> PassContext:
        """The PassContext in which a pass runs."""
        return self.own.get(p, self.context)

    @property
    def contexts(self) -> tuple[PassContext, ...]:
        """The PassContext of each pass."""
        return tuple(map(self.context_of, self.passes))

    def context_at(self, position: int) -> PassContext:
        """The context of a new pass at a position: the context of the pass there, else of the last
        pass."""
        beside = self.passes[position : position + 1] or self.passes[-1:]
        return self.context_of(beside[0]) if beside else self.context

    def skipped(self) -> Iterator[tuple[Pass, PassContext]]:
        """The passes, and members of sequences among them, that do not run, with their contexts."""
        for member in self.passes:
            context = self.context_of(member)
            for p in skipped_members([member], context):
                yield p, context

    def at_level(self, opt_level: int) -> Setup:
        """Raise lower opt_levels to this one."""
        return self._with_contexts(
            {
                c: copied(c, opt_level=opt_level)
                for c in (self.context, *self.own.values())
                if c.opt_level < opt_level
            }
        )

    def enabling(self, *names: str) -> Setup:
        """Enable the disabled passes with these names."""
        return self._with_contexts({
            c: copied(c, disabled_pass=[n for n in c.disabled_pass if n not in names])
            for c in (self.context, *self.own.values())
        })  # fmt: skip

    def _with_contexts(self, new: Mapping[PassContext, PassContext]) -> Setup:
        own = {p: new.get(c, c) for p, c in self.own.items()}
        return replace(self, context=new.get(self.context, self.context), own=own)

    def first(self, kind: type[Kind]) -> tuple[int, Kind] | None:
        """The position of the first pass of a class, and the pass."""
        return next(self.every(kind), None)

    def every(self, kind: type[Kind]) -> Iterator[tuple[int, Kind]]:
        """The positions of the passes of a class, and the passes."""
        return ((n, p) for n, p in enumerate(self.passes) if isinstance(p, kind))

    @property
    def partitioning(self) -> int:
        """The position of the first partitioning pass; 0 if there is none."""
        return next((n for n, p in enumerate(self.passes) if _partitions(p)), 0)

    def unpartitioned(self, ran: PipelineRun) -> IRModule:
        """The input module of this pass in a run of the setup."""
        mod = self.mod
        for member in self.passes[: self.partitioning]:
            mod = ran.known[mod, member, self.context_of(member)].result(mod)
        return mod

    def with_pass(self, position: int, *new: Pass) -> Setup:
        """Insert further passes before the pass at `position`."""
        context = self.context_at(position)
        passes = (*self.passes[:position], *new, *self.passes[position:])
        return replace(self, passes=passes, own={**self.own, **dict.fromkeys(new, context)})

    def replacing(self, position: int, new: Pass) -> Setup:
        """Replace the pass at `position`."""
        passes = list(self.passes)
        context = self.context_of(passes[position])
        passes[position] = new
        return replace(self, passes=tuple(passes), own={**self.own, new: context})


def copied(context: PassContext, **changed: Any) -> PassContext:
    copied = copy(context)
    copied.__dict__.update(changed)
    return copied


def _partitions(p: Pass) -> bool:
    return any(isinstance(leaf, PARTITIONING) for leaf in leaves([p]))


def _with_one_table(passes: Iterable[Pass]) -> list[Pass]:
    """Replace consecutive MergeComposite passes by one with the same result, because entries are
    tried one after the other."""
    made: list[Pass] = []
    for p in passes:
        places = (n for n in reversed(range(len(made))) if not isinstance(made[n], InferType))
        before = next(places, None)
        last = None if before is None else made[before]
        if (
            before is not None
            and isinstance(last, MergeComposite)
            and isinstance(p, MergeComposite)
        ):
            made[before] = MergeComposite([*last.table, *p.table])
        else:
            made.append(p)
    return made


def flat(pipeline: Sequence[Member], context: PassContext) -> Iterator[Pass]:
    """The members of a pipeline. Nested sequences are replaced by their members if they are unnamed
    or contain partitioning passes, provided that no member is skipped and they require no other
    passes."""
    for p in map(as_member, pipeline):
        runs = context.enables(p.info) and not p.required
        if isinstance(p, Sequential) and runs and (p.name == "sequential" or _partitions(p)):
            yield from flat(p.passes, context)
        else:
            yield p
