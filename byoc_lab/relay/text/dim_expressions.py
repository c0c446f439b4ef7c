"""Conversion of symbolic dimensions: from JSON nodes, and to trees of TVM's expressions.

Source: `tvm.tir` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any as AnyObject

from byoc_lab.relay.ir.dims import COMPUTED, Dim, Rounded, SizeName, Symbolic, computed, symbol

# `("tir.Add", a, b)`, a name, or a number.
Tree = tuple[str, "Tree", "Tree"] | SizeName | int

SYMBOLS = ("tir.Var", "tir.SizeVar")
EXPRESSIONS = (*COMPUTED, "tir.Cast", "tir.Call")


def from_node(key: str, attrs: Mapping[str, str], value: AnyObject) -> Dim:
    """The size that a JSON node represents; `value` returns the size of a node index.

    Raises ValueError for an expression that is not a dimension.
    """
    if key in SYMBOLS:
        return symbol(str(value(attrs["name"])), key)
    if key == "tir.Call":
        return computed(str(value(attrs["op"])), *value(attrs["args"]))
    names = ("value",) if key == "tir.Cast" else ("a", "b")
    return computed(key, *(value(attrs[name]) for name in names))


def tree_of(length: Symbolic) -> Tree:
    """A dimension as a tree of binary sums and products."""
    whole: Tree | None = None
    for product, count in sorted(length.terms.items(), key=lambda term: not term[0]):
        factors = [_factor(f) for f, power in product for _ in range(power)]
        if count != 1 or not factors:
            factors.append(count)
        term = factors[0]
        for factor in factors[1:]:
            term = ("tir.Mul", term, factor)
        whole = term if whole is None else ("tir.Add", whole, term)
    assert whole is not None  # a dimension without terms would be the number 0
    return whole


def _factor(factor: SizeName | Rounded) -> Tree:
    if isinstance(factor, SizeName):
        return factor
    a, b = (tree_of(d) if isinstance(d, Symbolic) else d for d in (factor.a, factor.b))
    return (factor.key, a, b)  # type: ignore[return-value]


def type_key(length: Symbolic) -> str:
    """TVM's class for the whole dimension."""
    tree = tree_of(length)
    return tree.key if isinstance(tree, SizeName) else tree[0]  # type: ignore[index]
