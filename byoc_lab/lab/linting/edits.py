"""Edits of annotations, the elements of fixes. They change annotations only."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from byoc_lab.relay.analysis.annotations import BEGIN, begin, compiler_of, end, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, rebuild

Edge = tuple[Expr, int]
"""A user, and the position among its `parts()` of what it uses."""


@dataclass(frozen=True, eq=False)
class Begin:
    """One `compiler_begin` on each of these edges; one node, shared, if there are several."""

    edges: tuple[Edge, ...]
    compiler: str


@dataclass(frozen=True, eq=False)
class End:
    """One `compiler_end` on each of these edges; one node, shared, if there are several."""

    edges: tuple[Edge, ...]
    compiler: str


@dataclass(frozen=True, eq=False)
class Remove:
    """Without this annotation: its argument takes its place."""

    annotation: Call


@dataclass(frozen=True, eq=False)
class Retarget:
    """Replace the compiler of an annotation."""

    annotation: Call
    compiler: str


Edit = Begin | End | Remove | Retarget


@dataclass(frozen=True, eq=False)
class Proposal:
    """A possible fix, not proved yet: edits of one function, or a function of the module.

    title: what it does, in words.
    """

    title: str
    function: str = ""
    edits: tuple[Edit, ...] = ()
    make: Callable[[IRModule], IRModule | None] | None = None


def argument_edge(user: Expr, position: int) -> Edge:
    """The edge of an argument, counted as findings count: calls without their callee."""
    return user, position + isinstance(user, Call)


def edges_to(value: Expr, users: Iterable[Expr]) -> tuple[Edge, ...]:
    """Every edge on which one of these users uses the value."""
    return tuple((u, n) for u in users for n, p in enumerate(u.parts()) if p is value)


def edited(func: Function, edits: Sequence[Edit]) -> Function:
    """The function with these edits; those on one edge are applied in their order."""
    result = edited_nodes(func, edits)[func]
    assert isinstance(result, Function)
    return result


def edited_nodes(func: Function, edits: Sequence[Edit]) -> dict[Expr, Expr]:
    """The node that replaces each node of the function under these edits."""
    at: dict[Expr, list[tuple[int, Begin | End]]] = {}
    removed: set[Expr] = set()
    renamed: dict[Expr, str] = {}
    for edit in edits:
        if isinstance(edit, (Begin, End)):
            for user, index in edit.edges:
                at.setdefault(user, []).append((index, edit))
        elif isinstance(edit, Remove):
            removed.add(edit.annotation)
        else:
            renamed[edit.annotation] = edit.compiler
    shared: dict[tuple[Expr, Begin | End], Expr] = {}
    memo: dict[Expr, Expr] = {}
    for node in post_order(func):
        old = node.parts()
        parts = [memo[p] for p in old]
        for index, edit in at.get(node, ()):
            parts[index] = _annotated(parts[index], edit, shared)
        if node in removed:
            memo[node] = parts[1]
        elif node in renamed:
            make = begin if is_annotation(node, BEGIN) else end
            memo[node] = make(parts[1], renamed[node])
        elif all(a is b for a, b in zip(old, parts, strict=True)):
            memo[node] = node
        else:
            memo[node] = node.with_parts(parts)
    return memo


def _annotated(
    value: Expr, edit: Begin | End, shared: dict[tuple[Expr, Begin | End], Expr]
) -> Expr:
    if (value, edit) not in shared:
        make = begin if isinstance(edit, Begin) else end
        shared[value, edit] = make(value, edit.compiler)
    return shared[value, edit]


def edited_module(mod: IRModule, edits: Mapping[str, Sequence[Edit]]) -> IRModule:
    """The module with the edits of each function, by its name; not typed, and not checked."""
    functions = {
        gv: edited(func, edits[gv.name_hint]) if gv.name_hint in edits else func
        for gv, func in mod.functions.items()
    }
    return mod.with_functions(functions)


def without_annotations(mod: IRModule) -> IRModule:
    """The module with every annotation replaced by its argument."""

    def plain(pre: Expr, post: Expr) -> Expr:
        return post.args[0] if is_annotation(post) else post

    return mod.with_functions({gv: rebuild(f, plain) for gv, f in mod.functions.items()})


def compilers_in(mod: IRModule) -> tuple[str, ...]:
    """The compilers that annotations of the module name, without "default", in their order."""
    named = (
        compiler_of(n) for f in mod.functions.values() for n in post_order(f) if is_annotation(n)
    )
    return tuple(dict.fromkeys(c for c in named if c != "default"))
