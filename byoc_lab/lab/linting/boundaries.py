"""The likely boundary of a region with a missing annotation. The intended operators of a region are
not always clear. The other regions of the module give evidence: an operator that is offloaded
elsewhere was probably meant to be offloaded here, and an operator that is not offloaded elsewhere
was not.

A registered back end also gives evidence: an operator that it does not support was not meant to be
offloaded.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from byoc_lab.lab.linting.edits import Edge, End
from byoc_lab.lab.linting.subject import Subject
from byoc_lab.relay.analysis.annotations import DEFAULT, END, is_annotation
from byoc_lab.relay.analysis.regions import Region
from byoc_lab.relay.ir.expr import Call, Expr, Op


def was_meant(node: Expr, compiler: str, subject: Subject, outside: Set[str]) -> bool | None:
    """Whether a call was meant to be in a region of the compiler; None without evidence.

    outside: the operators that are known to stay outside regions.
    """
    if not isinstance(node, Call) or not isinstance(node.op, Op):
        return None
    offloaded = node.op.name in subject.operators_of.get(compiler, ())
    left = node.op.name in outside
    if not offloaded and not left and DEFAULT in subject.operators_of:
        return True  # if "default" is annotated, every operator was annotated
    if offloaded == left:
        known = subject.operators_known_to(compiler)
        return False if known is not None and node.op.name not in known else None
    return offloaded


def leaving_edges(core: Set[Expr], subject: Subject) -> list[Edge]:
    """The edges on which a value of `core` is used outside without a `compiler_end`."""
    return [
        (user, index)
        for node in sorted(core, key=subject.place.__getitem__)
        if not is_annotation(node, END)
        for user in subject.users[node]
        if user not in core and not is_annotation(user, END)
        for index, part in enumerate(user.parts())
        if part is node
    ]


def ends_on(edges: Iterable[Edge], compiler: str) -> tuple[End, ...]:
    """One end for each value on these edges, shared by its users."""
    by_value: dict[Expr, list[Edge]] = {}
    for user, index in edges:
        by_value.setdefault(user.parts()[index], []).append((user, index))
    return tuple(End(tuple(e), compiler) for e in by_value.values())


def core_of(region: Region, subject: Subject, doubtful: Iterable[Expr]) -> set[Expr]:
    """The members of a region without those that a missing end pulled into it.

    doubtful: members that no end closes. A doubtful member was pulled in if an argument is outside
    or left another region, if its operator stays outside elsewhere, or if it uses a member that was
    pulled in.
    """
    inconsistent = {p.node for p in subject.problems_of("inconsistent")}
    outside = subject.operators_of.get("", set())
    pulled: set[Expr] = set()
    for node in sorted(doubtful, key=subject.place.__getitem__):
        if is_annotation(node):
            continue
        stray = (
            node in inconsistent
            or any(is_annotation(p, END) for p in node.parts())
            or was_meant(node, region.target, subject, outside) is False
        )
        if stray or not pulled.isdisjoint(node.parts()):
            pulled.add(node)
    core = region.nodes - pulled
    return core if any(not is_annotation(n) for n in core) else region.nodes
