"""Structural hash: equal for structurally equal expressions (see `structural`).

The hash is the same in every process: it does not use Python's `hash`, which differs between
processes. Source: `tvm.ir.structural_hash` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b
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
from byoc_lab.relay.ir.dims.symbolic import Dim, Symbolic
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Op, TupleGetItem, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import GlobalTypeVar, Type, replace, with_dims
from byoc_lab.relay.ir.visit import post_order

_LENGTH = 10_007
"""The number that replaces every symbolic name in a dimension, so that equal dimensions become
equal numbers."""


def structural_hash(node: Any, map_free_vars: bool = False) -> int:
    """A 64-bit number that is equal for structurally equal expressions and modules."""
    if isinstance(node, IRModule):
        pairs = ((gv.name_hint, structural_hash(f, map_free_vars)) for gv, f in node.items())
        types = sorted(v.name_hint for v in node.type_definitions)
        return _number(_digest((*sorted(pairs), *types)))
    if isinstance(node, TypeData):
        return _number(_digest((node.header.name_hint, str(definition_key(node)))))
    if isinstance(node, Type):
        return _number(_digest(_type_text(node, {})))
    node = as_expression(node)
    if not isinstance(node, Expr):
        return _number(_digest(_content(node)))
    return _number(_expression_digest(node, map_free_vars))


def _digest(content: Any) -> bytes:
    """A digest of nested tuples of numbers, strings and bytes, whose `repr` is their content."""
    return blake2b(repr(content).encode("utf-8", "surrogatepass"), digest_size=8).digest()


def _number(digest: bytes) -> int:
    return int.from_bytes(digest, "little")


def _expression_digest(root: Expr, map_free_vars: bool) -> bytes:
    # The digest of a node combines its fields and the positions of its parts in the walk; nodes
    # whose sharing does not count contribute their content instead of a position.
    place: dict[Expr, int | bytes] = {}
    bound: dict[Expr, None] = {}
    types: dict[Type, Type] = {}  # type parameter -> the name of all type parameters
    for node in post_order(root):
        bound.update(dict.fromkeys(node.binds()))
        if isinstance(node, Function):
            types.update(dict.fromkeys(node.type_params, _TYPE_PARAMETER))
    whole, count = blake2b(digest_size=8), 0
    for node in post_order(root):
        own = _own_content(node, node in bound or map_free_vars, types)
        digest = _digest((type(node).__name__, own, tuple(place[p] for p in node.parts())))
        if counts_sharing(node):
            place[node] = count
            whole.update(digest)
            count += 1
        else:
            place[node] = digest
    whole.update(_digest(place[root]))
    return whole.digest()


def _own_content(node: Expr, bound: bool, types: dict[Type, Type]) -> Any:
    if isinstance(node, Var):
        ty = node.type_annotation
        # A free variable equals only itself, so its name can be hashed.
        return (ty and _type_text(ty, types)) if bound else ("free", node.name_hint)
    if isinstance(node, (GlobalVar, Op)):
        return node.name_hint if isinstance(node, GlobalVar) else node.name
    if isinstance(node, Constructor):
        return node.identity
    if isinstance(node, Match):
        return (node.complete, *(c.lhs.shape() for c in node.clauses))
    if isinstance(node, Constant):
        return node.data.content()
    if isinstance(node, Call):  # an operator's type arguments follow from its arguments
        given = () if isinstance(node.op, Op) else node.type_args
        return (_content(node.attrs), *(_type_text(t, types) for t in given))
    if isinstance(node, TupleGetItem):
        return node.index
    if isinstance(node, Function):
        return (_content(node.attrs), len(node.params))
    return None


def _type_text(ty: Type, types: dict[Type, Type]) -> str:
    """The text of `ty` without the names in which two equal types may differ."""
    return str(replace(without_holes(with_dims(ty, _without_names)), types))


def _without_names(dim: Symbolic) -> Dim:
    """The value of a dimension for one value of its names, in the range that a type accepts."""
    found = dim.replace(dict.fromkeys(dim.names(), _LENGTH))
    return found % 2**61 if isinstance(found, int) else found


def _content(value: Any) -> Any:
    """The value of an attribute, or attributes, as nested tuples of numbers and strings; without
    floats, since floats that are close count as equal, and without names of variables."""
    if value is None or isinstance(value, (bool, bytes)):
        return value
    if isinstance(value, int):
        return int(value)
    if isinstance(value, str):
        return str(value)
    if isinstance(value, Attrs):
        return value.type_key, _content(dict(value.items()))
    if isinstance(value, Mapping):
        items = [(_content(renamed(k, _NAMELESS)), _content(v)) for k, v in value.items()]
        return tuple(sorted(items, key=repr))
    if isinstance(value, (tuple, list)):
        return tuple(map(_content, value))
    if isinstance(value, Constant):
        return value.data.content()
    return _type_text(value, {}) if isinstance(value, Type) else type(value).__name__


class _Nameless(dict[Any, str]):
    """A mapping that gives all variables the same name."""

    def get(self, key: Any, default: Any = None) -> str:
        return "a variable"


_NAMELESS = _Nameless()
_TYPE_PARAMETER = GlobalTypeVar("a type parameter")
