"""`Neighbourhoods`: the surroundings of each rewrite of a large function, as small modules. The
view of a large module shows these parts, which are fast to make and readable.

A part contains the calls that are evaluated just before and after the rewrite.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

from byoc_lab.lab.diffing import Diff
from byoc_lab.lab.tracing.copies import pairs
from byoc_lab.lab.tracing.cutting import Part, cut, is_computing, not_function
from byoc_lab.lab.tracing.lineage import ComposedLineage
from byoc_lab.lab.tracing.nodes import has_origin, nodes_of
from byoc_lab.lab.tracing.replay import (
    Replaced,
    function_of,
    is_typed,
    nodes_made,
    typed_if_possible,
)
from byoc_lab.lab.tracing.stages import Stage
from byoc_lab.passes.framework.hook import Round
from byoc_lab.relay.analysis.annotations import skip_annotations
from byoc_lab.relay.analysis.region_numbers import Numbers
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.ir.visit import opens_scope, post_order

# maximum number of calls of a function that is shown whole at each rewrite: a large network
MAX_WHOLE = 400
BLOCK = 7  # calls per block; the block of a rewrite is shown, with the block before and after it
MAX_KEPT = 4  # number of cached states of a function


@dataclass(frozen=True, eq=False)
class Neighbourhood:
    """The part of a module around one rewrite.

    module: the part. origins: maps its nodes to nodes of the whole module. kept: maps nodes of the
    whole module to the node of the round's root in the same position. made_for: maps nodes that a
    rewrite created to the node of the root that they replaced. part: the cut function. numbers: the
    region numbers, by begin annotations of the part and of the whole module.
    """

    module: IRModule
    origins: Mapping[Expr, Expr]
    kept: Mapping[Expr, Expr]
    made_for: Mapping[Expr, Expr]
    part: Part
    numbers: Numbers

    def position(self, node: Expr) -> Expr | None:
        """A key that identifies a node across states: the node of the root in its position, or the
        node that a rewrite created."""
        origin = self.origins.get(node)
        return None if origin is None else self.kept.get(origin, origin)


@dataclass(frozen=True, eq=False)
class PartStep:
    """One rewrite of a large module: the name of the function, and its parts before and after the
    rewrite. round: the round with the shown function as its root."""

    function: str
    round: Round
    before: Neighbourhood
    after: Neighbourhood

    @property
    def diff(self) -> Diff:
        """The diff of the two parts; nodes that kept their position are paired with themselves."""
        return Diff(self.before.module, self.after.module, self._lineage)

    def _lineage(self) -> ComposedLineage:
        positions = {self.before.position(node): node for node in nodes_of(self.before.module)}
        pairs = {
            positions[position]: node
            for node in nodes_of(self.after.module)
            if (position := self.after.position(node)) is not None and position in positions
        }
        return ComposedLineage([pairs])


class Neighbourhoods:
    """The neighbourhoods of the rewrites of a stage, each computed on demand."""

    def __init__(self, stage: Stage):
        self._stage = stage
        self._rounds: dict[Round, _Root] = {}

    def step(self, number: int) -> PartStep | None:
        """The part of the function around rewrite `number` (counted from 1), before and after it.

        None if the function is small or has nested scopes, if no call of a large function shows the
        rewrite, or if the pass does not report all its rewrites. Raises StageIndexError.
        """
        event = self._stage.step(number).event
        found = self._root_and_node(number) if self._stage.is_reported else None
        if found is None:
            return None
        root, node = found
        wanted = root.near(node)
        added = [event.function] if event.round is None else []
        states = (_Changes(self._stage, count) for count in (number - 1, number))
        before, after = (root.part(wanted, changes, added) for changes in states)
        if before is None or after is None:
            return None
        return PartStep(root.function, root.round, before, after)

    def prepare(self) -> list[Round]:
        """Compute the data that all steps share; returns the rounds with large roots."""
        rounds = dict.fromkeys(e.round for e in self._stage.events if e.round is not None)
        roots = [root for found in rounds if (root := self._root(found)).blocks]
        for root in roots:
            root.prepare()
        return [root.round for root in roots]

    def _root_and_node(self, number: int) -> tuple[_Root, Expr] | None:
        """The root that shows a rewrite, and a node of this root at the position of the rewrite."""
        events = self._stage.events
        event = events[number - 1]
        if event.round is not None:
            assert event.before is not None
            root = self._root(event.round)
            return (root, event.before) if event.before in root.blocks else None
        later = (e.round for e in events[number:] if e.round is not None)
        earlier = (e.round for e in reversed(events[: number - 1]) if e.round is not None)
        for found in filter(None, (next(later, None), next(earlier, None))):
            root = self._root(found)
            nodes: Iterable[Expr] = event.sources or ()
            if isinstance(event.before, GlobalVar):  # a renamed function
                nodes = root.calls(event.before, _Changes(self._stage, number - 1))
            for node in nodes:
                if node in root.blocks:
                    return root, node
        return None

    def _root(self, found: Round) -> _Root:
        if found not in self._rounds:
            self._rounds[found] = _Root(self._stage, found)
        return self._rounds[found]


class _Changes:
    """The changes that the first `count` rewrites of a stage made."""

    def __init__(self, stage: Stage, count: int):
        self.replaced: dict[Round, Replaced] = {}
        self.made_for: dict[Expr, Expr] = {}
        self.renamed: dict[Expr, Expr] = {}
        self.copied: dict[Expr, Expr] = {}  # copy of a function with its new name -> the function
        # round -> the number of its rewrites among the first `count`
        self.in_round: Counter[Round] = Counter()
        self.later = {event.before for event in stage.events[count:]}
        self._numbering = stage.numbering
        self._functions: dict[str, Expr] = {
            gv.name_hint: func for gv, func in stage.before.functions.items()
        }
        self._new_names: set[str] = set()
        self._rounds: dict[str, Round] = {}  # the last round of each function
        first: dict[Expr, Expr] = {}  # the original name of each renamed function
        for event in stage.events[:count]:
            name, before, after = event.function, event.before, event.after
            if event.round is not None:
                assert before is not None and after is not None
                self.replaced.setdefault(event.round, {})[before] = after
                self.in_round[event.round] += 1
                self.made_for[after] = before
                self._rounds[name] = event.round
            elif isinstance(before, GlobalVar):
                assert after is not None
                first[after] = first.pop(before, before)
                self.renamed[first[after]] = after
                self._functions[name] = self._functions.pop(before.name_hint)
                self._new_names.add(name)
            elif after is None:
                del self._functions[name]
            else:
                self._functions[name] = after

    def function(self, name: str) -> Function | None:
        """The function with this name in the module; None if there is none."""
        found = self._functions.get(name)
        if found is None:
            return None
        if (last := self._rounds.get(name)) is not None:
            found = nodes_made(last, self.replaced[last])[last.root]
        func = function_of(found, name)
        if name not in self._new_names:
            return func
        renamed = func.with_attr("global_symbol", name)
        self.copied[renamed] = func
        return renamed

    def region_functions(self, module: IRModule) -> Numbers:
        """The numbers of the regions from which the external functions of a part were made."""
        found = {
            func: self._numbering.number_of(self._functions[gv.name_hint])
            for gv, func in module.functions.items()
            if "Compiler" in func.attrs
        }
        return {func: number for func, number in found.items() if number is not None}


class _State(NamedTuple):
    """A function between two rewrites of a round. made: the new node for each node of the round's
    root; positions: the inverse mapping; numbers: the numbers of its regions."""

    func: Function
    made: Mapping[Expr, Expr]
    positions: Mapping[Expr, Expr]
    numbers: Numbers


class _Root:
    """The root of a round, with cached states for its parts."""

    def __init__(self, stage: Stage, found: Round):
        self.function = found.function
        self._stage = stage
        self.round = found
        self._kept: dict[int, _State] = {}

    def prepare(self) -> None:
        """Compute the data that all parts share."""
        _ = self._copied, self._made_for

    @cached_property
    def blocks(self) -> dict[Expr, int]:
        """Maps each node to the number of its block of calls; empty for a small function."""
        func = function_of(self.round.root, self.function)
        order = list(post_order(func.body, enter=not_function))
        nested = any(opens_scope(node) and not isinstance(node, Function) for node in order)
        if sum(map(is_computing, order)) <= MAX_WHOLE or nested:
            return {}
        blocks: dict[Expr, int] = {}
        calls = 0
        for node in order:
            inside = post_order(node) if isinstance(node, Function) else (node,)
            for part in inside:
                blocks.setdefault(part, calls // BLOCK)
            calls += is_computing(node)
        blocks[func] = blocks[func.body]
        return blocks

    def near(self, node: Expr) -> list[Expr]:
        """The nodes in the block of a node and in the adjacent blocks."""
        middle = self.blocks[node]
        return [n for n, block in self.blocks.items() if abs(block - middle) <= 1]

    def calls(self, name: GlobalVar, changes: _Changes) -> Iterable[Expr]:
        """The nodes that are now calls of a function."""
        for pre, post in self._state(changes).made.items():
            if isinstance(post, Call) and changes.renamed.get(post.op, post.op) is name:
                yield pre

    def part(
        self, wanted: Iterable[Expr], changes: _Changes, added: Collection[str]
    ) -> Neighbourhood | None:
        """The wanted nodes of the root, in their state after some rewrites, and the added
        functions; None if none of the nodes is left."""
        state = self._state(changes)
        root, known = state.func, state.positions
        inside: set[Expr] = set()
        todo = [state.made[pre] for pre in wanted if pre in state.made]
        todo += [root.body] if root in todo else []  # a rewrite may add nodes after the last one
        while todo:
            node = todo.pop()
            if node not in inside:
                inside.add(node)
                parts = node.parts() if not_function(node) else ()
                # nodes that rewrites created
                todo += [p for p in parts if p not in known and has_origin(p)]

        def type_of(node: Expr) -> Type | None:
            value = skip_annotations(node)
            shown = value if value.is_typed else known.get(value, value)
            return shown.checked_type if shown.is_typed else None

        part = cut(root, inside, type_of, changes.renamed)
        if part is None:
            return None
        module = _module(part.func, changes, added)
        origins = {copy: node for node, copy in (*part.copies.items(), *part.given.items())}
        others = set(post_order(*(f for f in module.functions.values() if f is not part.func)))
        origins.update({n: n for n in nodes_of(module) if n in known or n in others})
        origins |= changes.copied
        if self._is_typed:
            module, origins = _typed(module, origins)
        module = _without_helpers(module, added)
        replaced = changes.replaced.get(self.round)

        def position(node: Expr) -> Expr | None:
            """The node of the root in the position of a node, or from which the node is copied."""
            if replaced is None:  # no rewrite of the round is applied yet
                return known.get(node)
            source = self._copied.get(node)
            for found in filter(None, (node, source)):
                pre = known.get(found)
                if pre is None and self._made_for.get(found) not in changes.later:
                    pre = self._made_for.get(found)
                if pre is not None and pre not in replaced:
                    return pre
            return source

        kept = {o: found for o in set(origins.values()) if (found := position(o)) is not None}
        inner = {n: state.numbers[o] for n, o in origins.items() if o in state.numbers}
        numbers = {**state.numbers, **inner, **changes.region_functions(module)}
        return Neighbourhood(module, origins, kept, changes.made_for, part, numbers)

    def _state(self, changes: _Changes) -> _State:
        """The function after some rewrites. The last few states are cached by the number of
        rewrites in the round, which determines the state."""
        count = changes.in_round[self.round]
        if count not in self._kept:
            while len(self._kept) >= MAX_KEPT:
                del self._kept[next(iter(self._kept))]
            made = nodes_made(self.round, changes.replaced.get(self.round, {}))
            func, positions = function_of(made[self.round.root], self.function), _inverse(made)
            numbers = self._stage.numbering.of_function(func, self.round, positions)
            self._kept[count] = _State(func, made, positions, numbers)
        return self._kept[count]

    @cached_property
    def _is_typed(self) -> bool:
        after = self._stage.after
        return after is not None and is_typed(after) and is_typed(self._stage.before)

    @cached_property
    def _copied(self) -> dict[Expr, Expr]:
        """Maps the copies of nodes to the copied nodes, without parameters: each parameter is a
        separate node."""
        return {
            copied: source
            for copies in self.round.copies
            for source, copied in copies.items()
            if copied is not source and has_origin(copied) and not isinstance(copied, Var)
        }

    @cached_property
    def _made_for(self) -> dict[Expr, Expr]:
        """Maps the nodes that the round made to the root's nodes in the same position."""
        return _inverse(self.round.made)


def _inverse(made: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
    """Maps each new node to the first node that it replaced, which is the node in its position.
    Other nodes that a rewrite replaced by it are later in `made`."""
    return {post: pre for pre, post in reversed([*made.items()])}


def _module(main: Function, changes: _Changes, added: Iterable[str]) -> IRModule:
    """A module of @main, the added functions, and the functions that they call."""
    module = IRModule.unchecked(main)
    todo = [*added, *_called(main)]
    while todo:
        name = todo.pop()
        if name not in module and (func := changes.function(name)) is not None:
            module.put_unchecked(name, func)
            todo += _called(func)
    return module


def _without_helpers(module: IRModule, added: Collection[str]) -> IRModule:
    """@main with the external and the added functions. The rewrites of other functions are shown
    by themselves; here they serve only to infer the types of their calls."""
    shown = IRModule.unchecked(module["main"])
    for gv, func in module.functions.items():
        if gv.name_hint != "main" and (gv.name_hint in added or "Compiler" in func.attrs):
            shown.put_unchecked(gv.name_hint, func)
    return shown


def _called(func: Function) -> list[str]:
    return [node.name_hint for node in post_order(func) if isinstance(node, GlobalVar)]


def _typed(module: IRModule, origins: Mapping[Expr, Expr]) -> tuple[IRModule, dict[Expr, Expr]]:
    """The module with types, if it is well-formed, and the origins of its nodes."""
    typed = typed_if_possible(module)
    found = dict(origins)
    for gv, func in module.functions.items():
        for node, copied in pairs(func, typed[gv.name_hint]).items():
            if node in origins:
                found[copied] = origins[node]
    return typed, found
