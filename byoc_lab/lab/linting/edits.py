"""Edits of annotations, from which fixes are built. They only change annotations."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from byoc_lab.relay.analysis.annotations import BEGIN, begin, compiler_of, end, is_annotation
from byoc_lab.relay.ir.expr import Call, Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, rebuild

Edge = tuple[Expr, int]
"""A user, and the position of the used value among its `parts()`."""


@dataclass(frozen=True, eq=False)
class Begin:
    """Insert one `compiler_begin` node on all of these edges, shared if there are several."""

    edges: tuple[Edge, ...]
    compiler: str


@dataclass(frozen=True, eq=False)
class End:
    """Insert one `compiler_end` node on all of these edges, shared if there are several."""

    edges: tuple[Edge, ...]
    compiler: str


@dataclass(frozen=True, eq=False)
class Remove:
    """Remove this annotation; its argument takes its place."""

    annotation: Call


@dataclass(frozen=True, eq=False)
class Retarget:
    """Replace the compiler of an annotation."""

    annotation: Call
    compiler: str


Edit = Begin | End | Remove | Retarget


@dataclass(frozen=True, eq=False)
class Proposal:
    """A possible fix, not proved yet: edits of one function, or a Python function that returns the
    changed module.

    title: a description in words.
    """

    title: str
    function: str = ""
    edits: tuple[Edit, ...] = ()
    make: Callable[[IRModule], IRModule | None] | None = None


def argument_edge(user: Expr, position: int) -> Edge:
    """The edge of an argument, with the numbering of findings: arguments of calls without the
    callee."""
    return user, position + isinstance(user, Call)


def edited(func: Function, edits: Sequence[Edit]) -> Function:
    """The function with these edits; edits of one edge are applied in order."""
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
    """The module with the given edits, by function name; not typed, and not checked."""
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
    """The compilers named by annotations of the module, without "default", in order of
    appearance."""
    named = (
        compiler_of(n) for f in mod.functions.values() for n in post_order(f) if is_annotation(n)
    )
    return tuple(dict.fromkeys(c for c in named if c != "default"))
