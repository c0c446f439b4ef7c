"""`Flow`: the dataflow of a module, ignoring nodes that only pass a value on.

Annotations, lets, projections of tuple literals, and calls of functions that are called once pass a
value on; they are called wrappers. Every other node is a real node. So the operands of a relu are
the same in graph form and in A-normal form, with annotations and without, in @main and in a
partition.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator
from enum import Enum
from typing import Any

from byoc_lab.relay.analysis.annotations import compiler_of, is_annotation
from byoc_lab.relay.ir.adt import Constructor, Match
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order

_GROUPS = ("Composite", "Primitive")  # attributes of function literals that group calls


class _Step(Enum):
    VISIT, BIND, LEAVE = range(3)


class Flow:
    """The nodes of a module and the values they pass on.

    Attributes: order: all nodes, each once, operands first; functions that are called once are
        visited at their call. value: for each node, the real node that computes its value; a real
        node maps to itself. home: for each node the name of its global function. group: for each
        node the composite or fused function literal that it is in, or None. inlined: the functions
        that are called once, literals and globals.
    """

    def __init__(self, mod: IRModule):
        self.mod = mod
        self.order: list[Expr] = []
        self.value: dict[Expr, Expr] = {}
        self.home: dict[Expr, str] = {}
        self.group: dict[Expr, Function | None] = {}
        self.inlined: set[Expr] = set()
        # equal constants, projections and empty tuples, which may be copies: key -> the first one
        self._once: dict[Hashable, Expr] = {}
        self._bound: dict[Expr, Function] = {}  # variable -> the function that a let binds to it
        self._uses = self._count_uses()
        self._names = {f: gv.name_hint for gv, f in mod.functions.items()}
        called_once = {n for n in mod if self._target(n) is not None}
        roots = [gv for gv in mod if gv not in called_once] + list(called_once)
        for gv in roots:
            self._walk(mod[gv], gv.name_hint)
        for gv, func in mod.functions.items():  # functions that are never called
            for node in post_order(func):
                if node not in self.value:
                    self._walk(node, gv.name_hint)
        self.users = self._find_users()

    def real(self) -> Iterator[Expr]:
        """The real nodes, in order."""
        return (n for n in self.order if self.is_real(n))

    def is_real(self, node: Expr) -> bool:
        return self.value[node] is node and node not in self.inlined

    def operands(self, node: Expr) -> list[Expr]:
        """The real nodes whose values a real node uses, without the variables that it binds."""
        parts = node.parts()
        if isinstance(node, Call) and isinstance(node.op, Op):
            parts = node.args
        elif isinstance(node, Function):
            parts = (node.body,)
        return [self.value[p] for p in parts]

    # ---- construction --------------------------------------------------------------------------

    def _count_uses(self) -> Counter[Hashable]:
        """The number of uses of each function and variable, globals by name."""
        uses: Counter[Hashable] = Counter()
        for node in post_order(*self.mod.functions.values()):
            if isinstance(node, Let) and isinstance(node.value, Function):
                self._bound[node.var] = node.value
            binders = node.binds()
            for part in node.parts():
                if isinstance(part, GlobalVar):
                    uses[part.name_hint] += 1
                elif isinstance(part, (Function, Var)) and part not in binders:
                    uses[part] += 1
            if isinstance(node, Call):
                op = node.op
                uses["call", op.name_hint if isinstance(op, GlobalVar) else op] += 1
        return uses

    def _target(self, op: Expr) -> Function | None:
        """The function that a callee refers to, if its only use is one call."""
        key: Hashable = op.name_hint if isinstance(op, GlobalVar) else op
        if self._uses[key] != 1 or self._uses["call", key] != 1:
            return None
        if isinstance(op, GlobalVar):
            return self.mod[op] if op.name_hint in self.mod else None
        bound = self._bound.get(op)
        if bound is not None:
            return bound if self._uses[bound] == 1 else None
        return op if isinstance(op, Function) else None

    def _walk(self, root: Expr, home: str) -> None:
        stack: list[tuple[_Step, Expr, str, Function | None]] = [(_Step.VISIT, root, home, None)]
        while stack:
            step, node, home, group = stack.pop()
            if step is _Step.BIND:
                self._bind(node, home, group)
            elif step is _Step.LEAVE:
                self._leave(node, self._value(node), home, group)
            elif node not in self.value and node not in self.home:
                self.home[node] = home
                stack.append((_Step.LEAVE, node, home, group))
                stack += reversed(self._below(node, home, group))

    def _below(
        self, node: Expr, home: str, group: Function | None
    ) -> list[tuple[_Step, Expr, str, Function | None]]:
        """The nodes to visit before a node is finished."""
        if isinstance(node, Let) and self._target(node.var) is not None:
            return [(_Step.VISIT, node.body, home, group)]  # the function is visited at its call
        if isinstance(node, Let) and not isinstance(node.value, Function):
            inside = home, group
            steps = [(_Step.VISIT, node.value, *inside), (_Step.BIND, node, *inside)]
            return [*steps, (_Step.VISIT, node.body, *inside)]
        function = self._target(node.op) if isinstance(node, Call) else None
        if function is None or function in self.home or len(function.params) != len(node.args):  # type: ignore[attr-defined]
            inside = self._place(node, home, group)
            return [(_Step.VISIT, part, *inside) for part in node.parts()]
        assert isinstance(node, Call)
        self.inlined |= {function, node}
        self.home[function] = self._names.get(function, home)
        inside = self._place(function, home, group)
        steps = [(_Step.VISIT, arg, home, group) for arg in node.args]
        steps += [(_Step.BIND, node, home, group), (_Step.VISIT, function.body, *inside)]
        steps.append((_Step.LEAVE, function, inside[0], group))
        return [*steps, *([(_Step.VISIT, node.op, home, group)] if node.op is not function else [])]

    def _bind(self, node: Expr, home: str, group: Function | None) -> None:
        """Set the values of the variables that a let or an inlined call binds."""
        if isinstance(node, Let):
            self._leave(node.var, self.value[node.value], home, group)
            return
        assert isinstance(node, Call)
        function = self._target(node.op)
        assert function is not None
        for param, arg in zip(function.params, node.args, strict=True):
            self._leave(param, self.value[arg], *self._place(function, home, group))

    def _place(self, node: Expr, home: str, group: Function | None) -> tuple[str, Function | None]:
        """Record the function and the group that contain the parts of a node."""
        if not isinstance(node, Function):
            return home, group
        if node in self._names:
            return self._names[node], None
        return home, node if is_group(node) else group

    def _leave(self, node: Expr, value: Expr, home: str, group: Function | None) -> None:
        if node not in self.value:
            self.order.append(node)
            self.value[node] = value
            self.home[node], self.group[node] = home, group

    def _value(self, node: Expr) -> Expr:
        if is_annotation(node):
            return self.value[node.args[0]]
        if isinstance(node, Let):
            return self.value[node.body]
        if isinstance(node, Call) and node in self.inlined:
            function = self._target(node.op)
            assert function is not None
            return self.value[function.body]
        if isinstance(node, TupleGetItem):
            whole = self.value[node.tuple_value]
            if isinstance(whole, Tuple) and node.index < len(whole.fields):
                return self.value[whole.fields[node.index]]
            return self._once.setdefault((whole, node.index), node)
        if isinstance(node, Constant):
            return self._once.setdefault(node.data.content(), node)
        if isinstance(node, Tuple) and not node.fields:
            return self._once.setdefault("()", node)
        return node

    def _find_users(self) -> dict[Expr, list[tuple[Expr, int]]]:
        """For each real node, find the real nodes that use its value, with the operand numbers."""
        users: dict[Expr, list[tuple[Expr, int]]] = {}
        for node in self.order:
            if self.is_real(node):
                for n, operand in enumerate(self.operands(node)):
                    users.setdefault(operand, []).append((node, n))
        return users


def label(node: Expr) -> Hashable:
    """The operation of a node without its operands; only nodes with equal labels can correspond."""
    if isinstance(node, Call):
        if is_annotation(node):
            return (node.op_name, compiler_of(node))
        return node.op_name or "call"
    if isinstance(node, TupleGetItem):
        return ("projection", node.index)
    if isinstance(node, Function):
        return ("function", *(str(node.attrs.get(key)) for key in _GROUPS))
    return type(node).__name__


def is_group(function: Function) -> bool:
    """Whether a function literal is a composite or fused one."""
    return any(key in function.attrs for key in _GROUPS)


def group_name(function: Function) -> str:
    """The name of a composite or fused function literal."""
    return str(function.attrs.get("Composite") or "a fused function")


def typed(node: Expr) -> Any:
    """The checked type of a node, or None."""
    return node.checked_type if node.is_typed else None


def types_differ(x: Expr, y: Expr) -> bool:
    """Whether both nodes are typed, with different types."""
    return typed(x) is not None and typed(y) is not None and typed(x) != typed(y)


def own_fields(node: Expr) -> Hashable:
    """The fields of a node except its operands, its types and the variables it binds."""
    if isinstance(node, Call):
        return (node.attrs, () if isinstance(node.op, Op) else node.type_args)
    if isinstance(node, Function):
        return (node.attrs, len(node.params))
    if isinstance(node, Constructor):
        return node.identity
    if isinstance(node, Match):
        return (node.complete, *(c.lhs.shape() for c in node.clauses))
    return None
