"""`Walk`: one walk over a Relax function, as a round of rewriting its nodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from byoc_lab.passes.framework.hook import Event, Round
from byoc_lab.relax.tracing.outlining import Outlined
from byoc_lab.relay.ir.expr import Expr, Function, Let

Nodes = dict[Any, Expr]  # {variable: node of its value}


@dataclass
class State:
    """A function before or after a walk: its node, and the nodes of its bindings."""

    function: Function
    nodes: Nodes

    @property
    def unused(self) -> int:
        """The number of unused values."""
        count, body = 0, self.function.body
        while isinstance(body, Let):
            count, body = count + 1, body.body
        return count


class Walk:
    """A walk that outlines groups in a function.

    old, new: the function before and after. round: the node that replaces each node.
    """

    def __init__(self, name: str, outlined: Outlined, old: State, new: State):
        self.name, self.outlined, self.old, self.new = name, outlined, old, new
        self.round = Round(name, old.function, _made(outlined.places, old, new))

    @property
    def drops_dead_code(self) -> bool:
        return self.old.unused != self.new.unused

    def drop(self, rule: str, told: str) -> Event:
        """The event for unused values, which the new function does not contain."""
        old, new = self.old.function.body, self.new.function.body
        return Event(rule, told, old, new, self.name, self.round, ())


def state_of(function: Any, shown: Any, mirrored: Any) -> State:
    """shown: a function of equal structure. mirrored: its nodes."""
    known = {binding.var: node for binding, node in mirrored.bindings}
    both = zip(_variables(function), _variables(shown), strict=True)
    return State(
        mirrored.function, {mine: known[theirs] for mine, theirs in both if theirs in known}
    )


def _variables(function: Any) -> Iterator[Any]:
    """The variables bound in a function, except in branches."""
    for block in function.body.blocks:
        for binding in block.bindings:
            yield binding.var


def _made(places: Mapping[Any, Any], old: State, new: State) -> dict[Expr, Expr]:
    """The replacement of each node of a function, except nodes inside groups."""
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
    """Pairs a node with its replacement, and their parts, unless already paired."""
    todo = [(old, new)]
    while todo:
        a, b = todo.pop()
        if a is b or a in made or type(a) is not type(b):
            continue
        made[a] = b
        if len(a.parts()) == len(b.parts()):
            todo += zip(a.parts(), b.parts(), strict=True)
