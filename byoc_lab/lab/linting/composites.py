"""The composite functions of a module, and the targets with which their names begin."""

from __future__ import annotations

from collections.abc import Iterable

from byoc_lab.backends.registry import is_registered, why_no_name
from byoc_lab.backends.registry import names as backend_names
from byoc_lab.errors import close_names
from byoc_lab.lab.linting.context import Context
from byoc_lab.passes.byoc.annotate_target import BEYOND_TVM, AnnotateTarget, prefix_of
from byoc_lab.relay.ir.expr import Expr, Function, Op
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


def composite_names(mod: IRModule, context: Context) -> list[str]:
    """The names of the composites of a module, and of the patterns that will be matched in it."""
    names = [str(name) for name, *_ in context.table]
    return list(dict.fromkeys([*names, *composites_in(mod)]))


def unknown_targets(mod: IRModule, context: Context) -> list[str]:
    """The targets of AnnotateTarget that no operator, composite or back end knows."""
    known = {prefix_of(name) for name in composite_names(mod, context)} | set(backend_names())
    operators = [Op.get(name) for name in Op.list_op_names()]
    asked = (t for p in context.running if isinstance(p, AnnotateTarget) for t in p.targets)
    return [
        target
        for target in dict.fromkeys(asked)
        if target not in known
        and not is_registered(target)
        and not any(
            op.has_attr(key)
            for op in operators
            for key in (f"target.{target}", f"{BEYOND_TVM}.{target}")
        )
    ]


def meant_for(target: str, mod: IRModule, context: Context) -> list[str]:
    """The composites whose prefix is not a target, and from which an unknown target differs only by
    upper and lower case or a few letters."""
    if why_no_name(target):
        return []  # no composite name can have this prefix
    every = composite_names(mod, context)
    others = {p for n in every if (p := prefix_of(n)) is not None} - set(context.targets)
    close = close_names(target, others)
    return [name for name in every if prefix_of(name) in close]


def prefixes_of(targets: Iterable[str]) -> str:
    """In words: the beginning of a composite name that AnnotateTarget assigns to one of these
    targets; "" if there is none, because each target itself has a dot."""
    return " or ".join(f"'{target}.'" for target in targets if "." not in target)


NO_DOT = "a target without a dot: AnnotateTarget reads it before a composite's first dot"
"""The expectation for targets without a possible prefix (see `prefixes_of`)."""
