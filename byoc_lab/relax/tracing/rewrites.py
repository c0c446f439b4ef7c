"""The rewrites of FuseOpsByPattern and MergeCompositeFunctions as events of a stage, with nodes of
its modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from byoc_lab.errors import PredicateError
from byoc_lab.lab.tracing.events import Events, Notes
from byoc_lab.lab.tracing.replay import replay
from byoc_lab.passes.framework.hook import Event, Note
from byoc_lab.relax.ir.calls import CODEGEN, region_functions
from byoc_lab.relax.tracing.fusing import EntryRun, Refusal, fused
from byoc_lab.relax.tracing.merging import MAIN, Decision, composite_of, merged, what_is
from byoc_lab.relax.tracing.mirrored import MirroredModule
from byoc_lab.relax.tracing.outlining import Group, Outlined
from byoc_lab.relax.tracing.script import Script
from byoc_lab.relax.tracing.walks import Nodes, State, Walk, state_of
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Call, Expr, Function
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.run.relax_values import name_of
from byoc_lab.run.tvm_runtime import import_tvm, same_structure


def matches_of(
    before: MirroredModule, after: MirroredModule, table: Sequence[Any]
) -> tuple[Events, Notes]:
    """The rewrites of FuseOpsByPattern, one for each match, and a note for each refusal.

    table: its patterns. The pass is replayed. If the replay gives a different result than TVM's,
    such as with a table other than the actual one, there are no rewrites.
    """
    if region_functions(after.source):
        return Events(), Notes()  # annotate_codegen was set, or the module was already partitioned
    for bind_constants in (True, False):
        try:
            found, runs, refusals = fused(before.source, table, bind_constants=bind_constants)
        except PredicateError:
            break  # from a check that did not raise when TVM called it
        if not _same_functions(found, after.source):
            continue
        reader = _Reader(before.shared, before.source, after.source)
        return _checked(before, after, reader.matches(runs), reader.refusals(refusals))
    return Events(), Notes()


def merges_of(before: MirroredModule, after: MirroredModule) -> tuple[Events, Notes]:
    """The rewrites of MergeCompositeFunctions, one per region, and a note for each pair of
    composites that it merged or kept apart.

    The pass is replayed. If the replay gives a different result than TVM's, there are no rewrites.
    """
    made, decisions = merged(before.source)
    if not _same_functions(made.mod, after.source):
        return Events(), Notes()
    reader = _Reader(before.shared, before.source, after.source)
    return _checked(before, after, reader.regions(made), reader.decisions(decisions))


def _same_functions(a: Any, b: Any) -> bool:
    """Whether two modules have equal functions. The module attributes that RunCodegen adds cannot
    be compared by TVM."""
    make = import_tvm().IRModule
    return same_structure(make(dict(a.functions)), make(dict(b.functions)))


def _checked(
    before: MirroredModule, after: MirroredModule, found: Iterator[Event], notes: Iterator[Note]
) -> tuple[Events, Notes]:
    """Rewrites and notes; empty unless the rewrites reproduce the result."""
    events = Events(found)
    if structural_equal(replay(before, events), after):
        return events, Notes(notes)
    return Events(), Notes()


@dataclass
class _Reader:
    """Finds the nodes of rewrites. before, after: TVM's modules."""

    script: Script
    before: Any
    after: Any
    _known: set[str] = field(default_factory=set)  # functions that were added

    def matches(self, runs: Sequence[EntryRun]) -> Iterator[Event]:
        last = {name: n for n, run in enumerate(runs) for name in run.outlined.groups}
        states = {name: self._initial(name) for name in last}
        for n, run in enumerate(runs):
            for name, groups in run.outlined.groups.items():
                gv = run.outlined.mod.get_global_var(name)
                made = run.outlined.mod[gv]
                result = (
                    self._shown(gv, made, self.after[name])
                    if last[name] == n
                    else state_of(made, made, self.script.mirror.function(made))
                )
                walk = Walk(name, run.outlined, states[name], result)
                for group in groups:
                    told = f"the pattern matches: {_parts(group, run.before)}"
                    match = f"the function of this match of {run.entry}"
                    yield from self._outlined(walk, group, run.entry, told, match)
                unused = run.outlined.unused[name]
                if unused:
                    parts = "; ".join(_parts(group, run.before) for group in unused)
                    yield walk.drop(run.entry, f"nothing uses the match, so TVM drops it: {parts}")
                states[name] = result

    def regions(self, made: Outlined) -> Iterator[Event]:
        main = made.mod.get_global_var(MAIN)
        result = self._shown(main, made.mod[main], self.after[MAIN])
        walk = Walk(MAIN, made, self._initial(MAIN), result)
        for group in made.groups.get(MAIN, ()):
            back_end = group.attrs[CODEGEN]
            composites = (composite_of(self.before, b.value) for b in group.bindings)
            told = f"a region of {back_end}: {', '.join(filter(None, composites))}"
            region = f"the function of this region of {back_end}"
            yield from self._outlined(walk, group, "outline", told, region)
        if walk.drops_dead_code:
            yield walk.drop("remove dead code", "nothing uses it")
        for gv, function in self.before.functions.items():
            name = str(gv.name_hint)
            if name not in self._names(self.after):
                node = self.script.mirrored(gv, function).function
                told = "main does not reach it; regions contain copies of their composites"
                yield Event("remove function", told, node, None, name, None)

    def refusals(self, found: Sequence[Refusal]) -> Iterator[Note]:
        """The refusals for operators that were already in the module before."""
        states: dict[str, State] = {}
        for refusal in found:
            name = refusal.function
            if name not in states:
                states[name] = self._initial(name)
            node = states[name].nodes.get(refusal.variable)
            if node is not None:
                why = f": {refusal.reason}" if refusal.reason else ""
                told = f"the pattern matches at %{name_of(refusal.variable)}, and its check refuses"
                yield Note(f"refuse {refusal.entry}", told + why, node, name)

    def decisions(self, found: Sequence[Decision]) -> Iterator[Note]:
        nodes = self._initial(MAIN).nodes
        values = import_tvm().relax.analysis.get_var2val(self.before[MAIN])

        def named(variable: Any) -> str:
            return what_is(values.get(variable), self.before)

        for made in found:
            node = nodes.get(made.call)
            if node is not None:
                rule = "join region" if made.joined else "keep apart"
                yield Note(rule, _why(made, named), node, MAIN)

    def _names(self, mod: Any) -> set[str]:
        return {str(gv.name_hint) for gv in mod.functions}

    def _initial(self, name: str) -> State:
        """The state of a function before the pass."""
        gv = self.before.get_global_var(name)
        return self._shown(gv, self.before[gv], self.before[gv])

    def _shown(self, gv: Any, function: Any, other: Any) -> State:
        """The state of a function in the stage. other: the same function in TVM's result."""
        return state_of(function, self.script.first(gv, other), self.script.mirrored(gv, other))

    def _outlined(
        self, walk: Walk, group: Group, rule: str, told: str, function_told: str
    ) -> Iterator[Event]:
        """The events of a group that became a function."""
        old, found = walk.old, walk.round
        taken = {b.var: old.nodes[b.var] for b in group.bindings if b.var in old.nodes}
        sources = tuple(taken.values())
        found.copies += self._copies(group, taken)
        if group.symbol not in self._known:
            self._known.add(group.symbol)
            function = self._function(group.symbol).function
            yield Event("add function", function_told, None, function, group.symbol, None, sources)
        bound = {name_of(variable): node for variable, node in taken.items()}
        for output in group.outputs:
            result = walk.new.nodes.get(walk.outlined.places[output])
            if result is not None:  # None for dead code
                yield Event(rule, told, taken[output], result, walk.name, found, sources, bound)

    def _function(self, symbol: str) -> State:
        function = self.after[symbol]
        return self._shown(self.after.get_global_var(symbol), function, function)

    def _copies(self, group: Group, taken: Nodes) -> Iterator[dict[Expr, Expr]]:
        """Mappings from nodes to their copies in the function: for the group, and for each
        composite that it calls."""
        known = self._function(group.symbol).nodes.values()
        inside = [node for node in known if not isinstance(node, Function)]
        if len(inside) == len(taken):
            yield dict(zip(taken.values(), inside, strict=True))
            for binding, copy in zip(group.bindings, inside, strict=True):
                local = copy.op if isinstance(copy, Call) else None
                if isinstance(local, Function) and composite_of(self.before, binding.value):
                    gv, composite = binding.value.op, self.before[binding.value.op]
                    original = self.script.mirrored(gv, composite).function
                    yield dict(zip(post_order(original), post_order(local), strict=True))


def _parts(group: Group, mod: Any) -> str:
    """Text such as "%lv = nn.conv2d, %lv1 = nn.relu". mod: contains the called composites."""
    return ", ".join(f"%{name_of(b.var)} = {what_is(b.value, mod)}" for b in group.bindings)


def _why(made: Decision, named: Callable[[Any], str]) -> str:
    """The reason for a decision. named: describes the value that is bound to a variable."""
    told = f"{named(made.call)} takes the result of {named(made.producer)}"
    if made.joined:
        return f"{told}, of the same back end"
    if made.blocking is None:
        return f"{told}, of another back end"
    return (
        f"{told}, of the same back end, and the result of {named(made.blocking)}, which is "
        "computed outside that region from its results: the merged region would depend on itself"
    )
