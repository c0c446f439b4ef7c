"""The composite functions of a module, and the targets that their names begin with."""

from __future__ import annotations

from collections.abc import Iterable

from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


def composites_in(mod: IRModule) -> dict[str, tuple[Expr, str]]:
    """For each name of composites the first function of it, and the global function it is in."""
    found: dict[str, tuple[Expr, str]] = {}
    for gv, func in mod.functions.items():
        for node in post_order(func):
            if isinstance(node, Function) and "Composite" in node.attrs:
                found.setdefault(str(node.attrs["Composite"]), (node, gv.name_hint))
    return found


def prefixes_of(targets: Iterable[str]) -> str:
    """What names of composites begin with so that AnnotateTarget gives them to one of these
    targets, in words; "" if no name can, because each target has a dot of its own."""
    return " or ".join(f"'{target}.'" for target in targets if "." not in target)


NO_DOT = "a target without a dot: AnnotateTarget reads it before a composite's first dot"
"""What is expected of targets if `prefixes_of` them is empty."""
