"""`Course`: the steps in which a pass changed its input, derived from its events.

Each round of the pass records the new node for every node. Between rounds, type inference makes
typed copies of the same structure.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from byoc_lab.lab.tracing.copies import pairs
from byoc_lab.lab.tracing.nodes import SHARED
from byoc_lab.lab.tracing.replay import Replaced, contradiction, nodes_made
from byoc_lab.passes.framework.hook import Event, Round
from byoc_lab.relay.ir.expr import Expr, GlobalVar, Var
from byoc_lab.relay.ir.module import IRModule

Copies = Mapping[Expr, Expr]
"""Nodes and their copies; each copy is in the position of its node."""


@dataclass(eq=False)
class Added:
    """A function that the pass added or replaced. copied: the nodes of the function before it."""

    event: Event
    copied: Copies


@dataclass(eq=False)
class Applied:
    """One round. copied: maps nodes of the function before the round to its root's nodes; made: the
    new node for each node below the root; replaced: the nodes that rewrites replaced."""

    round: Round
    events: list[Event] = field(default_factory=list)
    replaced: Replaced = field(default_factory=dict)
    made: Mapping[Expr, Expr] = field(default_factory=dict)
    copied: Copies = field(default_factory=dict)


class Course:
    """The steps from the input of a pass to its result, or to a state between two rewrites.

    steps: in order; a round has the position of its last event. copied: for each function, from its
    nodes after the last step to those in the result, unless the result is the input.
    reported: all versions of functions that the reports of the pass derive from functions of the
    input. unchanged: the rounds whose roots have the structure of a function of the input.
    """

    def __init__(
        self,
        before: IRModule,
        after: IRModule,
        events: Sequence[Event],
        count: int | None = None,
        rounds: Iterable[Round] = (),
    ):
        """events: the reports of the pass. count: `after` is the state after the first `count`
        events; None for the result of the pass. rounds: further rounds, without events."""
        self.steps: list[Added | Applied] = []
        self.copied: list[Copies] = []
        # whether the pass itself created the result, not `replay` with the first events
        self._is_result = count is None
        self._later = {event.before for event in ([] if count is None else events[count:])}
        self._roots: dict[str, Expr] = {gv.name_hint: f for gv, f in before.functions.items()}
        self._inputs = set(self._roots.values())
        self.reported = set(self._inputs)
        self.unchanged: set[Round] = set()
        for found in rounds:
            self.copied.append(self._enter_root(found))
        self._follow(events[:count])
        if after is not before:
            for gv, func in after.functions.items():
                self.copied.append(self._copied(self._roots.get(gv.name_hint), func))

    def positions(self, inputs: Iterable[Expr]) -> dict[Expr, Expr]:
        """For each node of any step: the input node in the same position or, for a copy of a
        created node, that created node. Created nodes themselves are left out. inputs: the nodes of
        the input."""
        positions: dict[Expr, Expr] = {node: node for node in inputs}
        for step in self.steps:
            _enter(positions, step.copied.items())
            if isinstance(step, Applied):
                self._enter_round(positions, step)
        for copied in self.copied:
            _enter(positions, copied.items())
        return positions

    def replaced(self, positions: Mapping[Expr, Expr]) -> dict[Expr, Expr]:
        """For each created node that replaced an input node: this input node. positions: the
        result of `positions`."""
        found: dict[Expr, Expr] = {}
        for step in self.steps:
            for event in step.events if isinstance(step, Applied) else ():
                assert event.before is not None and event.after is not None
                old, new = (positions.get(n, n) for n in (event.before, event.after))
                found.setdefault(new, found.get(old, old))
        return found

    def _enter_round(self, positions: dict[Expr, Expr], step: Applied) -> None:
        found, replaced, later = step.round, step.replaced, self._later
        # Includes the nodes of later rewrites, because some of them are not in `step.made`.
        kept = ((pre, post) for pre, post in found.made.items() if post not in positions)
        _enter(positions, ((a, b) for a, b in kept if a not in replaced and a not in later))
        if step.made is not found.made:
            kept = ((pre, post) for pre, post in step.made.items() if post is not pre)
            _enter(positions, ((pre, post) for pre, post in kept if pre not in replaced))
        for copies in found.copies:
            for source, copied in copies.items():
                # each parameter is a separate node
                if copied is not source and not isinstance(copied, Var):
                    _enter(positions, [(source, copied)])

    def _follow(self, events: Sequence[Event]) -> None:
        """Add all steps: rounds in starting order, each before the functions that are added after
        its last event."""
        rounds: dict[Round, Applied] = {}
        for event in events:
            if event.round is not None:
                rewrites = rounds.setdefault(event.round, Applied(event.round))
                rewrites.events.append(event)
                assert event.before is not None and event.after is not None
                rewrites.replaced[event.before] = event.after
        last = {event.round: n for n, event in enumerate(events)}
        current: Round | None = None
        for n, event in enumerate(events):
            if event.round is None:
                if current is not None and last[current] < n:
                    self._apply(rounds.pop(current))
                    current = None
                self._change_functions(event)
            elif event.round is not current and event.round in rounds:
                if current is not None:
                    self._apply(rounds.pop(current))
                current = event.round
        if current is not None:
            self._apply(rounds.pop(current))

    def _change_functions(self, event: Event) -> None:
        name = event.function
        if isinstance(event.before, GlobalVar):
            before = event.before.name_hint
            if before not in self._roots:
                raise contradiction(f"a rewrite renames @{before}, which does not exist")
            self._roots[name] = self._roots.pop(before)
        elif event.after is None:
            self._roots.pop(name, None)
        else:
            self.steps.append(Added(event, self._copied(event.before, event.after)))
            if event.sources:
                self.reported.add(event.after)
            self._roots[name] = event.after

    def _apply(self, step: Applied) -> None:
        found = step.round
        step.copied = self._enter_root(found)
        step.made = found.made
        # nodes that the rewrite creates are not kept
        if not self._is_result or found.root not in found.made:
            step.made = nodes_made(found, step.replaced)
        self.steps.append(step)
        self._roots[found.function] = step.made[found.root]
        if found.root in self.reported:
            self.reported.add(step.made[found.root])

    def _enter_root(self, found: Round) -> Copies:
        """The nodes of the function before a round, and their copies in its root."""
        before = self._roots.get(found.function)
        copied = self._copied(before, found.root)
        if before in self._inputs and (before is found.root or copied):
            self.unchanged.add(found)
        return copied

    def _copied(self, before: Expr | None, after: Expr) -> Copies:
        """The nodes of a function, and their copies in the function that replaced it."""
        found = pairs(before, after)
        if found and before in self.reported:
            self.reported.add(after)
        return found


def _enter(positions: dict[Expr, Expr], copied: Iterable[tuple[Expr, Expr]]) -> None:
    """Give each copy (the second of a pair) the position of the first, unless it has one."""
    for old, new in copied:
        if new not in positions and not isinstance(old, SHARED):
            positions[new] = positions.get(old, old)
