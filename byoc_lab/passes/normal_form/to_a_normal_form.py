"""ToANormalForm: binds every intermediate value to a variable."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from byoc_lab.errors import counted
from byoc_lab.passes.framework.hook import report
from byoc_lab.passes.framework.passes import ModulePass, PassContext, each_function
from byoc_lab.relay.ir.adt import Constructor, Match
from byoc_lab.relay.ir.ancestor_tree import AncestorTree
from byoc_lab.relay.ir.expr import (
    Call,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Op,
    RefWrite,
    TupleGetItem,
    Var,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class ToANormalForm(ModulePass):
    """Bind every intermediate value to a variable.

    `add(abs(%x), %y)` -> `let %x_0 = abs(%x); let %x_1 = add(%x_0, %y); %x_1`, constants included.
    A value that several branches share is bound in the innermost scope around all its uses.
    Existing lets keep their variables; for each, one more variable is bound to its result, as in
    TVM. The parts of `if` and `ref_write` are processed from last to first, as in TVM, so that
    values shared by both branches are bound before the condition. Primitive functions are bound
    unchanged, and external functions are not changed. An `on_device` that fixes the device of its
    result gets no variable: values inside are bound together with their device.

    Source: src/relay/transforms/to_a_normal_form.cc of TVM 0.16. New nodes have no types yet.
    """

    opt_level = 1

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return each_function(mod, lambda func, out: Normaliser(func).run())


@dataclass(eq=False)
class Scope:
    """A function body or a branch, and the bindings that belong to it."""

    bindings: deque[tuple[Var, Expr]] = field(default_factory=deque)

    def take_bindings(self, inner: Scope) -> None:
        """Append the bindings of a scope inside this one to the bindings here.

        The shorter of the two is moved, so that a chain of n lets costs about n moves.
        """
        here, there = self.bindings, inner.bindings
        inner.bindings = deque()
        if len(here) < len(there):
            there.extendleft(reversed(here))
            self.bindings = there
        else:
            here.extend(there)

    def close(self, result: Expr) -> Expr:
        for variable, value in reversed(self.bindings):
            result = Let(variable, value, result)
        return result


LET_BODY = 2  # the index of the body among a let's parts


class Normaliser:
    """Names the values of one function. A subclass may exclude some of them."""

    def __init__(self, func: Function):
        self.func = func
        self.scopes: AncestorTree[Scope] = AncestorTree()
        self.scope_of: dict[Expr, Scope] = {}
        # By the node that opens the scope, and the index of its part.
        self.inner: dict[tuple[Expr, int], Scope] = {}
        self.memo: dict[Expr, Expr] = {}
        self.count = 0

    def run(self) -> Function:
        root = self._opened(None)
        self._place(root)
        self._fill(self.func.body)
        new = self.func.replace(body=root.close(self.memo[self.func.body]))
        report("bind", f"{counted(self.count, 'value')} named", self.func, new)
        return new

    # The scope of each value -------------------------------------------------------------------

    def _place(self, root: Scope) -> None:
        self.scope_of[self.func.body] = root
        for node in reversed(list(post_order(self.func.body, enter=is_open))):
            scope = self.scope_of[node]
            if not is_open(node):
                continue
            for n, part in enumerate(node.parts()):
                used_in = scope
                owner = self.opens(node, n)
                if owner is not None:
                    if (node, owner) not in self.inner:
                        self.inner[node, owner] = self._opened(scope)
                    used_in = self.inner[node, owner]
                shared = self.scopes.common([self.scope_of.get(part, used_in), used_in])
                assert shared is not None
                self.scope_of[part] = shared

    def _opened(self, parent: Scope | None) -> Scope:
        scope = Scope()
        self.scopes.add(scope, parent)
        return scope

    # Binding, operands first ---------------------------------------------------------------------

    def _fill(self, body: Expr) -> None:
        # (node, its name, the innermost fixed `on_device` around it, whether its parts are done)
        stack: list[tuple[Expr, Var | None, Call | None, bool]] = [(body, None, None, False)]
        while stack:
            node, name, place, done = stack.pop()
            if done and _fixes(node):
                self.memo[node] = self._value(node)
            elif done:
                self.memo[node] = self._bind(node, name, place)
            elif node in self.memo:
                if name is not None:
                    self.scope_of[node].bindings.append((name, self.memo[node]))
            else:
                stack.append((node, name, place, True))
                if isinstance(node, Let):
                    stack += [(node.body, None, place, False), (node.value, node.var, place, False)]
                elif isinstance(node, Call) and _fixes(node):
                    stack += [(node.op, None, None, False), (node.args[0], name, node, False)]
                elif isinstance(node, Call):  # here, unlike in other traversals, the callee is last
                    stack += [(p, None, place, False) for p in (node.op, *reversed(node.args))]
                elif isinstance(node, (If, RefWrite)):  # visited from the last part to the first
                    stack += [(p, None, place, False) for p in node.parts()]
                elif is_open(node):
                    inside = None if isinstance(node, Function) else place
                    stack += [(p, None, inside, False) for p in reversed(node.parts())]

    def opens(self, node: Expr, part: int) -> int | None:
        """If a part of a node opens a scope, the index of the part at the end of that scope; else
        None.

        In a match, pattern variables also open scopes (they need no binding). In a let, all parts
        open scopes, so that values shared with other nodes are bound before the let.
        """
        if isinstance(node, Let):
            return LET_BODY
        if isinstance(node, (If, Match)):
            return part or None
        is_body = isinstance(node, Function) and part == len(node.params)
        return part if is_body else None

    def needs_name(self, node: Expr) -> bool:
        """Whether a node that no let binds gets a variable."""
        return not isinstance(node, (Var, GlobalVar, Op, Constructor))

    def _bind(self, node: Expr, name: Var | None, place: Call | None) -> Expr:
        scope = self.scope_of[node]
        if name is None and not self.needs_name(node):
            return self._value(node)
        if name is None:
            name = Var(f"x_{self.count}")
            self.count += 1
        if isinstance(node, Let):  # its bindings come before, instead of inside the value
            value = self.memo[node.body]
            if inner := self.inner.get((node, LET_BODY)):
                scope.take_bindings(inner)
        else:
            value = self._value(node)
        while isinstance(value, Let):
            scope.bindings.append((value.var, value.value))
            value = value.body
        scope.bindings.append((name, _placed(value, place)))
        return name

    def _value(self, node: Expr) -> Expr:
        """The node with its parts replaced by their variables."""
        if isinstance(node, Let):
            scope = self.inner.get((node, LET_BODY))
            return scope.close(self.memo[node.body]) if scope else self.memo[node.body]
        if not is_open(node):
            return node
        new = []
        for n, part in enumerate(node.parts()):
            inner = self.inner.get((node, n))
            new.append(inner.close(self.memo[part]) if inner else self.memo[part])
        # Always a new node: a bound value must not be shared with the original.
        if isinstance(node, Call):
            return Call(new[0], new[1:], node.attrs, node.type_args, node.span)
        if isinstance(node, TupleGetItem):
            return TupleGetItem(new[0], node.index, node.span)
        return node.with_parts(new)


def _fixes(node: Expr) -> bool:
    """Whether a node is an `on_device` that fixes both the device of its result and of its
    computation."""
    if not isinstance(node, Call) or not node.is_op("on_device"):
        return False
    assert node.attrs is not None
    return bool(node.attrs.constrain_result and node.attrs.constrain_body)


def _placed(value: Expr, place: Call | None) -> Expr:
    """A value inside the fixed `on_device` around it; variables and functions are not wrapped."""
    nowhere = isinstance(value, (Var, GlobalVar, Op, Constructor, Function))
    if place is None or nowhere or (isinstance(value, Call) and value.is_op("on_device")):
        return value
    return Call(place.op, [value], place.attrs, span=place.span)


def is_open(node: Expr) -> bool:
    return not (isinstance(node, Function) and bool(node.attrs.get("Primitive")))
