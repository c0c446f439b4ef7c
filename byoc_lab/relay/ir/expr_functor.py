"""Visitors and mutators to subclass, with the interface of `tvm.relay.expr_functor`.

Methods that a subclass overrides call `self.visit` for the operands, so their calls nest as deeply
as the graph. Therefore `visit` continues in a new thread with a fresh stack each time the nesting
reaches a limit: chains of 100,000 nodes work, without changing the interpreter's recursion limit.
`MixedModeVisitor`, `MixedModeMutator` and `ExprRewriter` walk dataflow with an explicit stack.
"""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Callable
from typing import Any

from byoc_lab.errors import ArgumentError
from byoc_lab.relay.ir.adt import Constructor, Match
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
)
from byoc_lab.relay.ir.visit import is_dataflow

# The maximum number of nested visits on one stack. A visit takes about five Python frames (more if
# a subclass's methods call helpers), and the interpreter allows about a thousand.
_VISITS_PER_STACK = 60

_METHODS: dict[type, str] = {
    Var: "visit_var",
    GlobalVar: "visit_global_var",
    Constant: "visit_constant",
    Op: "visit_op",
    Call: "visit_call",
    Function: "visit_function",
    Let: "visit_let",
    If: "visit_if",
    Tuple: "visit_tuple",
    TupleGetItem: "visit_tuple_getitem",
    RefCreate: "visit_ref_create",
    RefRead: "visit_ref_read",
    RefWrite: "visit_ref_write",
    Constructor: "visit_constructor",
    Match: "visit_match",
}


def on_new_stack(function: Callable[..., Any], *args: Any) -> Any:
    """`function(*args)` on the empty stack of a new thread; its exceptions are raised here."""
    outcome: list[Any] = []
    context = contextvars.copy_context()

    def run() -> None:
        try:
            outcome.append((True, context.run(function, *args)))
        except BaseException as error:  # raised again below, in the waiting thread
            outcome.append((False, error))

    thread = threading.Thread(target=run, name="relay-visit")
    thread.start()
    thread.join()
    good, result = outcome[0]
    if not good:
        raise result
    return result


class ExprFunctor:
    """Dispatches on the kind of node; each node is visited once and its result is kept.

    A subclass that does not call this __init__ sets `memo_map` itself.
    """

    _depth = 0  # a class attribute, for such subclasses

    def __init__(self) -> None:
        self.memo_map: dict[Expr, Any] = {}

    def visit(self, expr: Expr) -> Any:
        """The result for `expr`, computed on the first visit."""
        if isinstance(expr, TupleWrapper):
            expr = expr.tuple_value
        if expr in self.memo_map:
            return self.memo_map[expr]
        self._depth += 1
        try:
            if self._depth % _VISITS_PER_STACK == 0:
                result = on_new_stack(self._dispatch, expr)
            else:
                result = self._dispatch(expr)
        finally:
            self._depth -= 1
        self.memo_map[expr] = result
        return result

    def _dispatch(self, expr: Expr) -> Any:
        method = _METHODS.get(type(expr))
        if method is None:
            raise ArgumentError(
                f"{type(self).__name__}.visit takes a Relay expression, found {expr!r}"
            )
        return getattr(self, method)(expr)

    def _unhandled(self, node: Any) -> Any:
        raise NotImplementedError(
            f"{type(self).__name__} has no {_METHODS[type(node)]}, which {node!r} needs"
        )

    visit_var = visit_global_var = visit_constant = visit_op = _unhandled
    visit_call = visit_function = visit_let = visit_if = _unhandled
    visit_tuple = visit_tuple_getitem = _unhandled
    visit_ref_create = visit_ref_read = visit_ref_write = _unhandled
    visit_constructor = visit_match = _unhandled


class ExprVisitor(ExprFunctor):
    """Visits everything; override the methods you need, call `super()` to continue below."""

    def _nothing(self, node: Any) -> Any:
        pass

    def _below(self, node: Any) -> Any:
        for part in node.parts():
            self.visit(part)

    visit_var = visit_global_var = visit_constant = visit_op = visit_constructor = _nothing
    visit_call = visit_function = visit_if = visit_match = _below
    visit_tuple = visit_tuple_getitem = _below
    visit_ref_create = visit_ref_read = visit_ref_write = _below

    def visit_let(self, let: Let) -> Any:
        for part in (let.var, let.value, let.body):  # the name first, as in TVM
            self.visit(part)


class ExprMutator(ExprFunctor):
    """Rebuilds everything; a node is returned unchanged if its parts are unchanged."""

    def _same(self, node: Any) -> Expr:
        return node

    def _rebuilt(self, node: Any) -> Expr:
        parts = node.parts()
        new = [self.visit(p) for p in parts]
        if all(a is b for a, b in zip(parts, new, strict=True)):
            return node
        return node.with_parts(new)

    visit_var = visit_global_var = visit_constant = visit_op = visit_constructor = _same
    visit_call = visit_function = visit_if = visit_match = _rebuilt
    visit_tuple = visit_tuple_getitem = _rebuilt
    visit_ref_create = visit_ref_read = visit_ref_write = _rebuilt

    def visit_let(self, let: Let) -> Expr:
        var, value, body = map(self.visit, (let.var, let.value, let.body))
        same = var is let.var and value is let.value and body is let.body
        return let if same else let.with_parts((value, var, body))


def _visit_dataflow_first(functor: ExprFunctor, expr: Expr) -> None:
    """Visit the calls, tuples and projections below `expr`, operands first, so that every
    operand is visited before its user."""
    stack = [(expr, False)]
    while stack:
        node, done = stack.pop()
        if node in functor.memo_map:
            continue
        if done or not is_dataflow(node):
            functor.memo_map[node] = functor._dispatch(node)
        else:
            stack.append((node, True))
            stack += [(p, False) for p in reversed(node.parts())]


class MixedModeVisitor(ExprVisitor):
    """An ExprVisitor whose `visit_call`, `visit_tuple` and `visit_tuple_getitem` get nodes operands
    first and need not visit the operands."""

    def visit(self, expr: Expr) -> Any:
        if is_dataflow(expr) and expr not in self.memo_map:
            _visit_dataflow_first(self, expr)
        return super().visit(expr)

    visit_call = visit_tuple = visit_tuple_getitem = ExprVisitor._nothing


class ExprRewriter:
    """Rewrites of single nodes, for `rewrite_with`: a method gets a node before (`pre`) and after
    (`post`) its parts were rewritten, and returns its replacement."""

    def rewrite_call(self, pre: Call, post: Expr) -> Expr:
        return post

    def rewrite_tuple(self, pre: Tuple, post: Expr) -> Expr:
        return post

    def rewrite_tuple_getitem(self, pre: TupleGetItem, post: Expr) -> Expr:
        return post


class MixedModeMutator(ExprMutator, ExprRewriter):
    """An ExprMutator with the `rewrite_*` methods of ExprRewriter."""

    def visit(self, expr: Expr) -> Any:
        if is_dataflow(expr) and expr not in self.memo_map:
            _visit_dataflow_first(self, expr)
        return super().visit(expr)

    def visit_call(self, call: Call) -> Expr:
        return self.rewrite_call(call, self._rebuilt(call))

    def visit_tuple(self, tup: Tuple) -> Expr:
        return self.rewrite_tuple(tup, self._rebuilt(tup))

    def visit_tuple_getitem(self, op: TupleGetItem) -> Expr:
        return self.rewrite_tuple_getitem(op, self._rebuilt(op))


def rewrite_with(rewriter: ExprRewriter, expr: Expr) -> Expr:
    """`expr` rewritten by `rewriter`, operands first (TVM's C++ `PostOrderRewrite`)."""

    class Driver(MixedModeMutator):
        rewrite_call = staticmethod(rewriter.rewrite_call)
        rewrite_tuple = staticmethod(rewriter.rewrite_tuple)
        rewrite_tuple_getitem = staticmethod(rewriter.rewrite_tuple_getitem)

    return Driver().visit(expr)
