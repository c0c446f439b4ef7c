"""Why two regions of one target were not merged: the path between them through other code."""

from __future__ import annotations

from byoc_lab.lab.explaining.inquiry import Inquiry
from byoc_lab.relay.analysis.annotations import BEGIN, END, is_annotation
from byoc_lab.relay.analysis.regions import Region, RegionSet
from byoc_lab.relay.ir.expr import Call, Expr
from byoc_lab.relay.ir.visit import post_order


def path_apart(inquiry: Inquiry, subject: Call) -> tuple[Expr, ...]:
    """The path that keeps the region of a call, as patterns see it, apart from a neighbour of the
    same target: calls from the one region through code outside to the other; empty without one."""
    stage = inquiry.outcome.stage("MergeCompilerRegions")
    if stage is None or inquiry.outcome.trace.stages[stage].after is None:
        return ()
    images = set(inquiry.outcome.follow(subject, inquiry.matching, stage + 1))
    after = inquiry.outcome.trace.stages[stage].after
    assert after is not None
    for func in after.functions.values():
        nodes = list(post_order(func))
        if not images.isdisjoint(nodes):
            return _path_in(RegionSet(func), nodes, images)
    return ()


def _path_in(regions: RegionSet, nodes: list[Expr], images: set[Call]) -> tuple[Expr, ...]:
    home = _home(regions, nodes, images)
    if home is None:
        return ()
    for begin in nodes:
        if not (is_annotation(begin, BEGIN) and is_annotation(begin.args[0], END)):
            continue
        user, maker = regions.of(begin), regions.of(begin.args[0])
        if user is None or maker is None or user is maker or user.target != maker.target:
            continue
        if home in (user, maker):
            found = _through_others(regions, user, maker)
            if found:
                return found
    return ()


def _home(regions: RegionSet, nodes: list[Expr], images: set[Call]) -> Region | None:
    """The region of a call, or of the composite function that it is in."""
    for node in nodes:
        if isinstance(node, Call):
            inside = node in images or (
                regions.of(node) is not None
                and node.op_name is None
                and not images.isdisjoint(post_order(node.op))
            )
            if inside and regions.of(node) is not None:
                return regions.of(node)
    return None


def _through_others(regions: RegionSet, user: Region, maker: Region) -> tuple[Expr, ...]:
    """The calls by which a value leaves `maker` and comes to `user` through other code."""
    came: dict[Expr, Expr | None] = {b: None for b in user.inputs}
    todo: list[Expr] = [b for b in user.inputs if regions.of(b.args[0]) is not maker]
    while todo:
        node = todo.pop()
        for part in node.parts():
            if part in came:
                continue
            came[part] = node
            if regions.of(part) is maker:
                return tuple(_calls_on(part, came)) + tuple(_users(user))
            todo.append(part)
    return ()


def _calls_on(start: Expr, came: dict[Expr, Expr | None]) -> list[Expr]:
    found: list[Expr] = []
    node: Expr | None = start
    while node is not None:
        if isinstance(node, Call) and not is_annotation(node):
            found.append(node)
        elif is_annotation(node, END) and not found:
            found.append(node.args[0])
        node = came[node]
    return found


def _users(region: Region) -> list[Call]:
    """The call of a region that its last begin feeds: where the path arrives."""
    calls = [n for n in region.nodes if isinstance(n, Call) and not is_annotation(n)]
    begins = set(region.inputs)
    fed = [c for c in calls if not begins.isdisjoint(c.args)]
    return fed[:1]
