"""`TracedPipeline`: the passes of one run of a pipeline, and the calls of its stages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from byoc_lab.backends import registry
from byoc_lab.lab.explaining.module_changes import data, weights
from byoc_lab.lab.explaining.outcome import PipelineRun
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.predicates import Checked, labels
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import (
    Call,
    Expr,
    Op,
    Tuple,
    TupleGetItem,
)
from byoc_lab.relay.patterns.below import operators_of


class TracedPipeline:
    """A pipeline that ran on a module, for one target. The "matched module" is the module in which
    patterns are matched: the input of the stage `matching`.

    outcome: the run of the setup. given: maps each typed call of the module to the caller's call,
    which may be untyped.
    """

    def __init__(self, setup: Setup, outcome: PipelineRun, given: Mapping[Call, Call]):
        self.setup = setup
        self.given = given
        self.target = outcome.target
        self.outcome = outcome

    # The pipeline --------------------------------------------------------------------------------

    @cached_property
    def merge_composite(self) -> tuple[int, MergeComposite] | None:
        """The position of MergeComposite in the pipeline, and the pass."""
        return self.setup.first(MergeComposite)

    @cached_property
    def annotate_target(self) -> tuple[int, AnnotateTarget] | None:
        """The position of AnnotateTarget in the pipeline, and the pass; if there are several, the
        one with the target."""
        every = list(self.setup.every(AnnotateTarget))
        return next((e for e in every if self.target in e[1].targets), every[0] if every else None)

    @cached_property
    def annotated_targets(self) -> Sequence[str]:
        """The targets of AnnotateTarget, in its order."""
        asked = (t for _, p in self.setup.every(AnnotateTarget) for t in p.targets)
        return list(dict.fromkeys(asked))

    @property
    def table(self) -> Sequence[Checked]:
        """The pattern table of the pipeline."""
        return self.merge_composite[1].table if self.merge_composite else ()

    @cached_property
    def table_of_target(self) -> Sequence[Checked]:
        """The pattern table with which the target is registered; empty if it is not registered."""
        return registry.get(self.target).patterns() if registry.is_registered(self.target) else ()

    def registered_with(self, operator: str) -> list[str]:
        """The names of the patterns with an operator in the table with which the target is
        registered."""
        return _with_operator(operator, self.table_of_target)

    def matched_later(self, operator: str) -> list[str]:
        """The names of the patterns with an operator in the table of a later MergeComposite."""
        later = list(self.setup.every(MergeComposite))[1:]
        return [n for _, p in later for n in _with_operator(operator, p.table)]

    @cached_property
    def labels(self) -> Sequence[str]:
        """The names of the table's entries, made unique."""
        return labels(self.table)

    def predicate(self, call: Call) -> Callable[[Call], Any] | None:
        """The target's predicate for the operator of a call."""
        if self.annotate_target is None or not isinstance(call.op, Op):
            return None
        found: Callable[[Call], Any] | None = self.annotate_target[1].predicate(
            call.op, self.target
        )
        return found

    def is_changing(self, predicate: object) -> bool:
        """Whether a check or predicate answered differently when it was asked again."""
        return any(predicate is p for p in self.outcome.changing)

    # Stages --------------------------------------------------------------------------------------

    @cached_property
    def matching(self) -> int:
        """The number of the stage that matches patterns, MergeComposite, or else of AnnotateTarget;
        the number of stages if neither ran. Its input is the matched module."""
        for name in ("MergeComposite", "AnnotateTarget"):
            stage = self.outcome.stage(name)
            if stage is not None:
                return stage
        return len(self.outcome.trace.stages)

    def subjects(self, call: Call) -> Sequence[Call]:
        """The calls of the matched module that compute a call of the input: those that stay on the
        host, or all of them if none does."""
        images = self.outcome.images(call, self.matching)
        homes = self.outcome.homes
        outside = []
        for image in images:
            final = self.outcome.follow(image, self.matching)
            if not final or any(n not in homes or homes[n].compiler != self.target for n in final):
                outside.append(image)
        return outside or images or [call]

    def pass_that_replaced(self, call: Call) -> str:
        """The pass before matching that replaced the operator of a call, by name."""
        for n in range(self.matching):
            images = self.outcome.images(call, n + 1)
            if all(i.op_name != call.op_name for i in images):
                return self.outcome.trace.stages[n].name
        return "a pass"

    @cached_property
    def positions(self) -> dict[Call, int]:
        """The position of each call of the input."""
        return {c: n for n, c in enumerate(self.outcome.calls)}

    @cached_property
    def weights(self) -> tuple[str, ...]:
        """The names of the parameters of @main that are weights."""
        return weights(self.setup.mod)

    @cached_property
    def data(self) -> frozenset[str]:
        """The names of the parameters of @main that are inputs of the network, not weights."""
        return data(self.setup.mod)

    def origin(self, node: Call) -> Call | None:
        """The call of the input from which a call of the matched module originates."""
        return self._origins.get(node)

    @cached_property
    def _origins(self) -> dict[Call, Call]:
        found: dict[Call, Call] = {}
        for call in self.outcome.calls:
            for image in self.outcome.images(call, self.matching):
                found.setdefault(image, call)
        return found

    def origins_of(self, nodes: Iterable[Expr]) -> dict[Expr, Expr]:
        """The calls, tuples and fields of the input from which nodes of the matched module
        originate."""
        kinds = (Call, Tuple, TupleGetItem)
        found: dict[Expr, Expr] = {}
        for node in nodes:
            every = self._all_before(self.matching, node)
            alike = (o for o in every if isinstance(o, kinds) and type(o) is type(node))
            origin = self.origin(node) if isinstance(node, Call) else next(alike, None)
            if origin is not None:
                found[node] = origin
        return found

    def origin_before(self, stage: int, node: Expr) -> Expr:
        """The call of the input from which a call of the module before a stage originates: among
        several, the one with its operator, else the nearest. The node itself if it has no
        origin."""
        found = self._all_before(stage, node)
        name = node.op_name if isinstance(node, Call) else ""
        calls = [n for n in found if isinstance(n, Call) and n in self.positions]
        return next((c for c in calls if c.op_name == name), calls[0] if calls else node)

    def _all_before(self, stage: int, node: Expr) -> tuple[Expr, ...]:
        """The nodes of the input from which a node of the module before a stage originates."""
        found: tuple[Expr, ...] = (node,)
        for s in reversed(self.outcome.trace.stages[:stage]):
            if s.after is not None and s.after is not s.before:
                every = dict.fromkeys(o for n in found for o in s.origins(n))
                found = tuple(o for o in every if not is_annotation(o))
        return found


def _with_operator(operator: str, table: Sequence[tuple[Any, ...]]) -> list[str]:
    """The names of the patterns that have an operator."""
    return [n for n, p, *_ in table if operator in (operators_of(p) or ())]
