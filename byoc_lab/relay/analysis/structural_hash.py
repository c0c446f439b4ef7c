"""Structural hash: what is structurally equal (see `structural`) has one hash.

Source: `tvm.ir.structural_hash` of TVM 0.16.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.relay.analysis.structural import (
    as_expression,
    counts_sharing,
    definition_key,
    renamed,
    without_holes,
)
from byoc_lab.relay.ir.adt import Constructor, Match, TypeData
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.dims import symbol
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Op, TupleGetItem, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import GlobalTypeVar, Type, replace, with_dims
from byoc_lab.relay.ir.visit import post_order


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A hash on which structurally equal expressions and modules agree."""
    if isinstance(node, IRModule):
        pairs = ((gv.name_hint, structural_hash(f, map_free_vars)) for gv, f in node.items())
        types = sorted(v.name_hint for v in node.type_definitions)
        return hash((*sorted(pairs), *types))
    if isinstance(node, TypeData):
        return hash((node.header, str(definition_key(node))))
    if isinstance(node, Type):
        return hash(_nameless_type(node, {}))
    node = as_expression(node)
    if not isinstance(node, Expr):
        return hash(repr(node))
    return _hash_expr(node, map_free_vars)


def _hash_expr(root: Expr, map_free_vars: bool) -> int:
    # A node hashes to its own fields and the positions of its parts in the walk; nodes whose
    # sharing does not count stand for their content instead of a position.
    place: dict[Expr, Any] = {}
    bound: dict[Expr, None] = {}
    types: dict[Type, Type] = {}  # those that functions are generic over have one name, too
    for node in post_order(root):
        bound.update(dict.fromkeys(node.binds()))
        if isinstance(node, Function):
            types.update(dict.fromkeys(node.type_params, _TYPE_PARAMETER))
    words: list[int] = []
    for node in post_order(root):
        own = _own_hash(node, node in bound or map_free_vars, types)
        word = hash((type(node).__name__, own, tuple(place[p] for p in node.parts())))
        if counts_sharing(node):
            place[node] = len(words)
            words.append(word)
        else:
            place[node] = (word,)
    last = place[root]
    return hash((tuple(words), last))


def _own_hash(node: Expr, bound: bool, types: dict[Type, Type]) -> Any:
    if isinstance(node, Var):
        ty = node.type_annotation
        return (ty and _nameless_type(ty, types)) if bound else id(node.vid)
    if isinstance(node, GlobalVar):
        return node.name_hint
    if isinstance(node, Op):
        return node.name
    if isinstance(node, Constructor):
        return node.identity
    if isinstance(node, Match):
        return (node.complete, *(c.lhs.shape() for c in node.clauses))
    if isinstance(node, Constant):
        return (node.numpy().dtype.str, node.numpy().shape, node.numpy().tobytes())
    if isinstance(node, Call):  # the types given to an operator follow from its arguments
        given = () if isinstance(node.op, Op) else node.type_args
        return (_hash_attrs(node.attrs), *(_nameless_type(t, types) for t in given))
    if isinstance(node, TupleGetItem):
        return node.index
    if isinstance(node, Function):
        return (_hash_attrs(node.attrs), len(node.params))
    return None


def _nameless_type(ty: Type, types: dict[Type, Type]) -> Type:
    """`ty` without what two equal types may call otherwise."""
    plain = with_dims(ty, lambda d: d.replace(dict.fromkeys(d.names(), _LENGTH)))
    return replace(without_holes(plain), types)


def _hash_attrs(attrs: Attrs | None) -> Any:
    if attrs is None:
        return None
    return hash(Attrs(attrs.schema, {k: renamed(v, _NAMELESS) for k, v in attrs.items()}))


class _Nameless(dict[Any, str]):
    """Gives any variable the same name."""

    def get(self, key: Any, default: Any = None) -> str:
        return "a variable"


_NAMELESS = _Nameless()
_LENGTH = symbol("a length")
_TYPE_PARAMETER = GlobalTypeVar("a type parameter")
