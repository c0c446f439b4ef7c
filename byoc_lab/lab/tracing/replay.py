"""`replay`: applies the first events of a pass to its input."""

from __future__ import annotations

from collections.abc import Sequence

from byoc_lab.errors import TraceFileError
from byoc_lab.passes.framework.hook import Event, Round
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, TupleGetItem
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import rebuild

Replaced = dict[Expr, Expr]


def replay(before: IRModule, events: Sequence[Event]) -> IRModule:
    """The module after `events`, the first ones that a pass reported on `before`.

    The module is not checked: in the middle of a pass it may be malformed. New nodes have no types.
    """
    mod = before.copy()
    replaced: dict[Round, Replaced] = {}
    current: dict[str, Round] = {}  # the last round of each function, until it is applied

    def apply(function: str) -> None:
        if (found := current.pop(function, None)) is not None:
            root = nodes_made(found, replaced[found])[found.root]
            mod.put_unchecked(function, _function(root, function))

    for event in events:
        if event.round is not None:
            assert event.before is not None and event.after is not None
            replaced.setdefault(event.round, {})[event.before] = event.after
            current[event.function] = event.round
        else:
            is_renamed = isinstance(event.before, GlobalVar)  # in all functions
            for function in list(current) if is_renamed else [event.function]:
                apply(function)
            _change_functions(mod, event)
    for function in list(current):
        apply(function)
    return mod


def nodes_made(found: Round, replaced: Replaced) -> dict[Expr, Expr]:
    """What each node below the root of a round became by these replacements."""

    def use(pre: Expr, post: Expr) -> Expr:
        new = replaced.get(pre)
        if new is not None:
            return new
        # The node that the pass created here, if it has the same parts, so users share it.
        made = found.made.get(pre)
        return made if made is not None and _same_node(made, post) else post

    memo: dict[Expr, Expr] = {}
    rebuild(found.root, use, memo=memo)
    return memo


def _same_node(a: Expr, b: Expr) -> bool:
    """Whether two nodes have identical parts."""
    if type(a) is not type(b):
        return False
    if isinstance(a, Call) and isinstance(b, Call) and a.attrs != b.attrs:
        return False
    if isinstance(a, Function) and isinstance(b, Function) and a.attrs != b.attrs:
        return False
    if isinstance(a, TupleGetItem) and isinstance(b, TupleGetItem) and a.index != b.index:
        return False
    mine, theirs = a.parts(), b.parts()
    return (
        bool(mine)
        and len(mine) == len(theirs)
        and all(x is y for x, y in zip(mine, theirs, strict=True))
    )


def _change_functions(mod: IRModule, event: Event) -> None:
    if isinstance(event.before, GlobalVar):
        if not isinstance(event.after, GlobalVar) or event.before.name_hint not in mod:
            raise contradiction(f"@{event.before.name_hint} is renamed to {event.after!r:.80}")
        mod.rename_unchecked(event.before, event.after)
    elif event.after is None:
        del mod[event.function]
    else:
        mod.put_unchecked(event.function, _function(event.after, event.function))


def _function(found: Expr, name: str) -> Function:
    if not isinstance(found, Function):
        raise contradiction(f"@{name} becomes a {type(found).__name__}")
    return found


def contradiction(what: str) -> TraceFileError:
    """The error of rewrites that cannot be, as those of a damaged file."""
    return TraceFileError(
        f"the rewrites of this trace contradict one another: {what}; it is damaged"
    )
