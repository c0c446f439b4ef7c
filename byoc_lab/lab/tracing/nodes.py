"""The nodes that belong to one module: all except operators, global names and constructors."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.expr import Expr, GlobalVar, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

SHARED = (Op, GlobalVar, Constructor)


def has_origin(node: Expr) -> bool:
    """Whether a node belongs to one module; operators and names of functions do not."""
    return not isinstance(node, SHARED)


def nodes_of(mod: IRModule) -> Iterator[Expr]:
    """The nodes of a module that have origins, operands first."""
    return (n for n in post_order(*mod.functions.values()) if not isinstance(n, SHARED))
