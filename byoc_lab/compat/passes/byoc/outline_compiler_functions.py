"""OutlineCompilerFunctionsWithExistingGlobalSymbols: makes closures of external compilers global
functions."""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.framework.hook import report_function
from byoc_lab.passes.framework.passes import (
    ModulePass,
    PassContext,
    each_function,
    typed_as,
)
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, Let, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order


class OutlineCompilerFunctionsWithExistingGlobalSymbols(ModulePass):
    """Make closures of external compilers global functions.

    `fn (%p, Compiler="A", global_symbol="a_0") { abs(%p) }(%x)` -> `@a_0(%x)`. A closure bound by a
    `let` is treated as if it were written at each use of the variable. Functions with the same
    symbol count as one function. The inverse of Inline, for functions that have a symbol.

    Raises PassError for a closure without a global_symbol.

    Source: src/relay/transforms/compiler_function_utils.cc of TVM 0.16.
    """

    def __init__(self, compiler_filter: str = ""):
        self.compiler_filter = compiler_filter

    @property
    def name(self) -> str:
        return "OutlineCompilerFunctions"

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        return typed_as(mod, each_function(mod, self._outline))

    def _outline(self, func: Function, out: IRModule) -> Function:
        lets = {n.var: n.value for n in post_order(func) if isinstance(n, Let)}
        memo: dict[Expr, Expr] = {}

        def use_closure(pre: Any, post: Any) -> Expr:
            # A let's value comes before its variable in evaluation order, so it is in the memo.
            value = memo.get(lets[pre]) if isinstance(pre, Var) and pre in lets else None
            return (
                value if value is not None and has_compiler(value, self.compiler_filter) else post
            )

        def drop_let(pre: Any, post: Any) -> Expr | None:
            # The closure has replaced the variable everywhere, including its binding.
            return post.body if isinstance(pre, Let) and not isinstance(post.var, Var) else None

        def outline(pre: Any, post: Any) -> Expr | None:
            if not isinstance(post, Call) or not has_compiler(post.op, self.compiler_filter):
                return None
            return Call(_global(post.op, out), post.args, post.attrs, post.type_args, post.span)

        rules = (
            RewriteRule("drop let", "the closure replaces its variable", drop_let),
            RewriteRule("outline", "the closure belongs to another compiler", outline),
        )
        return rewrite(func, rules, memo=memo, prepare=use_closure)


def has_compiler(expr: Expr, compiler_filter: str) -> bool:
    """Whether `expr` is a function for an external compiler; if a compiler is named, for that
    compiler."""
    if not isinstance(expr, Function) or "Compiler" not in expr.attrs:
        return False
    return not compiler_filter or expr.attrs["Compiler"] == compiler_filter


def _global(func: Any, out: IRModule) -> GlobalVar:
    """The global variable of the function's symbol, after adding the function to `out`."""
    symbol = func.attrs.get("global_symbol")
    if symbol is None:
        raise PassError(
            f"a closure of compiler {func.attrs['Compiler']} has no global_symbol; "
            f"give it one: func.with_attr('global_symbol', ...)"
        )
    if symbol not in out:
        out[symbol] = func
        report_function("add function", "a closure had this symbol", symbol, None, func)
    return out.get_global_var(symbol)
