"""Cycles of regions: a region depends on its own result, directly or through other regions."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Iterator

from byoc_lab.lab.linting.base import called
from byoc_lab.lab.linting.subject import Subject
from byoc_lab.relay.analysis.annotations import BEGIN, DEFAULT, END, is_annotation
from byoc_lab.relay.analysis.regions import Region, RegionSet
from byoc_lab.relay.ir.expr import Expr, Function, Let

Vertex = Expr | Region
"""A node or a region. A region represents the call of its function, and depends on all values that
it computes."""
Needs = Callable[[Vertex], Collection[Vertex]]
_Bound = dict[Vertex, tuple[Expr, ...]]
"""For each `let` variable, the vertices on which its value depends."""


def cycles(
    subject: Subject, regions: RegionSet, with_default: bool = False
) -> list[tuple[Region, list[Expr]]]:
    """For each strongly connected component of regions: one of its regions, and a shortest path
    from an end of that region to one of its begins, both included.

    regions: the regions of the function, merged or not. with_default: whether "default" annotations
    form regions, as in MergeCompilerRegions; PartitionGraph drops them.
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
    for component in _strongly_connected_components(subject.func, needs):
        region = next((v for v in component if isinstance(v, Region)), None)
        if region is not None:
            path = _path(region, component, needs)
            enters = (n for n, v in enumerate(path) if _enters(v, region, regions))
            found.append((region, path[: next(enters, len(path)) + 1]))
    return found


def _values(lets: list[Let]) -> _Bound:
    """The value of each `let` variable, except functions, which may call themselves."""
    return {n.var: () if isinstance(n.value, Function) else (n.value,) for n in lets}


def _values_in_order(lets: list[Let]) -> _Bound:
    """As `_values`, plus the variable bound directly before: a region that reads the later variable
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
    """Whether a begin uses the end of the same region, so that merging removes both."""
    if not is_annotation(node) or not is_annotation(node.args[0], END):
        return False
    region = regions.of(node)
    return not is_annotation(node, END) and region is regions.of(node.args[0])


def _enters(node: Expr, region: Region, regions: RegionSet) -> bool:
    return is_annotation(node, BEGIN) and regions.of(node) is region


def _strongly_connected_components(root: Vertex, needs: Needs) -> Iterator[set[Vertex]]:
    """The strongly connected components with more than one vertex (Tarjan, without recursion)."""
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
                component = set()
                while vertex not in component:
                    component.add(path.pop())
                on_path -= component
                if len(component) > 1:
                    yield component


def _path(region: Region, component: set[Vertex], needs: Needs) -> list[Expr]:
    """The shortest path by which the result of a region returns to it, in dataflow order."""
    needed_by: dict[Vertex, Vertex] = {}
    todo: deque[Vertex] = deque([region])
    while region not in needed_by:
        vertex = todo.popleft()
        for other in needs(vertex):
            if other in component and other not in needed_by:
                needed_by[other] = vertex
                todo.append(other)
    path: list[Vertex] = []
    at = needed_by[region]
    while at is not region:
        path.append(at)
        at = needed_by[at]
    return [v for v in path if not isinstance(v, Region)]


def shown(path: list[Expr]) -> str:
    """A path in words: its first and last annotation, and the nodes between."""
    ends = (path[0], path[-1])
    return " -> ".join(called(n) for n in path if n in ends or not is_annotation(n))
