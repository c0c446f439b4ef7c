"""Queries about an expression: its variables, types and operators, and whether it is well formed.

Source: `relay.analysis` of TVM 0.16 (names and order of results).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from byoc_lab.relay.analysis.extraction import extract_intermdeiate_expr, list_op_freqs
from byoc_lab.relay.ir.adt import TypeData
from byoc_lab.relay.ir.expr import Expr, Function, Op, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import FuncType, Type, TypeVar, parts_of
from byoc_lab.relay.ir.variables import (
    all_vars,
    bound_vars,
    check_well_formed,
    free_vars,
    outside_in,
    well_formed,
)
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.adt_kinds import check_kind
from byoc_lab.relay.typing.adt_matching import unmatched_cases

__all__ = [
    "all_ops", "all_type_vars", "all_vars", "bound_type_vars", "bound_vars", "check_kind",
    "check_well_formed", "extract_intermdeiate_expr", "free_type_vars", "free_vars",
    "list_op_freqs", "post_order_visit", "unmatched_cases", "well_formed",
]  # fmt: skip


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], object]) -> None:
    """Call `fvisit` on every node of `expr`, operands first, each once."""
    for node in post_order(expr):
        fvisit(node)


def all_ops(expr: Expr) -> list[Op]:
    """The operators that `expr` mentions, each once."""
    return [n for n in post_order(expr) if isinstance(n, Op)]


def free_type_vars(expr: Expr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Type variables that `expr` uses and does not bind."""
    bound = set(bound_type_vars(expr, mod))
    return [v for v in all_type_vars(expr, mod) if v not in bound]


def bound_type_vars(expr: Expr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Type variables that a function or a function type in `expr` binds."""
    found: dict[Any, None] = {}
    for ty in _all_types(expr):
        if isinstance(ty, FuncType):
            found.update(dict.fromkeys(ty.type_params))
    if isinstance(expr, Expr):
        for node in outside_in(expr):
            if isinstance(node, Function):
                found.update(dict.fromkeys(node.type_params))
    return list(found)


def all_type_vars(expr: Expr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Every type variable in the annotations of `expr`, in the order of first occurrence."""
    found: dict[TypeVar, None] = {}
    for ty in _all_types(expr):
        if isinstance(ty, TypeVar):
            found[ty] = None
    return list(found)


def _all_types(root: Expr | Type) -> Iterator[Type]:
    """Every type in the annotations of an expression, and their component types."""
    if isinstance(root, Type):
        todo = [root]
    else:
        todo = [ty for node in outside_in(root) for ty in _stated(node)][::-1]
    while todo:
        ty = todo.pop()
        yield ty
        below = parts_of(ty)
        if isinstance(ty, FuncType):
            below = (*ty.type_params, *below)
        elif isinstance(ty, TypeData):
            below = (*ty.type_vars, *(t for c in ty.constructors for t in c.inputs))
        todo += reversed(below)


def _stated(node: Expr) -> tuple[Type, ...]:
    if isinstance(node, Var):
        return () if node.type_annotation is None else (node.type_annotation,)
    if isinstance(node, Function):
        return (*node.type_params, *(() if node.ret_type is None else (node.ret_type,)))
    return ()
