"""The kinds of nodes in a program: `relay.analysis.detect_feature`.

Source: src/relay/analysis/feature.cc of TVM 0.16.
"""

from __future__ import annotations

from collections import Counter
from enum import IntEnum

from byoc_lab.errors import ArgumentError
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.expr import Constant, Expr, Function, GlobalVar, Let, Op, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

_ATOMS = (Var, GlobalVar, Constant, Op, Constructor)


Feature = IntEnum(
    "Feature",
    "fVar fGlobalVar fConstant fTuple fTupleGetItem fFunction fOp fCall fLet fIf fRefCreate "
    "fRefRead fRefWrite fConstructor fMatch fGraph fLetRec",
    start=0,
)
Feature.__doc__ = """Features of a program: the kinds of nodes; fGraph, a node other than a
variable, constant, operator or constructor that has several users; fLetRec, a let whose value uses
its variable."""


def detect_feature(a: Expr | IRModule, b: Expr | IRModule | None = None) -> set[Feature]:
    """The features of an expression, of a module, or of both together. Functions with the attribute
    "Primitive" count as one node, as in TVM.

    Raises ArgumentError for two expressions or two modules.
    """
    given = [value for value in (a, b) if value is not None]
    if len({isinstance(value, IRModule) for value in given}) < len(given):
        raise ArgumentError(
            "detect_feature: found two arguments of one kind; give an expression, a module, or both"
        )
    roots: list[Expr] = []
    for value in given:
        roots += value.functions.values() if isinstance(value, IRModule) else [value]
    return {feature for root in roots for feature in _features(root)}


def _features(root: Expr) -> set[Feature]:
    found: set[Feature] = set()
    uses: Counter[Expr] = Counter()
    for node in post_order(root, enter=_is_entered):
        found.add(Feature[f"f{type(node).__name__}"])
        if isinstance(node, Let) and node.var in free_vars(node.value):
            found.add(Feature.fLetRec)
        if _is_entered(node):
            uses.update(node.parts())
    if any(count > 1 and not isinstance(node, _ATOMS) for node, count in uses.items()):
        found.add(Feature.fGraph)
    return found


def _is_entered(node: Expr) -> bool:
    return not (isinstance(node, Function) and node.attrs and node.attrs.get("Primitive"))


__all__ = ["Feature", "detect_feature"]
