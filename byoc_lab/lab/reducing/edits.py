"""Replacing nodes of a module: by their operands, by other expressions, or by new parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from byoc_lab.relay.ir.adt import Match
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import FuncType
from byoc_lab.relay.ir.variables import free_vars
from byoc_lab.relay.ir.visit import post_order, with_mapped_parts

COMPOSITE = (Call, Tuple, TupleGetItem, Let, If, Match, RefCreate, RefRead, RefWrite)
"""Nodes that compute a value; all other nodes are leaves and functions."""

Replaced = Mapping[Expr, "Expr | None"]
"""The replacement of a node: an expression, or None for a new parameter of its type."""


def composites(mod: IRModule) -> list[Expr]:
    """The nodes of a module that compute a value, operands first, function by function."""
    found: dict[Expr, None] = {}
    for func in mod.functions.values():
        found.update((n, None) for n in post_order(func.body) if isinstance(n, COMPOSITE))
    return list(found)


def may_be_parameter(node: Expr) -> bool:
    """Whether a parameter can have the type of a typed node."""
    return not isinstance(node.checked_type, FuncType)


def operands(node: Expr) -> Iterator[Expr]:
    """The values that may replace a node if their types are equal: its operands, including fields
    of tuples."""
    if isinstance(node, Call):
        direct: Sequence[Expr] = node.args
    elif isinstance(node, TupleGetItem) and isinstance(node.tuple_value, (Call, Tuple)):
        direct = (node.tuple_value, *node.tuple_value.parts())
    elif isinstance(node, If):
        direct = (node.true_branch, node.false_branch)
    elif isinstance(node, Let):
        direct = (node.body, node.value)
    else:
        direct = node.parts()
    for part in direct:
        if isinstance(part, Tuple):
            yield from part.fields
        elif has_type(part):
            yield part


def bypasses(node: Expr) -> list[Expr]:
    """The operands of a typed node that have its type, without duplicates; computed operands
    first."""
    ty = node.checked_type
    same = dict.fromkeys(p for p in operands(node) if p.checked_type == ty)
    return sorted(same, key=lambda p: isinstance(p, (Var, Constant)))


def has_type(node: Expr) -> bool:
    """Whether a node is a typed value; operators and globals are not."""
    return isinstance(node, (*COMPOSITE, Var, Constant))


def edited(
    mod: IRModule,
    replaced: Replaced,
    bodies: Mapping[GlobalVar, Expr] | None = None,
    *,
    keep: bool = False,
) -> IRModule:
    """A module with replaced nodes.

    bodies: new bodies of functions. If the body of a function without callers is replaced by None,
    the function returns the operands of the body. Variables that become free turn into parameters
    of the function and of its callers; a called function literal gets them from its call. keep:
    whether unused parameters and functions are kept.
    """
    edit = _Edit(mod, replaced, keep)
    for gv in _callees_first(mod):
        edit.function(gv, (bodies or {}).get(gv, mod.functions[gv].body))
    left = {gv: edit.done[gv] for gv in mod.functions}
    if not keep:
        used = _reachable(left)
        left = {gv: func for gv, func in left.items() if gv in used}
    return mod.with_functions(left)


class _Edit:
    """One application of `edited`."""

    def __init__(self, mod: IRModule, replaced: Replaced, keep: bool):
        self.mod, self.replaced, self.keep = mod, replaced, keep
        self.done: dict[GlobalVar, Function] = {}
        self.callees = {g for func in mod.functions.values() for g in _called(func)}
        self.kept: dict[GlobalVar, list[int]] = {}  # positions of the parameters that remain
        self.added: dict[GlobalVar, list[Var]] = {}
        self.fresh: dict[Expr, Var] = {}
        self.outer: dict[Var, Var] = {}  # parameter of a literal -> the argument of its call
        self.literals: dict[Expr, tuple[Function, list[int], list[Var]]] = {}
        self.names = {v.name_hint for func in mod.functions.values() for v in func.params}

    def function(self, gv: GlobalVar, body: Expr) -> None:
        func = self.mod.functions[gv]
        memo: dict[Expr, Expr] = {}
        new = self.rebuilt(body, memo) if gv in self.callees else self.outputs(body, memo)
        used = free_vars(new)
        wanted = set(used)
        params: dict[Var, int] = {}
        for n, p in enumerate(func.params):
            mapped = self.rebuilt(p, memo)
            if isinstance(mapped, Var) and (mapped in wanted or (self.keep and mapped is p)):
                params.setdefault(mapped, n)
        added = [v for v in used if v not in params]
        self.kept[gv], self.added[gv] = list(params.values()), added
        # The result type of a function that calls others may have changed.
        same = new is func.body and tuple(params) == func.params and not _called(func)
        self.done[gv] = (
            func
            if same and not added
            else func.replace(params=[*params, *added], body=new, ret_type=None)
        )

    def outputs(self, body: Expr, memo: dict[Expr, Expr]) -> Expr:
        """The new body: the operands of the old body, if that is replaced by a parameter."""
        if body not in self.replaced or self.replaced[body] is not None:
            return self.rebuilt(body, memo)
        seen: set[Expr] = set()
        found: list[Expr] = []
        stack = [body]
        while stack:
            node = stack.pop()
            if node in seen:
                continue
            seen.add(node)
            if node in self.replaced and self.replaced[node] is None:
                stack += reversed([p for p in node.parts() if isinstance(p, COMPOSITE)])
            else:
                found.append(node)
        if not found:
            return self.rebuilt(body, memo)
        made = [self.rebuilt(node, memo) for node in found]
        return made[0] if len(made) == 1 else Tuple(made)

    def rebuilt(self, root: Expr, memo: dict[Expr, Expr]) -> Expr:
        stack = [root]
        while stack:
            node = stack[-1]
            if node in memo:
                stack.pop()
                continue
            if node in self.replaced:
                other = self.replaced[node]
                if other is None:
                    memo[node] = self.parameter(node)
                    continue
                below: Sequence[Expr] = (other,)
            else:
                below = node.parts()
            missing = [p for p in below if p not in memo]
            if missing:
                stack += reversed(missing)
            elif node in self.replaced:
                memo[node] = memo[below[0]]
            else:
                memo[node] = self.adapted(node, with_mapped_parts(node, memo))
        return memo[root]

    def parameter(self, node: Expr) -> Var:
        if node not in self.fresh:
            self.fresh[node] = self.variable(node.checked_type)
        return self.fresh[node]

    def variable(self, ty: object) -> Var:
        number = len(self.fresh) + len(self.outer)
        while f"p{number}" in self.names:
            number += 1
        self.names.add(f"p{number}")
        return Var(f"p{number}", ty)  # type: ignore[arg-type]

    def adapted(self, old: Expr, new: Expr) -> Expr:
        """A call with the arguments that its function now takes; a function with its new result
        type."""
        if isinstance(new, Function) and new is not old:
            return new.replace(ret_type=None)
        if not isinstance(new, Call):
            return new
        if isinstance(new.op, GlobalVar) and new.op in self.kept:
            kept, added = self.kept[new.op], self.added[new.op]
            func = self.mod.functions[new.op]
            if len(kept) == len(func.params) == len(new.args) and not added:
                return new
            args = [new.args[n] for n in kept if n < len(new.args)]
            return Call(new.op, [*args, *map(self.passed, added)], new.attrs, None, new.span)
        if isinstance(new.op, Function) and isinstance(old, Call) and new.op is not old.op:
            literal, kept, lifted = self.literal(new.op)
            args = [new.args[n] for n in kept if n < len(new.args)]
            return Call(literal, [*args, *map(self.passed, lifted)], new.attrs, None, new.span)
        return new

    def literal(self, func: Function) -> tuple[Function, list[int], list[Var]]:
        """A function literal that captures its free variables; its parameters are the kept and the
        new ones."""
        if func not in self.literals:
            used = free_vars(func.body)
            wanted, made = set(used), set(self.fresh.values())
            kept = [n for n, p in enumerate(func.params) if self.keep or p in wanted]
            lifted = [v for v in used if v in made and v not in func.params]
            params = [*(func.params[n] for n in kept), *lifted]
            self.literals[func] = func.replace(params=params, ret_type=None), kept, lifted
        return self.literals[func]

    def passed(self, inner: Var) -> Var:
        """The variable that a caller passes to a new parameter of its callee."""
        if inner not in self.outer:
            ty = inner.type_annotation
            self.outer[inner] = self.variable(ty if ty is not None else inner.checked_type)
        return self.outer[inner]


def _callees_first(mod: IRModule) -> list[GlobalVar]:
    done: dict[GlobalVar, None] = {}
    for first in mod.functions:
        stack = [first]
        entered: set[GlobalVar] = set()
        while stack:
            gv = stack[-1]
            below = [] if gv in entered or gv in done else _called(mod.functions[gv])
            entered.add(gv)
            missing = [g for g in below if g in mod.functions and g not in done]
            missing = [g for g in missing if g not in entered]
            if missing:
                stack += reversed(missing)
            else:
                done[stack.pop()] = None
    return list(done)


def _called(func: Function) -> list[GlobalVar]:
    return [n for n in post_order(func.body) if isinstance(n, GlobalVar)]


def _reachable(functions: Mapping[GlobalVar, Function]) -> set[GlobalVar]:
    """@main and the functions it calls; all functions if there is no @main."""
    entries = [gv for gv in functions if gv.name_hint == "main"] or list(functions)
    seen: set[GlobalVar] = set()
    while entries:
        gv = entries.pop()
        if gv in functions and gv not in seen:
            seen.add(gv)
            entries += _called(functions[gv])
    return seen
