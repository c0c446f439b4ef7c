"""`Inquiry`: one run of a pipeline, with the properties needed to explain its calls."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any

from byoc_lab.backends import registry
from byoc_lab.lab.explaining.module_changes import weights
from byoc_lab.lab.explaining.naming import NodeNames, named
from byoc_lab.lab.explaining.nearby import computed_from_constants
from byoc_lab.lab.explaining.outcome import EnclosingRegion, PipelineRun, annotated, homes_of
from byoc_lab.lab.explaining.region_paths import RegionPaths
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.lab.tracing.stages import Stage
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget, prefix_of
from byoc_lab.passes.byoc.merge_composite import MergeComposite
from byoc_lab.passes.framework.passes import is_optimizable
from byoc_lab.passes.framework.predicates import Checked, labels
from byoc_lab.passes.normal_form.to_graph_normal_form import ToGraphNormalForm
from byoc_lab.relay.analysis.annotations import is_annotation
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    Let,
    Op,
    Tuple,
    TupleGetItem,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns.below import operators_of
from byoc_lab.relay.patterns.grouping import Group, find_groups
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.near_miss import NearMatcher


class Inquiry:
    """A pipeline that ran on a module, for one target; everything else is computed on demand. The
    "matched module" below is the module in which patterns are matched (`matched`).

    outcome: the run of the setup. given: maps each typed call of the module to the caller's call,
    which may be untyped.
    """

    def __init__(
        self,
        setup: Setup,
        outcome: PipelineRun,
        given: Mapping[Call, Call],
    ):
        self.setup = setup
        self.given = given
        self.target = outcome.target
        self.outcome = outcome
        self._groups: dict[tuple[int, IndexedGraph], list[Group]] = {}
        self._entries: dict[str, list[int]] = {}
        self._matchers: dict[tuple[int, IndexedGraph], NearMatcher] = {}
        self._homes: dict[IRModule, dict[Expr, EnclosingRegion]] = {}

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

    def may_take(self, subject: Call) -> bool:
        """Whether a pattern or a predicate of the target has the operator of a call."""
        return bool(self.entries_with(subject.op_name)) or self.predicate(subject) is not None

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

    # Names ---------------------------------------------------------------------------------------

    @cached_property
    def names(self) -> NodeNames:
        """The names of the nodes in the text of the input."""
        return NodeNames(self.setup.mod)

    def called(self, node: Expr) -> str:
        """Describes a node of the input, or of the matched module, with its name in the text of the
        input."""
        return named(node, self.names, self.origin(node) if isinstance(node, Call) else None)

    def result_of(self, function: Function) -> str:
        """Describes the result of a function of the matched module."""
        stages = self.outcome.trace.stages
        for mod in (s.before for s in stages[self.matching :]):
            for gv, func in mod.functions.items():
                if func is function:
                    return f"the result of @{gv.name_hint}"
        return "the result of a function"

    def described(self, node: Expr) -> str:
        """As `called`, followed by the type."""
        typed = node.is_typed and not isinstance(node, Constant)  # its name already has the type
        return self.called(node) + (f" of type {node.checked_type}" if typed else "")

    # After PartitionGraph ------------------------------------------------------------------------

    def partitioned_home(self, subject: Call) -> EnclosingRegion | None:
        """The region of a call of the matched module directly after PartitionGraph."""
        stage = self.outcome.stage("PartitionGraph")
        if stage is None or self._partitioned is None:
            return None
        for image in self.outcome.follow(subject, self.matching, stage + 1):
            if image in self._partitioned:
                return self._partitioned[image]
        return None

    @cached_property
    def _partitioned(self) -> dict[Expr, EnclosingRegion] | None:
        stage = self.outcome.stage("PartitionGraph")
        after = self.outcome.trace.stages[stage].after if stage is not None else None
        return homes_of(after) if after is not None else None

    @cached_property
    def failed(self) -> Stage | None:
        """The stage that raised an error because the regions are malformed."""
        return self.outcome.trace.stages[-1] if self.outcome.trace.error is not None else None

    def is_annotated(self, subject: Call) -> bool:
        """Whether annotations assigned a call of the matched module to the target before that
        stage."""
        return not self._annotated.isdisjoint(self.outcome.follow(subject, self.matching))

    @cached_property
    def _annotated(self) -> set[Expr]:
        return annotated(self.outcome.trace.final, self.target)

    def path_apart(self, subject: Call) -> tuple[Expr, ...]:
        """The path that prevents merging the region of a call of the matched module with a
        neighbour of the same target. Nodes on the path are given as calls of the input if they
        originate there; empty if there is no such path."""
        stage = self.outcome.stage("MergeCompilerRegions")
        if stage is None or self._region_paths is None:
            return ()
        for image in self.outcome.follow(subject, self.matching, stage + 1):
            path = self._region_paths.apart(image)
            if path:
                return tuple(dict.fromkeys(self.origin_before(stage + 1, n) for n in path))
        return ()

    @cached_property
    def _region_paths(self) -> RegionPaths | None:
        stage = self.outcome.stage("MergeCompilerRegions")
        after = self.outcome.trace.stages[stage].after if stage is not None else None
        return RegionPaths(after) if after is not None else None

    def taken_out(self, subject: Call, region: str) -> tuple[str, bool]:
        """The name of the pass that removed a call of the matched module from all regions of the
        target; and whether `region` is then gone."""
        first = self.outcome.stage("PartitionGraph")
        for stage in self.outcome.trace.stages[(first or 0) + 1 :]:
            images = self.outcome.follow(subject, self.matching, stage.index + 1)
            homes = self._homes_after(stage)
            if not any(i in homes and homes[i].compiler == self.target for i in images):
                return stage.name, not any(h.region == region for h in homes.values())
        return "a later pass", False

    def _homes_after(self, stage: Stage) -> dict[Expr, EnclosingRegion]:
        mod = stage.before if stage.after is None else stage.after
        if mod not in self._homes:
            self._homes[mod] = homes_of(mod)
        return self._homes[mod]

    def composite(self, node: Call) -> str | None:
        """The name of the composite function into which a call of the matched module was moved; for
        nested composites, the first one that was created."""
        return next(iter(self.composites(node)), None)

    def composites(self, node: Call) -> Sequence[str]:
        """The names of the composite functions around a call of the matched module. The innermost,
        which was created first, is listed first."""
        return [str(f.attrs["Composite"]) for f in self._composites_around(node)]

    def is_in_constant_composite(self, node: Call) -> bool:
        """Whether a call of the matched module is in a composite with only constant operands. Such
        a composite is called without arguments, and AnnotateTarget does not annotate the call."""
        around = self._composites_around(node)
        return bool(around) and not around[-1].params

    def is_in_composite_of_function(self, node: Call) -> bool:
        """Whether a call of the matched module is in a composite that contains its whole
        function."""
        around = self._composites_around(node)
        return bool(around) and isinstance(around[-1].body, Function)

    def _composites_around(self, node: Call) -> Sequence[Function]:
        stage = self.outcome.stage("MergeComposite")
        if stage is None:
            return ()
        images = self.outcome.follow(node, stage, stage + 1)
        return next((self._composites[i] for i in images if i in self._composites), ())

    @cached_property
    def _composites(self) -> dict[Expr, list[Function]]:
        stage = self.outcome.stage("MergeComposite")
        after = self.outcome.trace.stages[stage].after if stage is not None else None
        found: dict[Expr, list[Function]] = {}
        for func in after.functions.values() if after is not None else ():
            for node in post_order(func):  # an inner function precedes the function around it
                if isinstance(node, Function) and "Composite" in node.attrs:
                    for inside in post_order(node.body):
                        found.setdefault(inside, []).append(node)
        return found

    # Patterns ------------------------------------------------------------------------------------

    @property
    def graphs(self) -> list[IndexedGraph]:
        """The graphs in which patterns are matched, one for each function."""
        return list(dict.fromkeys(self._graphs.values()))

    def graph_of(self, node: Expr) -> IndexedGraph | None:
        """The graph of the function that contains a node, in which patterns are matched."""
        return self._graphs.get(node)

    @cached_property
    def matched(self) -> IRModule:
        """The module in which patterns are matched."""
        stages = self.outcome.trace.stages
        last = self.matching == len(stages)
        return self.outcome.trace.final if last else stages[self.matching].before

    def is_computed_constant(self, node: Expr) -> bool:
        """Whether a node of the matched module is a call with only constant operands."""
        return isinstance(node, Call) and bool(node.args) and node in self._constants

    def was_computed_constant(self, call: Call) -> bool:
        """Whether a call has only constant operands in the input."""
        return call in self._given_constants

    @cached_property
    def _given_constants(self) -> frozenset[Expr]:
        given = self.outcome.trace.stages[0].before
        return computed_from_constants(post_order(*given.functions.values()))

    @cached_property
    def _constants(self) -> frozenset[Expr]:
        return computed_from_constants(post_order(*self.matched.functions.values()))

    def is_unused(self, node: Call) -> bool:
        """Whether ToGraphNormalForm removes a call of the matched module because no result depends
        on it."""
        return node in self._unused

    @cached_property
    def _unused(self) -> frozenset[Call]:
        if not any(isinstance(n, Let) for n in post_order(*self.matched.functions.values())):
            return frozenset()
        run = Setup.of(self.matched, ToGraphNormalForm()).run(self.target)
        return frozenset(c for c in run.calls if not run.images(c) and c not in self._used)

    @cached_property
    def _used(self) -> set[Expr]:
        """The nodes of the matched module on which results of functions depend. ToGraphNormalForm
        also removes calls of functions that lets bind, by calling the functions directly."""
        values: dict[Expr, Expr] = {}
        used: set[Expr] = set()
        todo: list[Expr] = list(self.matched.functions.values())
        while todo:
            node = todo.pop()
            if node in used:
                continue
            used.add(node)
            if isinstance(node, Let):
                values[node.var] = node.value
                todo.append(node.body)
                todo += [node.value] if node.var in used else []
            elif node in values:
                todo.append(values[node])
            else:
                todo += node.parts()
        return used

    @cached_property
    def _graphs(self) -> dict[Expr, IndexedGraph]:
        found: dict[Expr, IndexedGraph] = {}
        for func in self.matched.functions.values():
            if is_optimizable(func):
                graph = IndexedGraph(func)
                found.update(dict.fromkeys(graph.nodes, graph))
        return found

    def entries_with(self, operator: str) -> Sequence[int]:
        """The positions of the entries whose pattern has an operator, or accepts any, without
        entries that AnnotateTarget assigns to another target."""
        if operator not in self._entries:
            self._entries[operator] = [
                n
                for n, names in enumerate(self._operators)
                if (names is None or operator in names) and not self.is_of_another(n)
            ]
        return self._entries[operator]

    def is_of_another(self, position: int) -> bool:
        """Whether AnnotateTarget assigns the composites of an entry to another target."""
        owner = prefix_of(self.table[position][0])
        return owner != self.target and owner in self.annotated_targets

    @cached_property
    def _operators(self) -> list[frozenset[str] | None]:
        return [operators_of(pattern) for _, pattern, _ in self.table]

    def groups(self, position: int, graph: IndexedGraph) -> Sequence[Group]:
        """The matches in a graph of the entry at a position of the table, without the other
        entries."""
        key = position, graph
        if key not in self._groups:
            self._groups[key] = find_groups(self.table[position][1], graph)
        return self._groups[key]

    def matcher(self, position: int, graph: IndexedGraph) -> NearMatcher:
        """The near-miss matcher of a pattern-table entry in a graph; cached."""
        key = position, graph
        if key not in self._matchers:
            self._matchers[key] = NearMatcher(self.table[position][1], graph)
        return self._matchers[key]

    def forget_partial_matches(self) -> None:
        """Free the cached results of the matchers: there are many for each call and entry."""
        self._matchers.clear()


def _with_operator(operator: str, table: Sequence[tuple[Any, ...]]) -> list[str]:
    """The names of the patterns that have an operator."""
    return [n for n, p, *_ in table if operator in (operators_of(p) or ())]
