"""`replay`: applies the first events of a pass to its input."""

from __future__ import annotations

from collections.abc import Sequence
from operator import is_

from byoc_lab.errors import ByocLabError, TraceFileError
from byoc_lab.passes.framework.hook import Event, Round
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, TupleGetItem
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_module

Replaced = dict[Expr, Expr]


def replay(before: IRModule, events: Sequence[Event]) -> IRModule:
    """The module after `events`, the first events that a pass reported on `before`.

    The module is not checked: in the middle of a pass it may be malformed. New nodes have no types.
    """
    mod = before.copy()
    replaced: dict[Round, Replaced] = {}
    current: dict[str, Round] = {}  # the last round of each function that is not yet applied
    renamed: dict[GlobalVar, GlobalVar] = {}  # consecutive renames, which are applied together

    def apply(function: str) -> None:
        if (found := current.pop(function, None)) is not None:
            root = nodes_made(found, replaced[found])[found.root]
            mod.put_unchecked(function, function_of(root, function))

    def rename() -> None:
        if renamed:
            for function in list(current):
                apply(function)
            mod.rename_unchecked(renamed)
            renamed.clear()

    for event in events:
        if event.round is None and isinstance(event.before, GlobalVar):
            if event.before in renamed.values():
                rename()
            renamed[event.before] = _new_name(mod, event.before, event.after)
            continue
        rename()
        if event.round is not None:
            assert event.before is not None and event.after is not None
            replaced.setdefault(event.round, {})[event.before] = event.after
            current[event.function] = event.round
        else:
            apply(event.function)
            if event.after is None:
                del mod[event.function]
            else:
                mod.put_unchecked(event.function, function_of(event.after, event.function))
    rename()
    for function in list(current):
        apply(function)
    return mod


def nodes_made(found: Round, replaced: Replaced) -> dict[Expr, Expr]:
    """Maps each node below the root of a round to its new node after these replacements."""
    memo: dict[Expr, Expr] = {}
    for node in post_order(found.root):
        parts = node.parts()
        new = [memo[part] for part in parts]
        made = found.made.get(node)
        if node in replaced:
            memo[node] = replaced[node]
        elif made is not None and _is_with_parts(made, node, new):  # its users share one new node
            memo[node] = made
        else:
            memo[node] = node if all(map(is_, parts, new)) else node.with_parts(new)
    return memo


def _is_with_parts(made: Expr, node: Expr, parts: Sequence[Expr]) -> bool:
    """Whether `made` equals `node` with these parts, and has parts."""
    if type(made) is not type(node):
        return False
    if isinstance(made, Call) and isinstance(node, Call) and made.attrs != node.attrs:
        return False
    if isinstance(made, Function) and isinstance(node, Function) and made.attrs != node.attrs:
        return False
    if (
        isinstance(made, TupleGetItem)
        and isinstance(node, TupleGetItem)
        and made.index != node.index
    ):
        return False
    theirs = made.parts()
    return bool(parts) and len(theirs) == len(parts) and all(map(is_, theirs, parts))


def _new_name(mod: IRModule, old: GlobalVar, new: Expr | None) -> GlobalVar:
    if not isinstance(new, GlobalVar) or old.name_hint not in mod:
        raise contradiction(f"@{old.name_hint} is renamed to {new!r:.80}")
    return new


def function_of(found: Expr, name: str) -> Function:
    """The new value of a global function. Raises TraceFileError if it is not a function."""
    if not isinstance(found, Function):
        raise contradiction(f"@{name} becomes a {type(found).__name__}")
    return found


def contradiction(what: str) -> TraceFileError:
    """The error for contradictory rewrites, such as in a damaged file."""
    return TraceFileError(
        f"the rewrites of this trace contradict each other: {what}; the trace is damaged"
    )


def is_typed(mod: IRModule) -> bool:
    return all(func.is_typed for func in mod.functions.values())


def typed_if_possible(mod: IRModule) -> IRModule:
    """The module with types, or without them if it is malformed."""
    try:
        return infer_module(mod)
    except ByocLabError:
        return mod
