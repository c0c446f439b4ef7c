"""Copies of graphs: equal structure, but different types or function names."""

from __future__ import annotations

from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, TupleGetItem, Var


def pairs(original: Expr | None, copied: Expr) -> dict[Expr, Expr]:
    """Pairs each node that differs between two graphs of one structure with its copy; empty if the
    structures differ or two nodes have the same copy."""
    if original is None:
        return {}
    of: dict[Expr, Expr] = {}
    todo = [(original, copied)]
    while todo:
        a, b = todo.pop()
        if a is b:  # both graphs share this node and its operands
            continue
        if a not in of:
            mine, theirs = a.parts(), b.parts()
            if len(mine) != len(theirs) or not _is_alike(a, b):
                return {}
            of[a] = b
            todo += [(p, q) for p, q in zip(mine, theirs, strict=True) if p is not q]
        elif of[a] is not b:
            return {}
    return of if len(set(of.values())) == len(of) else {}


def _is_alike(a: Expr, b: Expr) -> bool:
    """Whether the fields of `a` and `b` differ at most in types, function names and function
    attributes."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Call) and isinstance(b, Call):
        return a.attrs is b.attrs or bool(a.attrs == b.attrs)
    if isinstance(a, TupleGetItem) and isinstance(b, TupleGetItem):
        return a.index == b.index
    if isinstance(a, Var) and isinstance(b, Var):
        return a.vid is b.vid
    if isinstance(a, Constant) and isinstance(b, Constant):
        return a.data is b.data
    if isinstance(a, Function) and isinstance(b, Function):
        return len(a.params) == len(b.params)
    return not isinstance(a, Op)
