"""`Provenance`: maps the nodes of a pass's result to the nodes of its input that they originate
from.

It is derived from what the pass reported: each round of the pass has what became of every node,
each rewrite has the nodes that it replaced, and copies have the originals of bodies that were moved
or inlined. Between rounds, type inference makes typed copies, of the same structure.

A node of the result originates in
* the node whose place it has, with rewritten operands or another type,
* the nodes that a rewrite replaced or computed it with, where a rewrite created it,
* nothing, where a rewrite inserted it: `rule` says which one.

`identity` follows one node at a time: the node of the input whose place a node has, or the node
that a rewrite created there. The states between two rewrites of a pass share these, so that the
view keeps the place of what stays.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from byoc_lab.errors import UnknownNodeError
from byoc_lab.lab.tracing.copies import pairs
from byoc_lab.lab.tracing.replay import Replaced, contradiction, function_of, nodes_made
from byoc_lab.passes.framework.hook import Event, Round
from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.expr import (
    Expr,
    GlobalVar,
    Op,
    Var,
    describe,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

Nodes = tuple[Expr, ...]


def has_origin(node: Expr) -> bool:
    """Whether a node is part of one module alone: operators and names of functions are not."""
    return not isinstance(node, (Op, GlobalVar, Constructor))


def nodes_of(mod: IRModule) -> Iterator[Expr]:
    """The nodes of a module that have origins, operands first."""
    return filter(has_origin, post_order(*mod.functions.values()))


class Provenance:
    """The origins and images of one pass's nodes; each is the inverse of the other."""

    def __init__(
        self,
        before: IRModule,
        after: IRModule,
        events: Sequence[Event],
        count: int | None = None,
    ):
        """events: the reports of the pass. count: `after` is the state after this many of them;
        None for the result of the pass."""
        later = [] if count is None else events[count:]
        tracker = _Tracker(before, later, whole=count is None)
        if after is not before:
            tracker.follow(events[:count])
            tracker.finish(after)
        self._before, self._inner = before, tracker.inner
        self._rules, self._entered = tracker.rules, tracker.entered
        self._origins = {n: tracker.origins.get(n, ()) for n in nodes_of(after)}

    @cached_property
    def inputs(self) -> Mapping[Expr, Nodes]:
        """The images of each node of the input: first the nodes that have its place."""
        nearest: dict[Expr, list[Expr]] = {n: [] for n in nodes_of(self._before)}
        others: dict[Expr, list[Expr]] = {}
        for node, sources in self._origins.items():
            for n, source in enumerate(sources):
                if n == 0 and node not in self._inner:
                    nearest[source].append(node)
                else:
                    others.setdefault(source, []).append(node)
        return {n: (*found, *others.get(n, ())) for n, found in nearest.items()}

    @property
    def results(self) -> Mapping[Expr, Nodes]:
        """The origins of each node of the result."""
        return self._origins

    def origins(self, node: Expr) -> Nodes:
        """The nodes of the input that `node` of the result originates from, the nearest first."""
        return _found(self._origins, node, "result")

    def images(self, node: Expr) -> Nodes:
        """The nodes of the result that come from `node` of the input, the nearest first."""
        return _found(self.inputs, node, "input")

    def rule(self, node: Expr) -> str:
        """The rule that created `node` of the result; "" if the node has the place of another, and
        for a node without origins if the pass did not report it."""
        _found(self._origins, node, "result")
        return self._rules.get(node, "")

    def identity(self, node: Expr) -> Expr:
        """The node of the input whose place `node` of the result has, or the node that a rewrite
        created for it: the same one in each state of the pass. Copies share it."""
        _found(self._origins, node, "result")
        return self._entered.get(node, node)


def root_provenance(before: IRModule, events: Sequence[Event], found: Round) -> Provenance:
    """The origins of the nodes of a round's root. before, events: of the pass."""
    first = next((n for n, event in enumerate(events) if event.round is found), 0)
    root = IRModule.unchecked(function_of(found.root, found.function), found.function)
    return Provenance(before, root, events[:first])


def _found(known: Mapping[Expr, Nodes], node: Expr, where: str) -> Nodes:
    try:
        return known[node]
    except KeyError:
        hint = "" if has_origin(node) else "; operators and names of functions have no origins"
        raise UnknownNodeError(
            f"{describe(node)} is not a node of the {where} of this stage{hint}. Nodes are found "
            f"by identity: take them from stage.before and stage.after"
        ) from None


@dataclass(eq=False)
class _Rewrites:
    """The rewrites of one round."""

    events: list[Event] = field(default_factory=list)
    replaced: Replaced = field(default_factory=dict)


class _Tracker:
    """Follows the nodes of a module through the rounds of a pass."""

    def __init__(self, before: IRModule, later: Sequence[Event], whole: bool):
        """later: rewrites that are not followed. whole: whether the pass made all that is followed,
        rather than `replay` a part of it."""
        self._whole = whole
        self._later = {event.before for event in later}
        self.roots: dict[str, Expr] = {gv.name_hint: f for gv, f in before.functions.items()}
        self.origins: dict[Expr, Nodes] = {n: (n,) for n in nodes_of(before)}
        self.rules: dict[Expr, str] = {}
        self.inner: set[Expr] = set()  # created nodes that have the place of no other
        self.entered: dict[Expr, Expr] = {n: n for n in self.origins}  # see `identity`
        self._added: list[Event] = []  # functions added, until the round with their sources

    def follow(self, events: Sequence[Event]) -> None:
        """Apply all rounds, in the order in which they began."""
        rounds: dict[Round, _Rewrites] = {}
        for event in events:
            if event.round is not None:
                rewrites = rounds.setdefault(event.round, _Rewrites())
                rewrites.events.append(event)
                assert event.before is not None and event.after is not None
                rewrites.replaced[event.before] = event.after
        current: Round | None = None
        for event in events:
            if event.round is None:
                self._change_functions(event)
            elif event.round is not current and event.round in rounds:
                if current is not None:
                    self._apply(current, rounds.pop(current))
                current = event.round
        if current is not None:
            self._apply(current, rounds.pop(current))

    def finish(self, after: IRModule) -> None:
        now: dict[Expr, Nodes] = {}
        self._create_functions(now, final=True)
        self.origins.update(now)
        for gv, func in after.functions.items():
            self._copy(self.roots.get(gv.name_hint), func)

    def _change_functions(self, event: Event) -> None:
        name = event.function
        if isinstance(event.before, GlobalVar):
            before = event.before.name_hint
            if before not in self.roots:
                raise contradiction(f"@{before} is renamed and does not exist")
            self.roots[name] = self.roots.pop(before)
        elif event.after is None:
            self.roots.pop(name, None)
        else:
            self._copy(event.before, event.after)
            self.roots[name] = event.after
            self._added.append(event)

    def _copy(self, original: Expr | None, copied: Expr) -> None:
        """Nodes of a copy, typed or renamed, have the origins of the copied nodes."""
        origins, marked = self.origins, self.rules or self.inner
        for a, b in pairs(original, copied):
            if has_origin(a):
                origins[b] = origins.get(a, ())
                if marked:
                    self._inherit(a, b)
                else:
                    self._enter(b, a)

    def _enter(self, new: Expr, old: Expr) -> None:
        """`new` has the place of `old`."""
        if new not in self.entered:
            self.entered[new] = self.entered.get(old, old)

    def _inherit(self, old: Expr, new: Expr) -> None:
        if old is not new:
            self._enter(new, old)
            if old in self.rules:
                self.rules.setdefault(new, self.rules[old])
            if old in self.inner:
                self.inner.add(new)

    def _apply(self, found: Round, rewrites: _Rewrites) -> None:
        self._copy(self.roots.get(found.function), found.root)
        made = found.made
        if not self._whole or found.root not in made:  # the pass does not keep the nodes it creates
            made = nodes_made(found, rewrites.replaced)
        replaced, known = rewrites.replaced, self.origins
        for pre, post in found.made.items():  # later rewrites too: some are not in `made`
            if post in self.entered or pre in replaced or pre in self._later:
                continue
            if has_origin(pre):
                self._enter(post, pre)
        now: dict[Expr, Nodes] = {}
        for pre, post in made.items():
            if pre in replaced or not has_origin(pre):
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
                    if not isinstance(copied, Var):  # each parameter is a separate node
                        self._enter(copied, source)
                    if type(copied) is not type(source):  # a parameter, for an argument
                        self.inner.add(copied)
        live: set[Expr] = set()
        if any(event.sources is None for event in rewrites.events):
            added = [e.after for e in self._added if e.after is not None]
            live.update(post_order(made[found.root], *added))
        seen: set[Expr] = set()
        for event in rewrites.events:
            self._create(event, made, now, live, seen)
        self._create_functions(now)
        self.origins.update(now)
        self.roots[found.function] = made[found.root]

    def _extend(self, now: dict[Expr, Nodes], node: Expr, origins: Nodes) -> None:
        """Add origins to those that a node has in this round, or had before it."""
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
        if is_new:  # it also has the place of `pre`
            now[post] = tuple(dict.fromkeys((*own, *origins)))
            self.inner.discard(post)
        elif has_origin(post):
            self._extend(now, post, own)

    def _create_functions(self, now: dict[Expr, Nodes], final: bool = False) -> None:
        """Add the known origins of nodes that were created with a function."""
        waiting = []
        for event in self._added:
            assert event.after is not None
            sources = event.sources or ()
            if not final and any(s not in now and s not in self.origins for s in sources):
                waiting.append(event)  # until the round that they are nodes of
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
        """The origins of several nodes, each once."""
        found = (o for s in sources for o in self.origins.get(s, now.get(s, ())))
        return tuple(dict.fromkeys(found))

    def _created(
        self, root: Expr, now: dict[Expr, Nodes], seen: set[Expr]
    ) -> tuple[list[Expr], set[Expr]]:
        """The nodes at and below `root` that the round created, and those that others became."""
        created: list[Expr] = []
        kept: set[Expr] = set()
        todo = [root]
        while todo:
            node = todo.pop()
            if not has_origin(node):
                continue
            if node in now or node in self.origins:
                kept.add(node)
            elif node not in seen:
                created.append(node)
            if node not in seen and node not in self.origins:
                seen.add(node)
                todo += node.parts()
        return created, kept


def _consumed(
    pre: Expr, made: Mapping[Expr, Expr], kept: set[Expr], live: set[Expr]
) -> Iterator[Expr]:
    """The operands that a rewrite of `pre` computed with: those that its result does not use as
    they are, and what nothing uses any more below them."""
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
