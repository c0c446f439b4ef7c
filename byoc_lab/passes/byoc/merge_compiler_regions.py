"""MergeCompilerRegions: neighbouring regions of one compiler become one region."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from byoc_lab.errors import PartitionError
from byoc_lab.passes.framework.passes import FunctionPass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.analysis.annotations import BEGIN, END, is_annotation
from byoc_lab.relay.analysis.regions import Region, RegionSet
from byoc_lab.relay.ir.expr import Call, Expr, Function, If
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class MergeCompilerRegions(FunctionPass):
    """Neighbouring regions of one compiler become one region.

    `end[A]` directly into `begin[A]` -> neither, where that makes no cycle: a region is not merged
    with a parent that it also depends on through a region of another compiler. Only annotated nodes
    are looked at; un-annotated code between two regions does not prevent a merge (AnnotateTarget
    leaves none).

    Source: src/relay/transforms/merge_compiler_regions.cc of TVM 0.16. TVM keeps for each region
    the set of regions it must not be merged with; these sets grow with the square of a chain, so
    here the question is answered by a search when it comes up.
    """

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        regions = merged_regions(func)

        def join(pre: Any, post: Any) -> Expr | None:
            # begin(end(x)) within one region: x
            if not (is_annotation(pre, BEGIN) and is_annotation(pre.args[0], END)):
                return None
            end = pre.args[0]
            if regions.of(pre) is not regions.of(end):
                return None
            inner = post.args[0]
            return inner.args[0] if is_annotation(inner, END) else inner

        reason = "both sides of this edge belong to one region now"
        return rewrite(func, [RewriteRule("join regions", reason, join)])


def merged_regions(func: Function) -> RegionSet:
    """The regions of a function after merging, over its nodes as they are before.

    Raises PartitionError for malformed annotations.
    """
    regions = RegionSet(func)
    merger = _Merger(regions)
    for node in post_order(func):
        if is_annotation(node, END):
            region = regions.of(node)
            assert region is not None  # RegionSet has refused ends without a region
            merger.process(region)
    return regions


@dataclass(eq=False)
class _Record:
    """What a region depended on when it was processed."""

    order: int
    parents: list[Region] = field(default_factory=list)
    other_target: list[Region] = field(default_factory=list)


class _Merger:
    def __init__(self, regions: RegionSet):
        self.regions = regions
        self.records: dict[Region, _Record] = {}
        self.oldest: dict[Region, int] = {}  # by region: the order of its first member
        self.active: set[Region] = set()

    def process(self, region: Region) -> None:
        """Decide about a region's parents, its unprocessed parents first."""
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
                raise PartitionError(
                    f"{current!r} depends on itself through another region; cut it where its "
                    f"value escapes, so that two regions result"
                )
            self.active.add(current)
            stack.append((current, True))
            closed = [b for b in current.inputs if is_annotation(b.args[0], END)]
            stack += [(p, False) for p in self._parents(current, closed) if p not in self.records]

    def _parents(self, region: Region, begins: list[Call] | None = None) -> list[Region]:
        """The regions that values come from, through all begins or through the given ones."""
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
            elif not self._depends_through_another(region, parent):
                self.oldest[region] = min(self.oldest[region], self.oldest.get(parent, -1))
                self.regions.merge(parent, region)

    def _through_ifs(self, region: Region) -> list[Region]:
        """Regions that a region depends on through an if which is one of its inputs."""
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

    def _depends_through_another(self, region: Region, parent: Region) -> bool:
        """Whether something that `region` depends on has `parent` as a parent of another target."""
        seen: set[Region] = set()
        todo = [region]
        while todo:
            current = todo.pop()
            record = self.records.get(current)
            if record is None or current in seen or record.order < self.oldest.get(parent, -1):
                continue
            seen.add(current)
            if any(_merged(p) is parent for p in record.other_target):
                return True
            todo += record.parents
        return False


def _merged(region: Region) -> Region:
    while region.merged_into is not None:
        region = region.merged_into
    return region
