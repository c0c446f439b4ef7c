"""InlineCompilerFunctionsBoundTo: inline chosen external functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.framework.hook import copies_in, report_function, rewriting
from byoc_lab.passes.framework.passes import ModulePass, PassContext, is_optimizable, typed_as
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import applied, rebuild, substitute


class InlineCompilerFunctionsBoundTo(ModulePass):
    """Inline chosen external functions, and the composite functions inside them.

    `@a_0(%x)` -> the body of `@a_0` with `%x` for its parameter. Calls of composite functions in
    the body are inlined as well, so the whole partition is undone. The functions are removed.

    Raises PassError for a function without the attribute Compiler, and for a closure that is not
    composite.

    Source: src/relay/transforms/compiler_function_utils.cc of TVM 0.16.
    """

    def __init__(self, global_vars: Sequence[GlobalVar | str] = ()):
        self.names = [g if isinstance(g, str) else g.name_hint for g in global_vars]

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        out = mod.copy()
        copies: dict[str, list[dict[Expr, Expr]]] = {name: [] for name in self.names}
        bodies = {
            name: _without_composites(mod[name], name, copies[name])
            for name in self.names
            if name in mod
        }

        def called(pre: Any, post: Any) -> Expr | None:
            if not isinstance(post, Call) or not isinstance(post.op, GlobalVar):
                return None
            func = bodies.get(post.op.name_hint)
            if func is None:
                return None
            copied: dict[Expr, Expr] = {}
            body = substitute(func.body, dict(zip(func.params, post.args, strict=True)), copied)
            for nodes in (*copies[post.op.name_hint], copied):
                copies_in(nodes)
            return body

        rules = [RewriteRule("inline", "the external function is to be inlined", called)]
        for gv, func in mod.functions.items():
            if gv.name_hint not in bodies and is_optimizable(func):
                with rewriting(func, gv.name_hint):
                    out.functions[gv] = rewrite(func, rules)
        for name in bodies:
            report_function("remove function", "it is inlined", name, mod[name], None)
            del out[name]
        return typed_as(mod, out)


def _without_composites(func: Function, name: str, copies: list[dict[Expr, Expr]]) -> Function:
    """`func` with its composite functions inlined. `copies` receives the copied nodes."""
    if "Compiler" not in func.attrs:
        raise PassError(f"@{name} has no Compiler, so it is not an external function to inline")

    def inline(pre: Any, post: Any) -> Expr:
        if not (isinstance(post, Call) and isinstance(post.op, Function)):
            return post
        if "Composite" not in post.op.attrs:
            raise PassError(
                f"@{name} calls a closure that is not a composite function; only these are inlined"
            )
        copied: dict[Expr, Expr] = {}
        copies.append(copied)
        return applied(post, copied)

    memo: dict[Expr, Expr] = {}
    copies.append(memo)
    return func.replace(body=rebuild(func.body, inline, memo=memo))
