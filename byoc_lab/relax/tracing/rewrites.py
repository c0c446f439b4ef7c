"""The rewrites of FuseOpsByPattern as the events of a stage, on the nodes of its modules."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from byoc_lab.errors import PredicateError
from byoc_lab.lab.tracing.events import Events, Notes
from byoc_lab.lab.tracing.replay import replay
from byoc_lab.passes.framework.hook import Event, Note, Round
from byoc_lab.relax.calls import region_functions
from byoc_lab.relax.tracing.fusing import EntryRun, Refusal, fused
from byoc_lab.relax.tracing.outlining import Group
from byoc_lab.relax.types import name_of
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.run.tvm_runtime import import_tvm, same_structure

if TYPE_CHECKING:
    from byoc_lab.relax.tracing.module import RelaxModule
    from byoc_lab.relax.tracing.script import Script

Nodes = dict[Any, Expr]  # by the variable that each is bound to


def rewrites_of(
    script: Script, before: RelaxModule, after: RelaxModule, table: Sequence[Any]
) -> tuple[Events, Notes]:
    """What FuseOpsByPattern did to a module: a rewrite for each match, a note for each refusal.

    table: its patterns. The pass is replayed; without rewrites where that gives another result than
    TVM's, as for a table that is not the one it ran with.
    """
    if region_functions(after.source):
        return Events(), Notes()  # annotate_codegen, or a module that was partitioned before
    for bind_constants in (True, False):
        try:
            found, runs, refusals = fused(before.source, table, bind_constants=bind_constants)
        except PredicateError:
            break  # of a check that did not raise when TVM asked it
        if not same_structure(found, after.source):
            continue
        reader = _Reader(script, before.source, after.source)
        events = Events(reader.events(runs))
        if structural_equal(replay(before, events), after):
            return events, Notes(reader.notes(refusals))
    return Events(), Notes()


@dataclass
class _State:
    """A function between two entries: its node, and those of its bindings."""

    function: Function
    nodes: Nodes


@dataclass
class _Reader:
    """Finds the nodes of rewrites. before, after: TVM's modules."""

    script: Script
    before: Any
    after: Any
    _known: set[str] = field(default_factory=set)  # functions that were added

    def events(self, runs: Sequence[EntryRun]) -> Iterator[Event]:
        last = {name: n for n, run in enumerate(runs) for name in run.outlined.groups}
        states = {
            str(gv.name_hint): self._shown(gv, function, function)
            for gv, function in self.before.functions.items()
            if str(gv.name_hint) in last
        }
        for n, run in enumerate(runs):
            for name, groups in run.outlined.groups.items():
                gv = run.outlined.mod.get_global_var(name)
                made = run.outlined.mod[gv]
                result = (
                    self._shown(gv, made, self.after[name])
                    if last[name] == n
                    else _state(made, made, self.script.mirror.function(made))
                )
                yield from self._of_function(name, run, groups, states[name], result)
                states[name] = result

    def notes(self, refusals: Sequence[Refusal]) -> Iterator[Note]:
        """The refusals about operators that the module had before."""
        states: dict[str, _State] = {}
        for refusal in refusals:
            name = refusal.function
            if name not in states:
                gv = self.before.get_global_var(name)
                states[name] = self._shown(gv, self.before[gv], self.before[gv])
            node = states[name].nodes.get(refusal.variable)
            if node is not None:
                why = f": {refusal.reason}" if refusal.reason else ""
                told = f"the pattern matches at %{name_of(refusal.variable)}, and its check refuses"
                yield Note(f"refuse {refusal.entry}", told + why, node, name)

    def _shown(self, gv: Any, function: Any, other: Any) -> _State:
        """The state of a function of the stage. other: the same function as TVM has it."""
        return _state(function, self.script.first(gv, other), self.script.mirrored(gv, other))

    def _of_function(
        self, name: str, run: EntryRun, groups: Sequence[Group], old: _State, new: _State
    ) -> Iterator[Event]:
        made = _made(run.outlined.places, old, new)
        found = Round(name, old.function, made)
        for group in groups:
            taken = {b.var: old.nodes[b.var] for b in group.bindings if b.var in old.nodes}
            sources = tuple(taken.values())
            found.copies.append(self._copies(group, taken))
            if group.symbol not in self._known:
                self._known.add(group.symbol)
                function = self._composite(group.symbol).function
                why = f"the function of this match of {run.entry}"
                yield Event("add function", why, None, function, group.symbol, None, sources)
            told = f"the pattern matches: {_parts(group)}"
            bound = {name_of(variable): node for variable, node in taken.items()}
            for output in group.outputs:
                result = new.nodes[run.outlined.places[output]]
                yield Event(run.entry, told, taken[output], result, name, found, sources, bound)
        unused = run.outlined.unused[name]
        if unused:
            told = f"nothing uses the match, so that TVM drops it: {'; '.join(map(_parts, unused))}"
            yield Event(run.entry, told, old.function.body, new.function.body, name, found, ())

    def _composite(self, symbol: str) -> _State:
        function = self.after[symbol]
        return self._shown(self.after.get_global_var(symbol), function, function)

    def _copies(self, group: Group, taken: Nodes) -> dict[Expr, Expr]:
        """The nodes of a group, each with its copy in the function."""
        inside = list(self._composite(group.symbol).nodes.values())
        return dict(zip(taken.values(), inside, strict=True)) if len(inside) == len(taken) else {}


def _state(function: Any, shown: Any, mirrored: Any) -> _State:
    """shown: a function of equal structure, mirrored: its nodes."""
    known = {binding.var: node for binding, node in mirrored.bindings}
    both = zip(_variables(function), _variables(shown), strict=True)
    return _State(
        mirrored.function, {mine: known[theirs] for mine, theirs in both if theirs in known}
    )


def _variables(function: Any) -> Iterator[Any]:
    """The variables of the bindings of a function, without those of branches."""
    for block in function.body.blocks:
        for binding in block.bindings:
            yield binding.var


def _made(places: Mapping[Any, Any], old: _State, new: _State) -> dict[Expr, Expr]:
    """What each node of a function became, but for those inside groups."""
    made: dict[Expr, Expr] = {}
    for variable, node in old.nodes.items():
        found = new.nodes.get(places.get(variable, variable))
        if found is None:
            continue
        if variable in places:
            made[node] = found
        else:
            _pair(made, node, found)
    _pair(made, old.function, new.function)
    return made


def _pair(made: dict[Expr, Expr], old: Expr, new: Expr) -> None:
    """Pairs a node with its successor, and their parts, but for those that are known."""
    todo = [(old, new)]
    while todo:
        a, b = todo.pop()
        if a is b or a in made or type(a) is not type(b):
            continue
        made[a] = b
        if len(a.parts()) == len(b.parts()):
            todo += zip(a.parts(), b.parts(), strict=True)


def _parts(group: Group) -> str:
    """Such as "%lv = nn.conv2d, %lv1 = nn.relu"."""
    relax = import_tvm().relax
    named = []
    for binding in group.bindings:
        value = binding.value
        what = f"item {value.index}" if isinstance(value, relax.TupleGetItem) else ""
        operator = str(getattr(getattr(value, "op", None), "name", ""))
        named.append(f"%{name_of(binding.var)} = {what or operator.removeprefix('relax.')}")
    return ", ".join(named)
