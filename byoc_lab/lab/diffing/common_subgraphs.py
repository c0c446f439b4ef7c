"""Subgraphs of the second module that also exist in the first module."""

from __future__ import annotations

from byoc_lab.lab.diffing.flow import own_fields
from byoc_lab.lab.diffing.matching import Correspondence
from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.expr import Constant, Expr, Function, GlobalVar, Op, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.ir.visit import post_order


def common_nodes(found: Correspondence) -> dict[Expr, Expr]:
    """Maps nodes of the second module to nodes of the first one that are equal in all fields and
    parts. Inferred types and the names of variables may differ. A function with type parameters or
    named dimension sizes is common as a whole or not at all.
    """
    before, after = found.before, found.after
    constants = {n.data.content(): n for n in before.order if isinstance(n, Constant)}
    kept: dict[Expr, Expr] = {}
    for root in after.mod.functions.values():
        for y in post_order(root):
            same: Expr | None = found.to_before.get(y)
            if isinstance(y, Constant):
                same = constants.get(y.data.content())
            if same is not None and _same(same, y, kept, found):
                kept[y] = same
    for function in after.mod.functions.values():
        nodes = list(post_order(function))
        if function not in kept and any(map(_is_generic, nodes)):
            for node in nodes:
                if not isinstance(node, Constant):
                    kept.pop(node, None)
    return kept


def _same(x: Expr, y: Expr, kept: dict[Expr, Expr], found: Correspondence) -> bool:
    if isinstance(x, (Constant, Op)) or isinstance(y, (Constant, Op, GlobalVar, Constructor)):
        return isinstance(x, Constant) and isinstance(y, Constant)
    if isinstance(x, Var) and isinstance(y, Var):
        return x.type_annotation == y.type_annotation and x.device == y.device
    if type(x) is not type(y) or own_fields(x) != own_fields(y):
        return False
    if isinstance(x, TupleGetItem) and isinstance(y, TupleGetItem) and x.index != y.index:
        return False
    if isinstance(x, Function) and isinstance(y, Function):
        mine, theirs = ((f.ret_type, f.type_params, f.device) for f in (x, y))
        if mine != theirs:
            return False
    parts, others = x.parts(), y.parts()
    return len(parts) == len(others) and all(
        _same_part(p, q, kept, found) for p, q in zip(parts, others, strict=True)
    )


def _same_part(p: Expr, q: Expr, kept: dict[Expr, Expr], found: Correspondence) -> bool:
    if kept.get(q) is p or p is q:
        return not isinstance(q, Var) or kept.get(q) is p
    # equal nodes may be different objects
    while isinstance(p, TupleGetItem) and isinstance(q, TupleGetItem):
        if p.index != q.index:
            return False
        p, q = p.tuple_value, q.tuple_value
    if isinstance(p, GlobalVar) and isinstance(q, GlobalVar):
        return p.name_hint == q.name_hint
    if isinstance(p, Constant) and isinstance(q, Constant):
        return p.data.content() == q.data.content()
    if isinstance(p, Constructor) and isinstance(q, Constructor):
        return p.identity == q.identity
    if isinstance(p, Tuple) and isinstance(q, Tuple) and not p.fields and not q.fields:
        return True
    return kept.get(q) is p or (isinstance(p, Op) and p is q)


def _is_generic(node: Expr) -> bool:
    types: list[Type | None] = []
    if isinstance(node, Function):
        if node.type_params:
            return True
        types.append(node.ret_type)
    if isinstance(node, Var):
        types.append(node.type_annotation)
    return any(ty is not None and ty.has_symbols for ty in types)
