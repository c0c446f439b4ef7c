"""Call sites: the position and name of a call, which stay valid in equal modules of other runs.

`validate`, `bisect` and views run the same passes more than once. Each run creates new nodes, but
the position and the name of a call are the same in all runs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, Op
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class CallSite(NamedTuple):
    """A call in a global function.

    function: the name of the function. number: the position among its calls in post order,
    including calls inside composites. name: the name of the callee (see `called`).
    """

    function: str
    number: int
    name: str


def called(call: Call) -> str:
    """The name of the callee: an operator, a global function, or "" for any other function."""
    if isinstance(call.op, Op):
        return call.op.name
    return f"@{call.op.name_hint}" if isinstance(call.op, GlobalVar) else ""


def calls_of(function: Expr) -> Iterator[Call]:
    """The calls of a function in post order."""
    return (node for node in post_order(function) if isinstance(node, Call))


def site_of(name: str, function: Expr, call: Expr) -> CallSite | None:
    """The call site of a call in the global function with this name; None if the function lacks the
    call."""
    for number, found in enumerate(calls_of(function)):
        if found is call:
            return CallSite(name, number, called(found))
    return None


def function_named(mod: IRModule, name: str) -> Function | None:
    """The function with this global name, or the external function with this symbol."""
    for gv, function in mod.functions.items():
        if isinstance(function, Function) and name in (
            gv.name_hint,
            str(function.attrs.get("global_symbol", "")),
        ):
            return function
    return None
