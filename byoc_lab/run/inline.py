"""A function as one flat graph of operator calls: what compilers of whole functions start from."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, MutableMapping

from byoc_lab.errors import BuildError
from byoc_lab.relay.expr import Call, Expr, Function, GlobalVar, Let, Var, describe
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.visit import post_order, rebuild

Memo = MutableMapping[Expr, Expr]
MAX_DEPTH = 100  # of functions called in functions: more than programs have, less than Python takes


def inlined(
    function: Function,
    mod: IRModule | None = None,
    keep: Callable[[Function], bool] = lambda function: False,
) -> Function:
    """`function` with every call of a function replaced by its body, and every `let` by its value.

    Called may be functions written in place and, when `mod` is given, its global functions; those
    for which `keep` is true stay calls. Types are carried over, so a typed function stays typed.
    Raises BuildError for a function that calls itself, and for one that is a value (a closure).
    """
    return _Inliner(mod, keep).run(function)


class _Inliner:
    def __init__(self, mod: IRModule | None, keep: Callable[[Function], bool]):
        self.mod = mod
        self.keep = keep
        self.let_values: dict[Var, Expr] = {}
        self.active: list[Function] = []

    def run(self, function: Function) -> Function:
        body = self._body(function, {p: p for p in function.params})
        typed = function.replace(body=body)
        return typed.with_type(function.checked_type) if function.is_typed else typed

    def _body(self, function: Function, memo: Memo) -> Expr:
        if function in self.active:
            raise BuildError(f"{describe(function)} calls itself: recursion cannot be inlined")
        if len(self.active) == MAX_DEPTH:
            raise BuildError(f"functions are called {MAX_DEPTH} deep in one another")
        self.active.append(function)
        for node in post_order(function.body, enter=_enter):
            if isinstance(node, Let):
                self.let_values[node.var] = node.value
        try:
            return rebuild(
                function.body,
                lambda pre, post: self._rewrite(pre, post, memo),
                _enter,
                memo,  # type: ignore[arg-type]
            )
        finally:
            self.active.pop()

    def _rewrite(self, pre: Expr, post: Expr, memo: Memo) -> Expr:
        if isinstance(pre, Var):
            # The value of a let is evaluated before its variable is met.
            return memo[self.let_values[pre]] if pre in self.let_values else pre
        if isinstance(pre, Let):
            return memo[pre.body]
        if isinstance(pre, Call):
            callee = self._callee(pre, post)
            if callee is not None:
                own: Memo = dict(zip(callee.params, post.parts()[1:], strict=True))
                return self._body(callee, ChainMap(own, memo))  # it may use variables of outside
        if post is not pre and pre.is_typed and not post.is_typed:
            return post.with_type(pre.checked_type)
        return post

    def _callee(self, pre: Call, post: Expr) -> Function | None:
        assert isinstance(post, Call)
        callee: Expr = post.op
        if isinstance(callee, GlobalVar):
            if self.mod is None or callee not in self.mod:
                raise BuildError(f"@{callee.name_hint} is called but not defined in the module")
            callee = self.mod[callee]
        return callee if isinstance(callee, Function) and not self.keep(callee) else None


def _enter(node: Expr) -> bool:
    return not isinstance(node, Function)
