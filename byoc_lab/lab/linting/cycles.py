"""Cycles of regions: a region that needs its own result, directly or through other regions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator

from byoc_lab.lab.linting.base import called
from byoc_lab.lab.linting.subject import Subject
from byoc_lab.relay.analysis.annotations import BEGIN, DEFAULT, END, is_annotation
from byoc_lab.relay.analysis.regions import Region, RegionSet
from byoc_lab.relay.ir.expr import Expr, Function, Let

Vertex = Expr | Region
"""A node, or a region: it stands for its call, which needs everything that the region computes."""
Needs = Callable[[Vertex], Collection[Vertex]]
_Bound = dict[Vertex, tuple[Expr, ...]]
"""For each variable of a `let` what is needed before it has its value."""


def cycles(
    subject: Subject, regions: RegionSet, with_default: bool = False
) -> list[tuple[Region, list[Expr]]]:
    """For each strongly connected component of regions: one of them, and a shortest path from an
    end out of it to a begin into it, both included.

    regions: of the function as it is, or merged. with_default: "default" makes regions too, as for
    MergeCompilerRegions; PartitionGraph drops its annotations.
    """
    lets = [n for n in subject.nodes if isinstance(n, Let)]
    found = _cycles(subject, regions, with_default, _values(lets))
    if lets and not found:
        found = _cycles(subject, regions, with_default, _values_in_order(lets))
    return found


def _cycles(
    subject: Subject, regions: RegionSet, with_default: bool, bound: _Bound
) -> list[tuple[Region, list[Expr]]]:
    needs = _needs(subject, regions, with_default, bound)
    found = []
    for knot in _knots(subject.func, needs):
        region = next((v for v in knot if isinstance(v, Region)), None)
        if region is not None:
            way = _way(region, knot, needs)
            enters = (n for n, v in enumerate(way) if _enters(v, region, regions))
            found.append((region, way[: next(enters, len(way)) + 1]))
    return found


def _values(lets: list[Let]) -> _Bound:
    """The value of each variable of a `let`, but for functions, which may call themselves."""
    return {n.var: () if isinstance(n.value, Function) else (n.value,) for n in lets}


def _values_in_order(lets: list[Let]) -> _Bound:
    """The same with the variable that is bound right before: a region that reads the later one
    cannot be called for the earlier one."""
    before = {n.body: (n.var,) for n in lets}
    values = _values(lets)
    return {n.var: (*values[n.var], *before.get(n, ())) for n in lets}


def _needs(subject: Subject, regions: RegionSet, with_default: bool, bound: _Bound) -> Needs:
    outputs: dict[Region, list[Expr]] = {}

    def region_of_end(node: Expr) -> Region | None:
        region = regions.of(node) if is_annotation(node, END) else None
        return region if region and (with_default or region.target != DEFAULT) else None

    joins = {n for n in subject.nodes if _joins(n, regions)}
    for node in subject.nodes:
        region = region_of_end(node)
        if region is not None and any(u not in joins for u in subject.users[node]):
            outputs.setdefault(region, []).append(node.parts()[1])

    def needs(vertex: Vertex) -> Collection[Vertex]:
        if isinstance(vertex, Region):
            return outputs[vertex]
        if vertex in joins:
            return (vertex.parts()[1].parts()[1],)  # merging removes this begin and its end
        if vertex in bound:
            return bound[vertex]
        region = region_of_end(vertex)
        return (region,) if region in outputs else vertex.parts()

    return needs


def _joins(node: Expr, regions: RegionSet) -> bool:
    """Whether a begin takes the end of the same region, so that merging removes both."""
    if not is_annotation(node) or not is_annotation(node.args[0], END):
        return False
    region = regions.of(node)
    return not is_annotation(node, END) and region is regions.of(node.args[0])


def _enters(node: Expr, region: Region, regions: RegionSet) -> bool:
    return is_annotation(node, BEGIN) and regions.of(node) is region


def _knots(root: Vertex, needs: Needs) -> Iterator[set[Vertex]]:
    """The strongly connected components of more than one vertex (Tarjan, without recursion)."""
    number: dict[Vertex, int] = {}
    low: dict[Vertex, int] = {}
    path: list[Vertex] = []
    on_path: set[Vertex] = set()
    work: list[tuple[Vertex, Iterator[Vertex]]] = []

    def enter(vertex: Vertex) -> None:
        number[vertex] = low[vertex] = len(number)
        path.append(vertex)
        on_path.add(vertex)
        work.append((vertex, iter(needs(vertex))))

    enter(root)
    while work:
        vertex, rest = work[-1]
        for other in rest:
            if other not in number:
                enter(other)
                break
            if other in on_path:
                low[vertex] = min(low[vertex], number[other])
        else:
            work.pop()
            if work:
                user = work[-1][0]
                low[user] = min(low[user], low[vertex])
            if low[vertex] == number[vertex]:
                knot = set()
                while vertex not in knot:
                    knot.add(path.pop())
                on_path -= knot
                if len(knot) > 1:
                    yield knot


def _way(region: Region, knot: set[Vertex], needs: Needs) -> list[Expr]:
    """The shortest path by which the result of a region returns to it, in the order of the
    dataflow."""
    needed_by: dict[Vertex, Vertex] = {}
    todo: deque[Vertex] = deque([region])
    while region not in needed_by:
        vertex = todo.popleft()
        for other in needs(vertex):
            if other in knot and other not in needed_by:
                needed_by[other] = vertex
                todo.append(other)
    way: list[Vertex] = []
    at = needed_by[region]
    while at is not region:
        way.append(at)
        at = needed_by[at]
    return [v for v in way if not isinstance(v, Region)]


def shown(path: list[Expr]) -> str:
    """A way in words: its first and last annotation, and everything between."""
    ends = (path[0], path[-1])
    return " -> ".join(called(n) for n in path if n in ends or not is_annotation(n))
