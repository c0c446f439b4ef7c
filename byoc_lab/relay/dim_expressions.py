"""Symbolic lengths as TVM's expressions: from apache-tvm's objects, from JSON nodes, and to a tree.

Source: `tvm.tir` of TVM 0.16 and `tvm.tirx` of today's apache-tvm.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any as AnyObject

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.dims import (
    COMPUTED,
    Any,
    Dim,
    Rounded,
    SizeName,
    Symbolic,
    UndecidedError,
    symbol,
)

# `("tir.Add", a, b)`, a name, or a number.
Tree = tuple[str, "Tree", "Tree"] | SizeName | int

SYMBOLS = ("tir.Var", "tir.SizeVar")
EXPRESSIONS = (*COMPUTED, "tir.Cast", "tir.Call")


def computed(key: str, *parts: AnyObject) -> Dim:
    """What TVM's expression of class `key` over `parts` is as a length.

    A cast or a rounding of a length is that length; what is no whole number for every value of
    the names (a length times 2.5, rounded) is `?`. Raises ValueError for a class that computes no
    length.
    """
    if any(isinstance(p, Any) for p in parts):
        return Any()
    if key in ("tir.Cast", "tir.round") and len(parts) == 1:
        return parts[0]
    if key not in COMPUTED or len(parts) != 2:
        raise ValueError(f"{key} computes no length here")
    try:
        return COMPUTED[key](*parts)
    except UndecidedError:
        return Any()


# apache-tvm --------------------------------------------------------------------------------------

# Each variable met, which is kept for its hash (where it is in memory) not to become another's.
_MET: dict[int, tuple[AnyObject, Symbolic]] = {}


def declare(variable: AnyObject, key: str) -> AnyObject:
    """Have a variable of apache-tvm stand for a length of TVM's class `key`; gives it back."""
    _MET[hash(variable)] = (variable, symbol(str(variable.name), key))
    return variable


def from_tvm(value: AnyObject) -> AnyObject:
    """A number or length, of an object of apache-tvm. Raises TypeInferenceError for others."""
    kind = type(value).__name__
    if not type(value).__module__.startswith("tvm."):
        return value
    if kind in ("IntImm", "FloatImm"):
        return value.value
    if kind == "Var":
        if hash(value) not in _MET:
            declare(value, "tir.Var")
        return _MET[hash(value)][1]
    try:
        if kind == "Call":
            return computed(f"tir.{value.op.name.rpartition('.')[2]}", *map(from_tvm, value.args))
        parts = [value.value] if kind == "Cast" else [value.a, value.b]
        return computed(f"tir.{kind}", *map(from_tvm, parts))
    except (AttributeError, ValueError) as error:
        raise TypeInferenceError(
            f"a dimension may be a number, a variable or a sum, product, quotient, maximum or "
            f"minimum of such, found {value} ({kind})"
        ) from error


# JSON --------------------------------------------------------------------------------------------


def from_node(key: str, attrs: Mapping[str, str], value: AnyObject) -> Dim:
    """The length that a JSON node stands for; `value` gives what the node of an index does.

    Raises ValueError for an expression that is no length.
    """
    if key in SYMBOLS:
        return symbol(str(value(attrs["name"])), key)
    if key == "tir.Call":
        return computed(str(value(attrs["op"])), *value(attrs["args"]))
    names = ("value",) if key == "tir.Cast" else ("a", "b")
    return computed(key, *(value(attrs[name]) for name in names))


def tree_of(length: Symbolic) -> Tree:
    """The length as sums and products of two."""
    whole: Tree | None = None
    for product, count in sorted(length.terms.items(), key=lambda term: not term[0]):
        factors = [_factor(f) for f, power in product for _ in range(power)]
        if count != 1 or not factors:
            factors.append(count)
        term = factors[0]
        for factor in factors[1:]:
            term = ("tir.Mul", term, factor)
        whole = term if whole is None else ("tir.Add", whole, term)
    assert whole is not None  # without any term it would be the number 0
    return whole


def _factor(factor: SizeName | Rounded) -> Tree:
    if isinstance(factor, SizeName):
        return factor
    a, b = (tree_of(d) if isinstance(d, Symbolic) else d for d in (factor.a, factor.b))
    return (factor.key, a, b)  # type: ignore[return-value]


def type_key(length: Symbolic) -> str:
    """TVM's class of the whole length."""
    tree = tree_of(length)
    return tree.key if isinstance(tree, SizeName) else tree[0]  # type: ignore[index]
