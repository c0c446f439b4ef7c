"""Finds why two regions of one target were not merged: the path between them through other code."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

from byoc_lab.relay.analysis.annotations import BEGIN, END, is_annotation
from byoc_lab.relay.analysis.regions import Region, RegionSet
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class RegionPaths:
    """The regions of an annotated module, and the paths that prevent merging regions of one
    target."""

    def __init__(self, mod: IRModule):
        self._region: dict[Expr, Region] = {}
        self._path: dict[Region, tuple[Expr, ...]] = {}
        for func in mod.functions.values():
            nodes: list[Any] = list(post_order(func))
            regions = RegionSet(func)
            fed: dict[Expr, Call] = {}  # begin -> the first call that uses its value
            for node in nodes:
                self._place(node, regions.of(node))
                if isinstance(node, Call):
                    for begin in filter(_is_begin, node.args):
                        fed.setdefault(begin, node)
            for begin in nodes:
                if _is_begin(begin) and is_annotation(begin.args[0], END):
                    self._compare(regions, regions.of(begin), regions.of(begin.args[0]), fed)

    def apart(self, node: Expr) -> tuple[Expr, ...]:
        """The shortest path that prevents merging the region of a node (which may be in a composite
        function) with a neighbour of the same target: calls from one region, through code outside,
        to the other; empty if there is none."""
        region = self._region.get(node)
        return self._path.get(region, ()) if region is not None else ()

    def _place(self, node: Expr, region: Region | None) -> None:
        if region is None:
            return
        self._region[node] = region
        if isinstance(node, Call) and not node.op_name:  # a composite's operators share its region
            self._region.update(dict.fromkeys(post_order(node.op), region))

    def _compare(
        self,
        regions: RegionSet,
        user: Region | None,
        maker: Region | None,
        fed: Mapping[Expr, Call],
    ) -> None:
        if user is None or maker is None or user is maker or user.target != maker.target:
            return
        if user in self._path and maker in self._path:
            return
        found = _through_others(regions, user, maker, fed)
        if found:
            self._path.setdefault(user, found)
            self._path.setdefault(maker, found)


def _through_others(
    regions: RegionSet, user: Region, maker: Region, fed: Mapping[Expr, Call]
) -> tuple[Expr, ...]:
    """The calls on a path by which a value leaves `maker` and reaches `user` through other code."""
    came: dict[Expr, Expr | None] = {b: None for b in user.inputs}
    todo: deque[Expr] = deque(b for b in user.inputs if regions.of(b.args[0]) is not maker)
    while todo:
        node = todo.popleft()
        for part in node.parts():
            if part in came:
                continue
            came[part] = node
            if regions.of(part) is maker:
                return tuple(_calls_on(part, came, fed))
            todo.append(part)
    return ()


def _calls_on(
    start: Expr, came: Mapping[Expr, Expr | None], fed: Mapping[Expr, Call]
) -> Iterator[Expr]:
    """The calls from a node to the region that it reaches, including the first call of the
    region."""
    node: Expr | None = start
    while node is not None:
        if not is_annotation(node):
            if isinstance(node, Call):
                yield node
        elif node is start and is_annotation(node, END):
            yield node.args[0]
        following = came[node]
        if following is None and node in fed:
            yield fed[node]
        node = following


def _is_begin(node: Expr) -> bool:
    return is_annotation(node, BEGIN)
