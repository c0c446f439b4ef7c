"""The regions that annotations define: their nodes, inputs and outputs.

A begin opens a region; a call, tuple or projection joins the region of its arguments, and merges
the regions of its arguments if there are several; an end closes a region. Operands that are ends do
not affect membership. Lets, ifs and references are never inside a region.

Source: src/relay/analysis/annotated_region_set.cc of TVM 0.16, with its region numbers. Merging
takes nearly linear time (TVM scans all inputs at each merge).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from byoc_lab.errors import PartitionError, counted
from byoc_lab.relay.analysis.annotations import BEGIN, END, compiler_of, is_annotation
from byoc_lab.relay.ir.expr import (
    Call,
    Expr,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    describe,
)

# Called as problem(kind, node, details); `RegionSet.problem` lists the kinds.
OnProblem = Callable[[str, Expr, dict[str, Any]], None]


class Region:
    """One region. `id` numbers regions by their begins in evaluation order; a merged region keeps
    one of the ids, as in TVM. `first`: the smallest id of its members, which is the id of its first
    begin."""

    # Every begin creates a Region, so its memory matters.
    __slots__ = ("_inputs", "_members", "_outputs", "first", "id", "merged_into", "target")

    def __init__(self, number: int, begin: Call):
        self.id = self.first = number
        self.target = compiler_of(begin)
        self._members: list[Expr] = [begin]
        self._inputs = _Rope((begin,))
        self._outputs: dict[Call, None] | None = None
        self.merged_into: Region | None = None

    @property
    def nodes(self) -> set[Expr]:
        """The nodes of the region, including its begins and ends."""
        return set(self._members)

    @property
    def inputs(self) -> list[Call]:
        """The begins through which values enter the region."""
        return list(self._inputs)

    @property
    def outputs(self) -> list[Call]:
        """The ends through which values leave the region."""
        return [*(self._outputs or ())]

    def __repr__(self) -> str:
        return f"<region {self.id} of {self.target}: {counted(len(self._members), 'node')}>"


class _Rope:
    """A sequence that can be joined to another in constant time."""

    __slots__ = ("_left", "_right", "removed", "size")

    def __init__(self, items: Sequence[Any] = ()):
        self._left: Any = items
        self._right: _Rope | None = None
        self.removed: set[Any] | None = None
        self.size = len(items)

    def join(self, other: _Rope) -> None:
        mine = _Rope()
        mine._left, mine._right = self._left, self._right
        self._left, self._right = mine, other
        if self.removed is None:
            self.removed = other.removed
        elif other.removed:
            self.removed |= other.removed
        self.size += other.size

    def remove(self, item: Any) -> None:
        if self.removed is None:
            self.removed = set()
        self.removed.add(item)

    def __iter__(self) -> Iterator[Any]:
        removed = self.removed or ()
        stack: list[Any] = [self]
        while stack:
            top = stack.pop()
            if isinstance(top, tuple):
                yield from (x for x in top if x not in removed)
            elif top is not None:
                stack += [top._right, top._left]


class RegionSet:
    """The regions of one global function, or of an expression.

    Raises PartitionError at the first malformed annotation, unless `on_problem` is given, which
    is then called for each while the walk continues.
    """

    def __init__(self, func: Expr, on_problem: OnProblem | None = None):
        self._region_of: dict[Expr, Region] = {}
        self._begins_over: dict[Expr, list[Call]] = {}
        self._on_problem = on_problem
        self.opened: list[Call] = []  # the begins, by region id
        for node in _evaluation_order(func):
            self._visit(node)

    def __iter__(self) -> Iterator[Region]:
        """The regions, by id."""
        found = {id(r): r for n in self._region_of for r in (self.of(n),) if r}
        return iter(sorted(found.values(), key=lambda r: r.id))

    def of(self, node: Expr) -> Region | None:
        """The region that a node belongs to."""
        region = self._region_of.get(node)
        while region is not None and region.merged_into is not None:
            if region.merged_into.merged_into is not None:  # path compression
                region.merged_into = region.merged_into.merged_into
            region = region.merged_into
        return region

    def first_begin(self, region: Region) -> Call:
        """The begin of a region that is evaluated first; merging never removes it."""
        return self.opened[region.first]

    def _visit(self, node: Expr) -> None:
        if is_annotation(node):
            (self._open if node.is_op(BEGIN) else self._close)(node)
        elif isinstance(node, Call):
            if node.is_op(END):
                self.problem("no-compiler", node, {})
            self._join(node, node.args)
        elif isinstance(node, (Tuple, TupleGetItem, Let, If, RefCreate, RefRead, RefWrite)):
            self._join(node, node.parts())

    def _open(self, begin: Call) -> None:
        self._region_of[begin] = Region(len(self.opened), begin)
        self.opened.append(begin)
        self._begins_over.setdefault(begin.args[0], []).append(begin)

    def _close(self, end: Call) -> None:
        region = self.of(end.args[0])
        if region is None:
            self.problem("no-region", end, {})
            return
        if region.target != compiler_of(end):
            self.problem("target", end, {"region": region})
        self._add(end, region)
        if region._outputs is None:
            region._outputs = {}
        region._outputs[end] = None

    def _join(self, node: Expr, args: Sequence[Expr]) -> None:
        if not self.opened:
            return
        found = [(a, self.of(a)) for a in args if not is_annotation(a, END)]
        first = next((region for _, region in found if region), None)
        if first is None:
            return
        outside = [a for a, region in found if region is None]
        if outside:
            self.problem("inconsistent", node, {"region": first, "outside": outside})
        for _, region in found:
            if region is None or region is first:
                continue
            if region.target != first.target and self._on_problem:
                targets = (first.target, region.target)
                self.problem("mixed-targets", node, {"opened_for": targets})
            self.merge(region, first)
        self._add(node, first)

    def _add(self, node: Expr, region: Region) -> None:
        region._members.append(node)
        self._region_of[node] = region

    def merge(self, source: Region, into: Region) -> None:
        """Merge region `source` into region `into`, which keeps its id and target."""
        source, into = _top(source), _top(into)
        if source is into:
            return
        if len(source._members) <= into._inputs.size:
            candidates = [b for n in source._members for b in self._begins_over.get(n, ())]
            inner = [b for b in candidates if self.of(b) is into]
        else:
            inner = [b for b in into._inputs if self.of(b.args[0]) is source]
        into.first = min(into.first, source.first)
        into._inputs.join(source._inputs)
        into._outputs = _joined(into._outputs, source._outputs)
        for begin in inner:  # the results of `source` are now inside the region
            into._inputs.remove(begin)
            producer = begin.args[0]
            if isinstance(producer, Call) and into._outputs:
                into._outputs.pop(producer, None)
        if len(into._members) < len(source._members):
            into._members, source._members = source._members, into._members
        into._members += source._members
        source._members = []
        source.merged_into = into

    def problem(self, kind: str, node: Expr, details: dict[str, Any]) -> None:
        """Call `on_problem`, or raise. kind is "no-compiler" (an end without attributes),
        "no-region" (an end around a value of no region), "target" (an end of another compiler),
        "inconsistent" (some operands outside), or "mixed-targets" (only for `on_problem`: TVM
        accepts it silently)."""
        if self._on_problem:
            self._on_problem(kind, node, details)
            return
        raise PartitionError(_explain(kind, node, details), node)


def _joined(
    first: dict[Call, None] | None, second: dict[Call, None] | None
) -> dict[Call, None] | None:
    if first and second:
        first.update(second)
    return first or second


def _top(region: Region) -> Region:
    while region.merged_into is not None:
        region = region.merged_into
    return region


def _evaluation_order(func: Expr) -> Iterator[Expr]:
    """Operands first; but lets, ifs and references come before their parts, so that membership
    never passes through them (as in TVM)."""
    seen: set[Expr] = set()
    # None marks that the parts of the node below it on the stack are done.
    stack: list[Expr | None] = [func]
    while stack:
        node = stack.pop()
        if node is None:
            yield stack.pop()  # type: ignore[misc]
        elif node not in seen:
            seen.add(node)
            parts = node.parts()
            if not parts or isinstance(node, (Let, If, RefCreate, RefRead, RefWrite)):
                yield node
            else:
                stack += (node, None)
            stack += reversed(parts)


def _explain(kind: str, node: Expr, details: dict[str, Any]) -> str:
    if kind == "no-compiler":
        return "a compiler_end names no compiler; give it one: compiler_end(..., compiler=...)"
    if kind == "no-region":
        return (
            f"compiler_end[{compiler_of(node)}] closes nothing: {describe(node.parts()[1])} is in "
            f"no region. Put compiler_begin on every input of what it is to close, or remove it "
            f"(TVM: Cannot find the corresponding region for end annotation)"
        )
    region = details["region"]
    if kind == "target":
        return (
            f"a region was opened for {region.target} and is closed for {compiler_of(node)}, at "
            f"{describe(node.parts()[1])}; use one compiler for both "
            f"(TVM: Check failed: region->GetTarget() == target)"
        )
    outside = ", ".join(describe(a) for a in details["outside"])
    return (
        f"{describe(node)} mixes values of a region of {region.target} with values from outside: "
        f"{outside}. Put compiler_begin[{region.target}] on these arguments "
        f"(TVM: Arg regions are inconsistent)"
    )
