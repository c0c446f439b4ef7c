"""MergeCompilerRegions: merge adjacent regions of one compiler."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from byoc_lab.errors import PartitionError
from byoc_lab.passes.framework.hook import (
    Sentence,
    is_heard,
    keeps_in,
    naming_regions,
    note,
    report,
)
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.relay.analysis.annotations import BEGIN, END, compiler_of, is_annotation
from byoc_lab.relay.analysis.regions import Region, RegionSet
from byoc_lab.relay.ir.expr import Call, Expr, Function, If, describe
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, rebuild


class MergeCompilerRegions(FunctionPass):
    """Merge adjacent regions of one compiler.

    If a `compiler_end` of A is the operand of a `compiler_begin` of A, both are removed, unless
    that creates a cycle: a region is not merged with a parent if it also depends on that parent
    through a region of another compiler. Only annotated nodes are considered; code without
    annotations between two regions does not prevent a merge (AnnotateTarget leaves none).

    Raises PartitionError for malformed annotations, and for a region that depends on itself.

    Source: src/relay/transforms/merge_compiler_regions.cc of TVM 0.16. TVM stores for each region
    the set of regions with which it must not be merged. The total size of these sets is quadratic
    in the length of a chain of regions, so here a graph search replaces them.
    """

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        merger = _merge(func)
        regions = merger.regions
        for path, edge in merger.kept_apart:
            note("keep apart", _cycle(path, regions), edge)
        joining = merger.joining

        made: dict[Expr, Expr] = {}
        keeps_in(made)

        def join(pre: Any, post: Any) -> Any:
            """For begin(end(x)) inside one region: x."""
            if not (is_annotation(pre, BEGIN) and is_annotation(pre.args[0], END)):
                return post
            end = pre.args[0]
            region = regions.of(pre)
            if region is None or region is not regions.of(end):
                return post
            inner = post.args[0]
            new = inner.args[0] if is_annotation(inner, END) else inner
            if joining is not None:
                report("join regions", joining.join(pre), pre, new)
            return new

        after: Function = rebuild(func, join, memo=made)
        return after


class _Joining:
    """The joined regions after each rewrite step; a region is identified by the number of its first
    begin.

    regions: the regions before merging.
    """

    def __init__(self, regions: RegionSet):
        self._begins = regions.opened
        # For each begin whose operand is an end: the regions of its operand and of its user.
        self._sides: dict[Expr, tuple[int, int]] = {}
        self._earlier: dict[int, int] = {}  # region -> the region that it was joined to
        for begin in regions.opened:
            maker, user = regions.of(begin.args[0]), regions.of(begin)
            if maker is not None and user is not None:
                self._sides[begin] = maker.first, user.first

    def join(self, begin: Call) -> Sentence:
        """Join the regions on both sides of a begin, and report it."""
        maker, user = map(self._first, self._sides[begin])
        kept, gone = sorted((maker, user))
        value = describe(begin.args[0].parts()[1])
        both = f"{value} and its user are both in "
        told = (both, self._begins[kept], f" of {compiler_of(begin)}")
        if kept == gone:
            return naming_regions(*told)
        self._earlier[gone] = kept
        mover = "its user" if maker < user else value
        return naming_regions(*told, f"; {mover} was in ", self._begins[gone])

    def _first(self, number: int) -> int:
        while (earlier := self._earlier.get(number)) is not None:
            number, before = earlier, number
            if earlier in self._earlier:  # path compression
                self._earlier[before] = self._earlier[earlier]
        return number


def merged_regions(func: Function) -> RegionSet:
    """The merged regions of a function, as sets of the function's unmodified nodes.

    Raises PartitionError for malformed annotations.
    """
    return _merge(func).regions


def _merge(func: Function) -> _Merger:
    merger = _Merger(RegionSet(func))
    for node in post_order(func):
        if is_annotation(node, END):
            region = merger.regions.of(node)
            assert region is not None  # RegionSet rejects ends without a region
            merger.process(region)
    return merger


def _cycle(path: list[Region], regions: RegionSet) -> Sentence:
    """The reason why merging the first and last region of a path would create a cycle."""
    parts: list[str | Expr] = []
    for region in dict.fromkeys(map(_merged, path)):
        value = f" ({describe(region.outputs[0].args[0])})" if region.outputs else ""
        before = " <- " if parts else "merging would make a cycle: "
        parts += [before, regions.first_begin(region), f" of {region.target}{value}"]
    return naming_regions(*parts)


@dataclass(eq=False)
class _Record:
    """The regions on which a region depended when it was processed."""

    order: int
    parents: list[Region] = field(default_factory=list)
    other_target: list[Region] = field(default_factory=list)


class _Merger:
    def __init__(self, regions: RegionSet):
        self.regions = regions
        self.records: dict[Region, _Record] = {}
        self.oldest: dict[Region, int] = {}  # by region: the order of its earliest merged member
        self.active: set[Region] = set()
        self.feeds_others: set[Region] = set()  # regions that regions of another target depend on
        self.joining = _Joining(regions) if is_heard() else None
        # (path between two unmerged regions, begin that separates them)
        self.kept_apart: list[tuple[list[Region], Call]] = []

    def process(self, region: Region) -> None:
        """Merge a region with its parents if possible; unprocessed parents are processed first."""
        stack = [(region, False)]
        while stack:
            current, ready = stack.pop()
            if current in self.records:
                continue
            if ready:
                self.active.discard(current)
                self._merge_parents(current)
                continue
            if current in self.active:
                value = describe(current.outputs[0].args[0])
                raise PartitionError(
                    f"the region of {current.target} that computes {value} depends on itself "
                    f"through another region; end it at the value that the other region reads, and "
                    f"begin a new region there"
                )
            self.active.add(current)
            stack.append((current, True))
            closed = [b for b in current.inputs if is_annotation(b.args[0], END)]
            stack += [(p, False) for p in self._parents(current, closed) if p not in self.records]

    def _parents(self, region: Region, begins: list[Call] | None = None) -> list[Region]:
        """The regions that produce the operands of a region's begins, or of the given begins."""
        found = (self.regions.of(b.args[0]) for b in (region.inputs if begins is None else begins))
        return list(dict.fromkeys(p for p in found if p is not None and p is not region))

    def _merge_parents(self, region: Region) -> None:
        record = self.records[region] = _Record(order=len(self.records))
        self.oldest[region] = record.order
        mergeable = self._parents(region)
        record.parents = mergeable + self._through_ifs(region)
        for parent in mergeable:
            if parent.target != region.target:
                record.other_target.append(parent)
                self.feeds_others.add(parent)
                continue
            path = self._path_through_another(region, parent)
            if not path:
                self.oldest[region] = min(self.oldest[region], self.oldest.get(parent, -1))
                self.regions.merge(parent, region)
                if parent in self.feeds_others:
                    self.feeds_others.add(region)
            elif is_heard():
                edge = next(b for b in region.inputs if self.regions.of(b.args[0]) is parent)
                self.kept_apart.append(([*path, parent], edge))

    def _through_ifs(self, region: Region) -> list[Region]:
        """Regions on which a region depends through an `if` among its inputs."""
        found: list[Region] = []
        todo = [b.args[0] for b in region.inputs]
        while todo:
            node = todo.pop()
            if isinstance(node, If):
                for part in node.parts():
                    owner = self.regions.of(part)
                    if owner is not None:
                        found.append(owner)
                    todo.append(part)
        return found

    def _path_through_another(self, region: Region, parent: Region) -> list[Region]:
        """The path from `region` to a region that depends on `parent` and has another target; empty
        if there is no such path.

        Dependencies of `parent` itself are not searched: its members were merged because no such
        path connects them.
        """
        if parent not in self.feeds_others:
            return []
        reached_from: dict[Region, Region | None] = {region: None}
        todo = [region]
        while todo:
            current = todo.pop()
            record = self.records.get(current)
            if record is None or record.order < self.oldest.get(parent, -1):
                continue
            if any(_merged(p) is parent for p in record.other_target):
                return _back_from(current, reached_from)
            for p in record.parents:
                if p not in reached_from and _merged(p) is not parent:
                    reached_from[p] = current
                    todo.append(p)
        return []


def _back_from(region: Region, reached_from: dict[Region, Region | None]) -> list[Region]:
    path = [region]
    while (previous := reached_from[path[-1]]) is not None:
        path.append(previous)
    return path[::-1]


def _merged(region: Region) -> Region:
    while region.merged_into is not None:
        region = region.merged_into
    return region
