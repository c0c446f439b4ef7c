"""Which kinds of node an expression is made of: `detect_feature`.

Source: src/relay/analysis/feature.cc of TVM 0.16.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum, IntEnum

from byoc_lab.relay.adt import Constructor, Match
from byoc_lab.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.visit import post_order


class Feature(IntEnum):
    """A kind of node, a node that is used more than once (`fGraph`), or a recursive let."""

    fVar = 0  # noqa: N815 (TVM's names)
    fGlobalVar = 1  # noqa: N815
    fConstant = 2  # noqa: N815
    fTuple = 3  # noqa: N815
    fTupleGetItem = 4  # noqa: N815
    fFunction = 5  # noqa: N815
    fOp = 6  # noqa: N815
    fCall = 7  # noqa: N815
    fLet = 8  # noqa: N815
    fIf = 9  # noqa: N815
    fRefCreate = 10  # noqa: N815
    fRefRead = 11  # noqa: N815
    fRefWrite = 12  # noqa: N815
    fConstructor = 13  # noqa: N815
    fMatch = 14  # noqa: N815
    fGraph = 15  # noqa: N815
    fLetRec = 16  # noqa: N815

    __str__ = Enum.__str__  # "Feature.fVar", also where IntEnum gives the number (Python 3.11)


_KINDS = {
    Var: Feature.fVar,
    GlobalVar: Feature.fGlobalVar,
    Constant: Feature.fConstant,
    Tuple: Feature.fTuple,
    TupleGetItem: Feature.fTupleGetItem,
    Function: Feature.fFunction,
    Op: Feature.fOp,
    Call: Feature.fCall,
    Let: Feature.fLet,
    If: Feature.fIf,
    RefCreate: Feature.fRefCreate,
    RefRead: Feature.fRefRead,
    RefWrite: Feature.fRefWrite,
    Constructor: Feature.fConstructor,
    Match: Feature.fMatch,
}
_ATOMS = (Var, GlobalVar, Constant, Op, Constructor)


def detect_feature(a: Expr | IRModule, b: IRModule | Expr | None = None) -> set[Feature]:
    """The features of an expression, of all functions of a module, or of both.

    Primitive functions are not looked into.
    """
    found: set[Feature] = set()
    for given in (a, b):
        if isinstance(given, IRModule):
            for func in given.functions.values():
                found |= _features(func)
        elif given is not None:
            found |= _features(given)
    return found


def _features(root: Expr) -> set[Feature]:
    found: set[Feature] = set()
    uses: Counter[Expr] = Counter()
    for node in post_order(root, enter=_is_open):
        found.add(_KINDS[type(node)])
        if _is_open(node):
            uses.update(p for p in node.parts() if not isinstance(p, _ATOMS))
        if isinstance(node, Let) and isinstance(node.value, Function):
            recursive = any(n is node.var for n in post_order(node.value))
            found |= {Feature.fLetRec} if recursive else set()
    if any(n > 1 for n in uses.values()):
        found.add(Feature.fGraph)
    return found


def _is_open(node: Expr) -> bool:
    return not (isinstance(node, Function) and bool(node.attrs.get("Primitive")))
