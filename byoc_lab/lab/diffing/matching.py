"""`Correspondence`: matches the nodes of two modules. The steps, each for nodes that have no
partner yet:

1. the same object in both, the same variable;
2. the provenance recorded by a trace, if there is one;
3. nodes that compute the same value, if only one in each module does (hashes of subgraphs);
4. operands of nodes that correspond, if they compute the same value;
5. operands and users of nodes that correspond, if none of their operands contradicts it;
6. operands and users with several candidates, in order;
7. between corresponding nodes, in order: nodes of one label, if both sides have equally many.

A node only gets a partner with an equal label (`flow.label`); an equal label alone is not enough.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import count, pairwise
from typing import Protocol

from byoc_lab.lab.diffing.flow import Flow, label, own_fields, types_differ
from byoc_lab.lab.diffing.ordering import longest_increasing
from byoc_lab.lab.diffing.wrappers import pair_functions, pair_wrappers
from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.expr import Constant, Expr, Function, GlobalVar, Op, Var
from byoc_lab.relay.ir.visit import post_order

# a rewrite that merged more nodes than this into one node is not evidence for any of them
MAX_ORIGINS = 64
MAX_STEPS = 8  # largest number of added or removed nodes between two operands that may correspond


_UNMADE = (Op, GlobalVar, Constructor)  # nodes that modules share


class Lineage(Protocol):
    """The known origins of a module's nodes in another module: `lab.tracing.Provenance`."""

    def origins(self, node: Expr, /) -> Sequence[Expr]:
        """The origins of a node of the second module in the first module, nearest first."""

    def images(self, node: Expr, /) -> Sequence[Expr]:
        """The nodes of the second module that originate from a node of the first, nearest first."""

    def rule(self, node: Expr, /) -> str:
        """The rule that created a node of the second module; "" if it only takes the place of
        another node."""


class Correspondence:
    """Partners of nodes: `to_after[x]` and `to_before[y]`.

    lineage: the origins of nodes that a trace recorded.
    """

    def __init__(self, before: Flow, after: Flow, lineage: Lineage | None = None):
        self.before, self.after = before, after
        self.to_after: dict[Expr, Expr] = {}
        self.to_before: dict[Expr, Expr] = {}
        self._new: set[Expr] = set()  # nodes of `after` that certainly have no partner
        self._queue: deque[tuple[Expr, Expr]] = deque()
        self._pair_variables()
        self._pair_identical()
        if lineage is not None:
            self._pair_by_lineage(lineage)
        if not self._is_settled():
            self._pair_unique_values()
            self._spread(self._same_value)
            self._spread(self._near)
            self._spread(self._in_order)
            self._pair_in_gaps()
            self._spread(self._in_order)
        self.functions = pair_functions(self)
        pair_wrappers(self)

    def _is_settled(self) -> bool:
        """Whether the unpaired real nodes of the two modules have no label in common, as after
        most rewrites of a trace."""
        mine, theirs = (
            {label(n) for n in flow.real() if n not in partners and not isinstance(n, (Var, Op))}
            for flow, partners in ((self.before, self.to_after), (self.after, self.to_before))
        )
        return mine.isdisjoint(theirs)

    def corresponds(self, x: Expr, y: Expr) -> bool:
        """Whether `y` is the result of rewriting `x`; globals correspond if their functions do."""
        if isinstance(x, GlobalVar) and isinstance(y, GlobalVar):
            return self.functions.get(x.name_hint, x.name_hint) == y.name_hint
        return x is y if isinstance(x, Op) else self.to_after.get(x) is y

    def pairs(self) -> list[tuple[Expr, Expr]]:
        """All corresponding nodes, in the order of the second module."""
        return [(self.to_before[y], y) for y in self.after.order if y in self.to_before]

    def pair(self, x: Expr, y: Expr) -> None:
        """Make two nodes partners, and also the variables that they bind."""
        self.to_after[x], self.to_before[y] = y, x
        self._queue.append((x, y))
        if isinstance(x, Function) and isinstance(y, Function):
            self.pair_parameters(x, y)
        elif x.binds():
            for p, q in zip(x.binds(), y.binds(), strict=False):
                if self.open(p, q):
                    self.pair(p, q)

    def open(self, x: Expr, y: Expr) -> bool:
        """Whether two nodes have no partners and may become partners."""
        return (
            x not in self.to_after
            and y not in self.to_before
            and y not in self._new
            and not isinstance(x, _UNMADE)
            and label(x) == label(y)
        )

    # ---- certain pairs ------------------------------------------------------------------------

    def _pair_variables(self) -> None:
        """Pair identical variables, and functions of one name with their parameters."""
        by_vid = {n.vid: n for n in self.before.order if isinstance(n, Var)}
        for y in self.after.order:
            if isinstance(y, Var) and y.vid in by_vid and self.open(by_vid[y.vid], y):
                self.pair(by_vid[y.vid], y)
        for gv, function in self.after.mod.functions.items():
            if gv.name_hint in self.before.mod:
                other = self.before.mod[gv.name_hint]
                if other not in self.before.inlined and function not in self.after.inlined:
                    self.pair(other, function)

    def pair_parameters(self, f: Function, g: Function) -> None:
        """Pair the parameters of two functions: in order if their types agree, else by name. Then
        pair parameters of equal types that have equal uses or the same position."""
        mine = [p for p in f.params if p not in self.to_after]
        theirs = [p for p in g.params if p not in self.to_before]
        types, others = ([p.type_annotation for p in params] for params in (mine, theirs))
        if types == others:
            for p, q in zip(mine, theirs, strict=True):
                self.pair(p, q)
            return
        named = {p.name_hint: p for p in mine}
        for q in theirs:
            if q.name_hint in named and self.open(named[q.name_hint], q):
                self.pair(named[q.name_hint], q)
        mine = [p for p in mine if p not in self.to_after]
        theirs = [q for q in theirs if q not in self.to_before]
        uses, used = (_uses(*both) if mine and theirs else {} for both in ((f, mine), (g, theirs)))
        scores = [
            ((uses[p] & used[q]).total(), f.params.index(p) == g.params.index(q), p, q)
            for q in theirs
            for p in mine
            if p.type_annotation == q.type_annotation
        ]
        for alike, in_place, p, q in sorted(scores, key=lambda s: s[:2], reverse=True):
            if (alike or in_place) and self.open(p, q):
                self.pair(p, q)

    def _pair_identical(self) -> None:
        for node in self.after.order:
            # if constants are equal, the two modules may have different ones as the real node
            if (
                node in self.before.value
                and self.open(node, node)
                and self.before.is_real(node) == self.after.is_real(node)
            ):
                self.pair(node, node)

    def _pair_by_lineage(self, lineage: Lineage) -> None:
        """Pair real nodes if one took the position of the other, then nodes that are each other's
        only candidate with their label. A created node without an origin of its label gets no
        partner.

        A rewrite of a whole function is ignored, because it relates every new to every old node.
        """
        nodes = [y for y in self.after.real() if not isinstance(y, (*_UNMADE, Constant, Var))]
        created = []
        for y in nodes:
            x = next(iter(lineage.origins(y)), None)
            if x is None or label(x) != label(y) or next(iter(lineage.images(x)), None) is not y:
                created.append(y)
            elif self.open(x, y) and self.before.is_real(x):
                self.pair(x, y)
        for y in created:
            origins = lineage.origins(y)
            if len(origins) > MAX_ORIGINS:
                continue
            mine = [x for x in origins if label(x) == label(y)]
            if not mine and lineage.rule(y):
                self._new.add(y)
            elif len(mine) == 1 and self.open(mine[0], y) and self.before.is_real(mine[0]):
                images = lineage.images(mine[0])[:MAX_ORIGINS]
                theirs = [n for n in images if label(n) == label(y)]
                if theirs == [y] and not self._contradict(mine[0], y):
                    self.pair(mine[0], y)
                elif theirs == [y] and lineage.rule(y):
                    self._new.add(y)

    # ---- by value -----------------------------------------------------------------------------

    @cached_property
    def _numbers(self) -> dict[Expr, int]:
        """A number for each node, equal for nodes that compute the same value."""
        table: dict[Hashable, int] = {}
        fresh = count()
        numbers: dict[Expr, int] = {}
        binders: dict[Expr, Hashable] = {}
        for flow in (self.before, self.after):
            for node in flow.order:
                for n, var in enumerate(node.binds()):
                    binders[var] = ("bound", n, len(node.binds()))
        for f in self.before.mod.functions.values():
            for p in f.params:
                binders.pop(p, None)
        for f in self.after.mod.functions.values():
            for p in f.params:
                binders.pop(p, None)
        for flow in (self.before, self.after):
            for node in flow.order:
                value = flow.value[node]
                if value is not node:
                    numbers[node] = numbers[value]
                    continue
                if isinstance(node, Var):
                    mine = self.to_before.get(node, node) if flow is self.after else node
                    key: Hashable = binders.get(node, ("var", mine))
                elif isinstance(node, Constant):
                    key = node.data.content()
                elif isinstance(node, (Op, GlobalVar)):
                    key = (type(node), getattr(node, "name", None))
                else:
                    below = tuple(numbers.get(p, -1) for p in flow.operands(node))
                    key = (label(node), own_fields(node), below)
                if key not in table:
                    table[key] = next(fresh)
                numbers[node] = table[key]
        return numbers

    def _pair_unique_values(self) -> None:
        found: dict[Hashable, tuple[list[Expr], list[Expr]]] = defaultdict(lambda: ([], []))
        for side, flow in enumerate((self.before, self.after)):
            partners = (self.to_after, self.to_before)[side]
            for node in flow.real():
                if node not in partners and not isinstance(node, (Op, GlobalVar, Var)):
                    found[self._numbers[node]][side].append(node)
        for mine, theirs in found.values():
            if len(mine) == len(theirs) == 1 and self.open(mine[0], theirs[0]):
                self.pair(mine[0], theirs[0])

    # ---- by neighbourhood ---------------------------------------------------------------------

    def _spread(self, step: Callable[[Expr, Expr], Iterator[tuple[Expr, Expr]]]) -> None:
        """Apply a step to all pairs next to a node without a partner, including the pairs that it
        finds."""
        beside: set[Expr] = set()
        for operand, uses in self.before.users.items():
            for user, _ in uses:
                if operand not in self.to_after:
                    beside.add(user)
                if user not in self.to_after:
                    beside.add(operand)
        self._queue = deque((x, y) for x, y in self.to_after.items() if x in beside)
        while self._queue:
            x, y = self._queue.popleft()
            if self.before.is_real(x) and self.after.is_real(y):
                for p, q in step(x, y):
                    if self.open(p, q):
                        self.pair(p, q)

    def _operands(self, x: Expr, y: Expr) -> Iterator[tuple[Expr, Expr]]:
        """The operands of a pair at one position, if they may be paired."""
        mine, theirs = self.before.operands(x), self.after.operands(y)
        if len(mine) == len(theirs):
            for p, q in zip(mine, theirs, strict=True):
                if not isinstance(p, (Constant, Var)) and self.open(p, q):
                    yield p, q

    def _same_value(self, x: Expr, y: Expr) -> Iterator[tuple[Expr, Expr]]:
        for p, q in self._operands(x, y):
            if self._numbers[p] == self._numbers[q]:
                yield p, q

    def _near(self, x: Expr, y: Expr) -> Iterator[tuple[Expr, Expr]]:
        for p, q in self._operands(x, y):
            if not self._contradict(p, q):
                yield p, q
        for mine, theirs in self._users(x, y):
            if len(mine) == len(theirs) == 1 and not self._contradict(mine[0], theirs[0]):
                yield mine[0], theirs[0]

    def _in_order(self, x: Expr, y: Expr) -> Iterator[tuple[Expr, Expr]]:
        yield from self._near(x, y)
        for mine, theirs in self._users(x, y):
            for p, q in zip(mine, theirs, strict=False):
                if not self._contradict(p, q):
                    yield p, q
        yield from self._operands(x, y)

    def _users(self, x: Expr, y: Expr) -> Iterator[tuple[list[Expr], list[Expr]]]:
        """The users of a pair that have no partner, use it at one position and have one label."""
        if isinstance(x, Constant):  # a constant may have unrelated users
            return
        found: dict[Hashable, tuple[list[Expr], list[Expr]]] = {}
        for side, users in enumerate((self.before.users.get(x, ()), self.after.users.get(y, ()))):
            partners = (self.to_after, self.to_before)[side]
            for user, n in users:
                if user not in partners:
                    found.setdefault((n, label(user)), ([], []))[side].append(user)
        yield from (both for both in found.values() if all(both))

    def _contradict(self, x: Expr, y: Expr) -> bool:
        """Whether the operands of two nodes rule out that the two correspond."""
        mine, theirs = self.before.operands(x), self.after.operands(y)
        return len(mine) == len(theirs) and not all(
            self.may_replace(p, q) for p, q in zip(mine, theirs, strict=True)
        )

    def may_replace(self, p: Expr, q: Expr) -> bool:
        """Whether added or removed nodes may explain that a user of `p` now uses `q`."""
        mine, theirs = self.to_after.get(p), self.to_before.get(q)
        if mine is q or (mine is None and theirs is None) or isinstance(p, (Op, GlobalVar)):
            return True
        if mine is None and theirs is not None:
            return _reaches(self.before, p, theirs, self.to_after)
        if theirs is None and mine is not None:
            return _reaches(self.after, q, mine, self.to_before)
        return False

    # ---- by position --------------------------------------------------------------------------

    def _pair_in_gaps(self) -> None:
        mine, theirs = list(self.before.real()), list(self.after.real())
        place = {y: n for n, y in enumerate(theirs)}
        pairs = [(n, self.to_after[x]) for n, x in enumerate(mine) if x in self.to_after]
        fixed = [(n, place[y]) for n, y in pairs if y in place]
        fixed = [fixed[n] for n in longest_increasing([at for _, at in fixed])]
        for (a, b), (c, d) in pairwise([(-1, -1), *fixed, (len(mine), len(theirs))]):
            self._pair_in_gap(mine[a + 1 : c], theirs[b + 1 : d])

    def _pair_in_gap(self, mine: list[Expr], theirs: list[Expr]) -> None:
        found: dict[Hashable, tuple[list[Expr], list[Expr]]] = {}
        for side, nodes in enumerate((mine, theirs)):
            partners = (self.to_after, self.to_before)[side]
            for node in nodes:
                if node not in partners and not isinstance(node, (Constant, Var)):
                    found.setdefault(label(node), ([], []))[side].append(node)
        for left, right in found.values():
            if len(left) == len(right):
                for x, y in zip(left, right, strict=True):
                    if not types_differ(x, y) and not self._contradict(x, y):
                        self.pair(x, y)


def _uses(function: Function, params: Sequence[Var]) -> dict[Expr, Counter[Hashable]]:
    """The users of parameters in a function: their labels, and the operand positions."""
    found: dict[Expr, Counter[Hashable]] = {p: Counter() for p in params}
    for user in post_order(function.body):
        for place, part in enumerate(user.parts()):
            if part in found:
                found[part][label(user), place] += 1
    return found


def _reaches(flow: Flow, start: Expr, goal: Expr, partners: Mapping[Expr, Expr]) -> bool:
    """Whether the value of `goal` reaches `start` through a few nodes without partners."""
    stack, seen = [start], {start}
    while stack and len(seen) <= MAX_STEPS:
        for operand in flow.operands(stack.pop()):
            if operand is goal:
                return True
            if operand not in partners and operand not in seen:
                seen.add(operand)
                stack.append(operand)
    return False
