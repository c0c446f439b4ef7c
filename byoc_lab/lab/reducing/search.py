"""The search for the smallest module: large cuts first, then single changes, until none is left.

This is delta debugging (Zeller and Hildebrandt, "Simplifying and isolating failure-inducing input",
2002) with cuts of a dataflow graph. A prefix and a suffix of the nodes are found by halving. Then
chunks of nodes are replaced by parameters or by their operands, with half the chunk size each time.
Then single nodes are removed, and types, constants and attributes simplified, until a whole round
changes nothing. Each candidate is typed and given to the predicate (`Asker`, which counts the
calls). It becomes the current module if the predicate holds. So the predicate always holds for the
result, and the search is deterministic.

A round calls the predicate a few times per remaining node, so large cuts come first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from byoc_lab.errors import ByocLabError, counted
from byoc_lab.lab.reducing.asking import Asker
from byoc_lab.lab.reducing.edits import (
    COMPOSITE,
    Replaced,
    bypasses,
    composites,
    edited,
    may_be_parameter,
    operands,
)
from byoc_lab.lab.reducing.measures import distance, size_of
from byoc_lab.lab.reducing.simplifying import CHANGES, Change, all_lets_inlined
from byoc_lab.lab.reducing.tables import Table, smaller_tables, table_size
from byoc_lab.relay.ir.expr import Expr, Tuple
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.typing.infer import infer_module

MAX_OTHER_TYPES = 100
"""Maximum number of operators of a module in which nodes are replaced by operands of different
types, and results are added."""

Replacer = Callable[[Sequence[Expr]], Replaced]


class Search:
    """The search: the smallest module so far, `current`, for which a predicate holds, and the
    changes that led to it.

    table: the smallest pattern table so far, if the predicate takes one. steps: the changes that
    were made, in words. refused: typed modules of the last round for which the predicate does not
    hold.
    """

    def __init__(self, mod: IRModule, asker: Asker, table: Table | None = None):
        self.current, self.asker, self.table = mod, asker, table
        self.size = size_of(mod)
        self.steps: list[str] = []
        self.refused: list[IRModule] = []
        self.keep = False

    def run(self) -> None:
        """Search until no single change is left. Raises Exhausted at the end of the budget."""
        unused = edited(self.current, {})
        if (
            not self.attempt("drop unused parameters and functions", unused)
            and size_of(unused) < self.size
        ):
            self.keep = True  # the predicate needs an unused parameter or function
        self.large_cuts()
        while True:
            self.refused = []
            before = len(self.steps)
            self.sweep(1, SINGLE)
            self.single_changes()
            while self.smaller_table():
                pass
            if len(self.steps) == before:
                return

    def smaller_table(self) -> bool:
        """Take the first smaller table for which the predicate holds as the current one."""
        for step, table in smaller_tables(self.table or ()):
            smaller = table_size(table) < table_size(self.table or ())
            if smaller and self.asker.holds(self.current, step, table):
                self.table, self.refused = table, []
                self.steps.append(step)
                return True
        return False

    def attempt(self, step: str, candidate: IRModule | None) -> bool:
        """Make a module the current one if it is well-typed and smaller, and the predicate
        holds."""
        if candidate is None:
            return False
        try:
            typed = infer_module(candidate)
        except ByocLabError:
            return False
        size = size_of(typed)
        if size >= self.size:
            return False
        if not self.asker.holds(typed, f"{counted(self.size[0], 'operator')}, {step}", self.table):
            self.refused.append(typed)
            return False
        self.current, self.size = typed, size
        self.steps.append(step)
        return True

    def replace(self, step: str, replaced: Replaced) -> bool:
        return self.attempt(step, edited(self.current, replaced, keep=self.keep))

    def large_cuts(self) -> None:
        """Cut off a prefix and a suffix of the nodes, then remove chunks, each time half as
        large."""
        lets = all_lets_inlined(self.current)
        if lets:
            self.replace("inline all lets", lets)
        self.prefix()
        self.suffix()
        size = len(composites(self.current)) // 2
        while size > 1:
            self.sweep(size, CHUNKS)
            size = min(size // 2, max(len(composites(self.current)) // 2, 1))

    def prefix(self) -> None:
        """Find by halving the shortest prefix of the nodes; its last values become the results."""
        low, high = 0, len(composites(self.current))
        while high - low > 1:
            middle = (low + high) // 2
            nodes = composites(self.current)
            removed = [n for n in nodes[middle:] if may_be_parameter(n)]
            step = f"cut after {counted(middle, 'node')}"
            if self.replace(step, dict.fromkeys(removed)):
                high = min(middle, len(composites(self.current)))
                low = min(low, high)
            else:
                low = middle

    def suffix(self) -> None:
        """Find by halving the shortest suffix of the nodes; its operands become parameters."""
        low, high = 0, len(composites(self.current))  # the last `high` nodes are enough
        while high - low > 1:
            middle = (low + high) // 2
            nodes = composites(self.current)
            removed = [n for n in nodes[: len(nodes) - middle] if may_be_parameter(n)]
            if self.replace(
                f"cut before the last {counted(middle, 'node')}", dict.fromkeys(removed)
            ):
                high = min(middle, len(composites(self.current)))
                low = min(low, high)
            else:
                low = middle

    def sweep(self, size: int, replacers: Sequence[tuple[str, Replacer]]) -> None:
        """Try to remove each chunk of `size` nodes, from the results towards the parameters."""
        nodes = composites(self.current)
        stop = len(nodes)
        while stop > 0:
            start = max(0, stop - size)
            chunk = nodes[start:stop]
            if self.removed(chunk, replacers):
                nodes = composites(self.current)
                stop = min(stop, len(nodes)) if size == 1 else min(start, len(nodes))
            else:
                stop = start

    def removed(self, chunk: Sequence[Expr], replacers: Sequence[tuple[str, Replacer]]) -> bool:
        what = f"{len(chunk)} nodes" if len(chunk) > 1 else chunk[0].summary()
        for name, replacer in replacers:
            replaced = replacer(chunk)
            if replaced and self.replace(name.format(what), replaced):
                return True
        return len(chunk) == 1 and any(self.single(chunk[0]))

    def single(self, node: Expr) -> Iterator[bool]:
        """Edits that remove one node: replace it by each operand of its type; replace a result by
        each of its operands."""
        for other in self.others(node):
            yield self.replace(f"{node.summary()} by another operand", {node: other})
        for part in operands(node):
            if isinstance(part, COMPOSITE) and self.size[0] <= MAX_OTHER_TYPES:
                yield self.split(node, part)
        for gv, func in self.current.functions.items():
            if func.body is node:
                for part in dict.fromkeys(operands(node)):
                    if isinstance(part, COMPOSITE):
                        candidate = edited(self.current, {}, {gv: part}, keep=self.keep)
                        yield self.attempt(f"return {part.summary()}", candidate)
                yield self.fields(gv, node)

    def split(self, node: Expr, part: Expr) -> bool:
        """Replaces a node by a parameter, and makes its operand an additional result of @main."""
        main = next((gv for gv in self.current.functions if gv.name_hint == "main"), None)
        if main is None or self.current[main].body is node:
            return False
        results = Tuple([self.current[main].body, part])
        candidate = edited(self.current, {node: None}, {main: results}, keep=self.keep)
        return self.attempt(f"{node.summary()} by a parameter, and return its operand", candidate)

    def others(self, node: Expr) -> list[Expr]:
        """The untried operands that could replace a node; in a small module also operands of
        different types, because broadcasting may make them valid."""
        same = bypasses(node)
        if self.size[0] > MAX_OTHER_TYPES:
            return same[1:]
        return [p for p in dict.fromkeys(operands(node)) if p not in same[:1]]

    def fields(self, gv: object, node: Expr) -> bool:
        """Drop results of a function that returns a tuple, in chunks."""
        if not isinstance(node, Tuple):
            return False
        kept, size, made = list(node.fields), max(len(node.fields) // 2, 1), False
        while size and len(kept) > 1:
            stop = len(kept)
            while stop > 0 and len(kept) > 1:
                start = max(0, stop - size)
                rest = kept[:start] + kept[stop:]
                body = rest[0] if len(rest) == 1 else Tuple(rest)
                name = gv.name_hint  # type: ignore[attr-defined]
                target = self.current.get_global_var(name)
                candidate = edited(self.current, {}, {target: body}, keep=self.keep)
                if rest and self.attempt("drop results", candidate):
                    made = True
                    now = self.current[name].body
                    kept = list(now.fields) if isinstance(now, Tuple) else []
                    stop = min(start, len(kept))
                else:
                    stop = start
            size //= 2
        return made

    def single_changes(self) -> None:
        """Simpler parameters, constants, attributes and shapes."""
        for changes in CHANGES:
            self.each(changes)

    def each(self, changes: Callable[[IRModule, bool], Iterable[Change]]) -> None:
        """Try the changes of one kind. After a change that holds, continue with the later changes
        of the new module."""
        position = 0
        while True:
            for n, (step, make) in enumerate(changes(self.current, self.keep)):
                if n >= position and self.attempt(step, make()):
                    position = n
                    break
            else:
                return

    def nearest(self) -> IRModule | None:
        """The module nearest to the current one for which the predicate does not hold."""
        return min(self.refused, key=lambda mod: distance(mod, self.current), default=None)


def _parameters(chunk: Sequence[Expr]) -> Replaced:
    return {n: None for n in chunk if may_be_parameter(n)}


def _operands(chunk: Sequence[Expr]) -> Replaced:
    return {n: found[0] for n in chunk if (found := bypasses(n))}


def _both(chunk: Sequence[Expr]) -> Replaced:
    return {**_parameters(chunk), **_operands(chunk)}


CHUNKS: list[tuple[str, Replacer]] = [
    ("{} by parameters", _parameters),
    ("{} by operands", _operands),
    ("{} by operands or parameters", _both),
]
SINGLE = CHUNKS[:2]
