"""Questions about an expression: its variables and types, whether it is well formed.

Source: `relay.analysis` of TVM 0.16 (names and order of results).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import WellFormedError
from byoc_lab.relay.adt import Match, TypeData
from byoc_lab.relay.adt_kinds import check_kind
from byoc_lab.relay.adt_matching import unmatched_cases
from byoc_lab.relay.expr import Expr, Function, Let, Op, Var
from byoc_lab.relay.extraction import extract_intermdeiate_expr, list_op_freqs
from byoc_lab.relay.features import Feature, detect_feature
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.types import FuncType, Type, TypeVar, parts_of
from byoc_lab.relay.visit import opens_scope, post_order

__all__ = [
    "Feature",
    "all_ops",
    "all_type_vars",
    "all_vars",
    "bound_type_vars",
    "bound_vars",
    "check_kind",
    "check_well_formed",
    "detect_feature",
    "extract_intermdeiate_expr",
    "free_type_vars",
    "free_vars",
    "list_op_freqs",
    "post_order_visit",
    "unmatched_cases",
    "well_formed",
]


def __getattr__(name: str) -> Any:
    # TVM has it here too, but it runs passes, which this package does not know.
    if name == "extract_fused_functions":
        from byoc_lab.passes.extract_fused_functions import extract_fused_functions

        return extract_fused_functions
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], object]) -> None:
    """Call `fvisit` on every node of `expr`, operands first, each once."""
    for node in post_order(expr):
        fvisit(node)


def bound_vars(expr: Expr) -> list[Var]:
    """Variables that a parameter list, a let or a pattern inside `expr` binds."""
    return list(dict.fromkeys(v for node in _outside_in(expr) for v in node.binds()))


def _outside_in(root: Expr) -> Iterator[Expr]:
    """Every node, each once, before what is below it."""
    seen: set[Expr] = set()
    stack = [root]
    while stack:
        node = stack.pop()
        if node not in seen:
            seen.add(node)
            yield node
            stack += reversed(node.parts())


def all_vars(expr: Expr) -> list[Var]:
    """Every variable in `expr`, in the order in which it is met; the name of a let before its
    value."""
    met: dict[Expr, None] = {}
    stack = [expr]
    while stack:
        node = stack.pop()
        if node not in met:
            met[node] = None
            parts = (node.var, node.value, node.body) if isinstance(node, Let) else node.parts()
            stack += reversed(parts)
    return [node for node in met if isinstance(node, Var)]


def free_vars(expr: Expr) -> list[Var]:
    """Variables that `expr` uses and does not bind, in the order of first use."""
    return free_among(post_order(expr))


def free_among(nodes: Iterable[Expr]) -> list[Var]:
    """As `free_vars`, of all nodes of an expression, operands first."""
    used: list[Var] = []
    bound: set[Var] = set()
    for node in nodes:
        if isinstance(node, Var):
            used.append(node)
        else:
            bound.update(node.binds())
    return [v for v in used if v not in bound]


def all_ops(expr: Expr) -> list[Op]:
    """The operators that `expr` mentions, each once."""
    return [n for n in post_order(expr) if isinstance(n, Op)]


def well_formed(expr: Expr) -> bool:
    """Whether every variable is bound at most once, and used only where its binder reaches."""
    try:
        check_well_formed(expr)
    except WellFormedError:
        return False
    return True


def check_well_formed(expr: Expr) -> None:
    """Raise WellFormedError for a variable that is bound twice or used outside of its scope.

    A node that several scopes share belongs to the one that is met first.
    """
    walk_scopes(expr)


def walk_scopes(expr: Expr) -> tuple[set[Expr], set[Var]]:
    """As `check_well_formed`; gives every node that is no variable, and the free variables."""
    inside: set[Var] = set()  # bound where the walk is
    bound: set[Var] = set()
    free: set[Var] = set()
    seen: set[Expr] = set()
    stack: list[Any] = [expr]
    while stack:
        node = stack.pop()
        if isinstance(node, _Scope):
            if node.ends:
                inside.difference_update(node.vars)
                continue
            for v in node.vars:
                if v in bound or v in free:
                    often = "more than once" if v in bound else "and also used outside of its scope"
                    raise WellFormedError(
                        f"%{v.name_hint} is bound {often}; give each binder a variable of its own"
                    )
                inside.add(v)
                bound.add(v)
        elif isinstance(node, Var):
            if node not in bound:
                free.add(node)
            elif node not in inside:
                raise WellFormedError(
                    f"%{node.name_hint} is used outside of the scope in which it is bound"
                )
        elif node not in seen:
            seen.add(node)
            below = _with_scopes(node) if opens_scope(node) else node.parts()
            stack += below[::-1]
    return seen, free


@dataclass(frozen=True)
class _Scope:
    """Where variables begin to hold, or cease to."""

    vars: tuple[Var, ...]
    ends: bool = False


def _with_scopes(node: Expr) -> list[Expr | _Scope]:
    """The parts of a node without the variables that it binds, whose scopes are marked."""
    if isinstance(node, Match):
        below: list[Expr | _Scope] = [node.data]
        for clause in node.clauses:
            held = clause.lhs.vars
            below += (_Scope(held), clause.rhs, _Scope(held, ends=True))
        return below
    held = node.binds()
    inner = (node.value, node.body) if isinstance(node, Let) else node.parts()[len(held) :]
    return [_Scope(held), *inner, _Scope(held, ends=True)]


def free_type_vars(expr: Expr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Type variables that `expr` uses and no function or function type in it binds."""
    bound = set(bound_type_vars(expr, mod))
    return [v for v in all_type_vars(expr, mod) if v not in bound]


def bound_type_vars(expr: Expr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Type variables that a function or a function type in `expr` binds."""
    found: dict[Any, None] = {}
    for ty in _all_types(expr):
        if isinstance(ty, FuncType):
            found.update(dict.fromkeys(ty.type_params))
    if isinstance(expr, Expr):
        for node in _outside_in(expr):
            if isinstance(node, Function):
                found.update(dict.fromkeys(node.type_params))
    return list(found)


def all_type_vars(expr: Expr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Every type variable that `expr` states, in the order of first mention."""
    found: dict[TypeVar, None] = {}
    for ty in _all_types(expr):
        if isinstance(ty, TypeVar):
            found[ty] = None
    return list(found)


def _all_types(root: Expr | Type) -> Iterator[Type]:
    """Every type in the annotations of an expression, and the types those are made of."""
    if isinstance(root, Type):
        todo = [root]
    else:
        todo = [ty for node in _outside_in(root) for ty in _stated(node)][::-1]
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
