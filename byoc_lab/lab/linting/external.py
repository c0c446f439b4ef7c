"""The external functions of a module, which a back end compiles."""

from __future__ import annotations

from collections.abc import Iterator

from byoc_lab.backends.registry import is_registered
from byoc_lab.lab.linting.edits import compilers_in
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


def external_functions(mod: IRModule) -> Iterator[tuple[Function, str]]:
    """Each external function once, global or local, with the global function that it is or that
    contains it."""
    seen = set()
    for gv, func in mod.functions.items():
        for node in post_order(func):
            if isinstance(node, Function) and "Compiler" in node.attrs and node not in seen:
                seen.add(node)
                yield node, gv.name_hint


def compilers_of(mod: IRModule) -> tuple[str, ...]:
    """The registered back ends named by annotations or external functions of a module."""
    named = [*compilers_in(mod), *(str(f.attrs["Compiler"]) for f, _ in external_functions(mod))]
    return tuple(filter(is_registered, dict.fromkeys(named)))


def symbol_of(func: Function) -> str:
    """The symbol of an external function, from TVM's attribute or from the attribute that TVM used
    in 2020."""
    return str(func.attrs.get("global_symbol") or func.attrs.get("ExternalSymbol") or "")


def name_of(func: Function, home: str, mod: IRModule) -> str:
    """An external function in words: its symbol; without a symbol, its name as a global function,
    or "in" and the name of the global function that contains it."""
    return symbol_of(func) or (home if mod[home] is func else f"in {home}")


def is_external(func: Function) -> bool:
    """Whether a back end compiles the function."""
    return "Compiler" in func.attrs
