"""`Provenance`: maps the nodes of a pass's result to the nodes of its input that they originate
from.

It is derived from the reports of the pass: each round maps every node to its new node, each rewrite
names the nodes that it replaced, and each copy of a moved or inlined body names its original.
Between rounds, type inference makes typed copies of the same structure.

A node of the result originates from
* the node in the same position, with rewritten operands or a different type,
* the nodes that a rewrite replaced or used as operands, if a rewrite created it,
* nothing, if a rewrite inserted it: `rule` names the rewrite.

`position` is a single node: the input node in the same position, or the node that a rewrite created
there. It is the same in all states between the rewrites of a pass, so unchanged nodes keep their
place in the view.

Cost: proportional to the nodes of all rounds and the nodes that rewrites created.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TypeVar

from byoc_lab.errors import UnknownNodeError
from byoc_lab.lab.tracing.course import Added, Applied, Copies, Course
from byoc_lab.lab.tracing.nodes import SHARED, has_origin, nodes_of
from byoc_lab.passes.framework.hook import Event, Round
from byoc_lab.relay.ir.expr import Expr, describe
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

Nodes = tuple[Expr, ...]
T = TypeVar("T")


class Provenance:
    """The origins and images of one pass's nodes; each is the inverse of the other."""

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
        self._course = Course(before, after, events, count, rounds)
        self._modules = before, after

    @cached_property
    def _before(self) -> dict[Expr, None]:
        return dict.fromkeys(nodes_of(self._modules[0]))

    @cached_property
    def _after(self) -> dict[Expr, None]:
        return dict.fromkeys(nodes_of(self._modules[1]))

    @cached_property
    def _tracked(self) -> _Tracker:
        before, after = self._modules
        steps = self._course.steps if after is not before else ()
        return _Tracker(self._before, steps, self._course.copied)

    @cached_property
    def _all_positions(self) -> dict[Expr, Expr]:
        return self._course.positions(self._before)

    @cached_property
    def positions(self) -> Mapping[Expr, Expr]:
        """The `position` of each node of the result, operands first."""
        return {node: self.position(node) for node in self._after}

    @cached_property
    def replaced(self) -> Mapping[Expr, Expr]:
        """The input node that a created node, given by its `position`, replaced."""
        return self._course.replaced(self._all_positions)

    @cached_property
    def inputs(self) -> Mapping[Expr, Nodes]:
        """The images of each node of the input; the nodes in its own position first."""
        nearest: dict[Expr, list[Expr]] = {}
        others: dict[Expr, list[Expr]] = {}
        inner = self._tracked.inner
        for node, sources in self.results.items():
            if not sources:
                continue
            first = others if node in inner else nearest
            first.setdefault(sources[0], []).append(node)
            for source in sources[1:]:
                others.setdefault(source, []).append(node)
        return {n: (*nearest.get(n, ()), *others.get(n, ())) for n in self._before}

    @cached_property
    def results(self) -> Mapping[Expr, Nodes]:
        """The origins of each node of the result."""
        origins = self._tracked.origins
        return {n: origins.get(n, ()) for n in self._after}

    def position(self, node: Expr) -> Expr:
        """The input node in the position of a node of any state of the pass, or the node that a
        rewrite created there. It is the same in each state; copies share it."""
        return self._all_positions.get(node, node)

    def is_unchanged(self, found: Round) -> bool:
        """Whether the root of a round has the structure of a function of the input."""
        return found in self._course.unchanged

    def is_reported(self, function: Expr) -> bool:
        """Whether the reports of the pass derive a function of the result from its input."""
        return function in self._course.reported

    def is_input(self, node: Expr) -> bool:
        """Whether a node belongs to the input."""
        return node in self._before

    def origins(self, node: Expr) -> Nodes:
        """The nodes of the input that `node` of the result originates from, the nearest first."""
        return _found(self.results, node, "result")

    def images(self, node: Expr) -> Nodes:
        """The nodes of the result that originate from `node` of the input, nearest first."""
        return _found(self.inputs, node, "input")

    def rule(self, node: Expr) -> str:
        """The rule that created `node` of the result; "" if the node is in the position of an input
        node, or if it has no origins and the pass did not report a rule."""
        _found(self._after, node, "result")
        return self._tracked.rules.get(node, "")


def _found(known: Mapping[Expr, T], node: Expr, where: str) -> T:
    try:
        return known[node]
    except KeyError:
        hint = "" if has_origin(node) else "; operators and names of functions have no origins"
        raise UnknownNodeError(
            f"{describe(node)} is not a node of the {where} of this stage{hint}. Nodes are found "
            f"by identity: take them from stage.before and stage.after"
        ) from None


class _Tracker:
    """The origins of the nodes that a pass made, step by step."""

    def __init__(
        self,
        inputs: Iterable[Expr],
        steps: Iterable[Added | Applied],
        copied: Iterable[Copies],
    ):
        """inputs: the nodes of the input. steps, copied: see `Course`."""
        self.origins: dict[Expr, Nodes] = {node: (node,) for node in inputs}
        self.rules: dict[Expr, str] = {}
        self.inner: set[Expr] = set()  # created nodes that are not in the position of an input node
        # added functions, until the round that contains their sources
        self._added: list[Event] = []
        for step in steps:
            self._copy(step.copied)
            if isinstance(step, Added):
                self._added.append(step.event)
            else:
                self._apply(step)
        now: dict[Expr, Nodes] = {}
        self._create_functions(now, final=True)
        self.origins.update(now)
        for copies in copied:
            self._copy(copies)

    def _copy(self, copied: Copies) -> None:
        """Nodes of a typed or renamed copy have the origins of the copied nodes."""
        origins = self.origins
        for old, new in copied.items():
            if not isinstance(old, SHARED):
                origins[new] = origins.get(old, ())
                self._inherit(old, new)

    def _inherit(self, old: Expr, new: Expr) -> None:
        if old in self.rules:
            self.rules.setdefault(new, self.rules[old])
        if old in self.inner:
            self.inner.add(new)

    def _apply(self, step: Applied) -> None:
        found, made, known = step.round, step.made, self.origins
        now: dict[Expr, Nodes] = {}
        for pre, post in made.items():
            if pre in step.replaced or isinstance(pre, SHARED):
                continue
            if post is pre and pre not in now:
                now[pre] = known.get(pre, ())
            else:
                self._extend(now, post, known.get(pre, ()))
                self._inherit(pre, post)
        for copies in found.copies:
            for source, copied in copies.items():
                if copied is not source and has_origin(copied):
                    self._extend(now, copied, now.get(source) or self.origins.get(source, ()))
                    # the copy replaced a parameter by its argument
                    if type(copied) is not type(source):
                        self.inner.add(copied)
        live: set[Expr] = set()
        if any(event.sources is None for event in step.events):
            added = [e.after for e in self._added if e.after is not None]
            live.update(post_order(made[found.root], *added))
        seen: set[Expr] = set()
        for event in step.events:
            self._create(event, made, now, live, seen)
        self._create_functions(now)
        self.origins.update(now)

    def _extend(self, now: dict[Expr, Nodes], node: Expr, origins: Nodes) -> None:
        """Add origins to the ones that a node has in this round or had before it."""
        known = now.get(node)
        if known is None:
            known = self.origins.get(node, ())
        if known is origins or not origins:
            now[node] = known
        else:
            now[node] = tuple(dict.fromkeys((*known, *origins))) if known else origins

    def _create(
        self,
        event: Event,
        made: Mapping[Expr, Expr],
        now: dict[Expr, Nodes],
        live: set[Expr],
        seen: set[Expr],
    ) -> None:
        """Add the origins of the nodes that a rewrite created."""
        pre, post = event.before, event.after
        assert pre is not None and post is not None
        own = self.origins.get(pre, ())
        created, kept = self._created(post, now, seen)
        if event.sources is not None:
            sources: Iterable[Expr] = event.sources
        elif created and post in live:
            sources = (pre, *_consumed(pre, made, kept, live))
        else:
            sources = (pre,)
        origins = self._all(sources, now)
        is_new = has_origin(post) and post not in now and post not in self.origins
        self._set(created, event, origins, now)
        if is_new:  # the new node also takes the position of `pre`
            now[post] = tuple(dict.fromkeys((*own, *origins)))
            self.inner.discard(post)
        elif has_origin(post):
            self._extend(now, post, own)

    def _create_functions(self, now: dict[Expr, Nodes], final: bool = False) -> None:
        """Add the known origins of nodes that were created together with a function."""
        waiting = []
        for event in self._added:
            assert event.after is not None
            sources = event.sources or ()
            if not final and any(s not in now and s not in self.origins for s in sources):
                waiting.append(event)  # a later round contains the sources
                continue
            created, _ = self._created(event.after, now, set())
            self._set(created, event, self._all(sources, now), now)
        self._added = waiting

    def _set(
        self, created: list[Expr], event: Event, origins: Nodes, now: dict[Expr, Nodes]
    ) -> None:
        for node in created:
            if node not in now:
                self.rules[node] = event.rule
                self.inner.add(node)
                now[node] = origins

    def _all(self, sources: Iterable[Expr], now: dict[Expr, Nodes]) -> Nodes:
        """The origins of several nodes, without duplicates."""
        found = (o for s in sources for o in self.origins.get(s, now.get(s, ())))
        return tuple(dict.fromkeys(found))

    def _created(
        self, root: Expr, now: dict[Expr, Nodes], seen: set[Expr]
    ) -> tuple[list[Expr], set[Expr]]:
        """The nodes at and below `root` that the round created or that replace other nodes."""
        created: list[Expr] = []
        kept: set[Expr] = set()
        todo = [root]
        while todo:
            node = todo.pop()
            if isinstance(node, SHARED):
                continue
            if node in self.origins:
                kept.add(node)
                continue
            if node in now:
                kept.add(node)
            elif node not in seen:
                created.append(node)
            if node not in seen:
                seen.add(node)
                todo += node.parts()
        return created, kept


def _consumed(
    pre: Expr, made: Mapping[Expr, Expr], kept: set[Expr], live: set[Expr]
) -> Iterator[Expr]:
    """The operands that a rewrite of `pre` used: operands that its result no longer contains, and
    nodes below them without remaining users."""
    todo = [pre]
    seen: set[Expr] = set()
    while todo:
        for part in todo.pop().parts():
            if part in seen or not has_origin(part) or made.get(part, part) in kept:
                continue
            seen.add(part)
            yield part
            if made.get(part, part) not in live:
                todo.append(part)
