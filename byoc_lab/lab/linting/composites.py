"""The composite functions of a module, and the targets with which their names begin."""

from __future__ import annotations

from collections.abc import Iterable

from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


def composites_in(mod: IRModule) -> dict[str, tuple[Expr, str]]:
    """For each composite name, the first function with it, and the global function that contains
    it."""
    found: dict[str, tuple[Expr, str]] = {}
    for gv, func in mod.functions.items():
        for node in post_order(func):
            if isinstance(node, Function) and "Composite" in node.attrs:
                found.setdefault(str(node.attrs["Composite"]), (node, gv.name_hint))
    return found


def prefixes_of(targets: Iterable[str]) -> str:
    """In words: the beginning of a composite name that AnnotateTarget assigns to one of these
    targets; "" if there is none, because each target itself has a dot."""
    return " or ".join(f"'{target}.'" for target in targets if "." not in target)


NO_DOT = "a target without a dot: AnnotateTarget reads it before a composite's first dot"
"""The expectation for targets without a possible prefix (see `prefixes_of`)."""
