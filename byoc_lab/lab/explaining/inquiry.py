"""`Inquiry`: one run of a pipeline, with the properties needed to explain its calls."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

from byoc_lab.lab.explaining.naming import NodeNames, named
from byoc_lab.lab.explaining.nearby import computed_from_constants
from byoc_lab.lab.explaining.outcome import EnclosingRegion, PipelineRun, annotated, homes_of
from byoc_lab.lab.explaining.region_paths import RegionPaths
from byoc_lab.lab.explaining.setups import Setup
from byoc_lab.lab.explaining.traced_pipeline import TracedPipeline
from byoc_lab.lab.tracing.stages import Stage
from byoc_lab.passes.byoc.annotate_target import prefix_of
from byoc_lab.passes.framework.passes import is_optimizable
from byoc_lab.passes.normal_form.to_graph_normal_form import ToGraphNormalForm
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Let
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.patterns.below import operators_of
from byoc_lab.relay.patterns.grouping import Group, find_groups
from byoc_lab.relay.patterns.indexed_graph import IndexedGraph
from byoc_lab.relay.patterns.near_miss import NearMatcher


class Inquiry(TracedPipeline):
    """A pipeline that ran on a module, for one target; everything else is computed on demand."""

    def __init__(self, setup: Setup, outcome: PipelineRun, given: Mapping[Call, Call]):
        super().__init__(setup, outcome, given)
        self._groups: dict[tuple[int, IndexedGraph], list[Group]] = {}
        self._entries: dict[str, list[int]] = {}
        self._matchers: dict[tuple[int, IndexedGraph], NearMatcher] = {}
        self._homes: dict[IRModule, dict[Expr, EnclosingRegion]] = {}

    def may_take(self, subject: Call) -> bool:
        """Whether a pattern or a predicate of the target has the operator of a call."""
        return bool(self.entries_with(subject.op_name)) or self.predicate(subject) is not None

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
