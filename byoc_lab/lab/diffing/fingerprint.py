"""`fingerprint`: a digest that structurally equal modules share, in every process.

`structural_hash` differs from process to process, as Python's hashes of text do.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Any

from byoc_lab.lab.diffing.flow import own_fields
from byoc_lab.relay.analysis.structural import counts_sharing
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, GlobalVar, Op, TupleGetItem
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


def fingerprint(mod: IRModule) -> str:
    """32 hexadecimal digits, computed from the content. Ignores everything that structural equality
    ignores, and also all types and all non-integer numbers in attributes."""
    digest = blake2b(digest_size=16)
    for data in sorted(mod.type_definitions.values(), key=lambda d: d.header.name_hint):
        digest.update(data.header.name_hint.encode())
        digest.update(repr([c.name_hint for c in data.constructors]).encode())
    digest.update(_attrs(mod.attrs).encode())
    for gv, function in sorted(mod.functions.items(), key=lambda item: item[0].name_hint):
        digest.update(gv.name_hint.encode())
        digest.update(_expression(function).encode())
    return digest.hexdigest()


def _expression(root: Expr) -> str:
    """As in `structural_hash`, a node is described by its fields and the positions of its parts in
    the walk."""
    place: dict[Expr, str] = {}
    digest = blake2b(digest_size=16)
    count = 0
    for node in post_order(root):
        word = f"{type(node).__name__} {_own(node)} {' '.join(place[p] for p in node.parts())};"
        if counts_sharing(node):
            place[node] = str(count)
            digest.update(word.encode())
            count += 1
        else:
            place[node] = blake2b(word.encode(), digest_size=16).hexdigest()
    digest.update(place[root].encode())
    return digest.hexdigest()


def _own(node: Expr) -> str:
    if isinstance(node, (GlobalVar, Op)):
        return node.name
    if isinstance(node, Constant):
        dtype, shape, digest = node.data.content()
        return f"{dtype} {shape} {digest.hex()}"
    if isinstance(node, Call):
        return _attrs(node.attrs)
    if isinstance(node, TupleGetItem):
        return str(node.index)
    if isinstance(node, Function):
        return f"{_attrs(node.attrs)} {len(node.params)}"
    return repr(own_fields(node))


def _attrs(attrs: Attrs | None) -> str:
    if attrs is None:
        return ""
    return f"{attrs.type_key} {sorted((k, _value(v)) for k, v in attrs.items())}"


def _value(value: Any) -> str:
    """An attribute's value as text, the same for equal values."""
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return str(len(value))
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int):
        return str(int(value))
    return type(value).__name__
