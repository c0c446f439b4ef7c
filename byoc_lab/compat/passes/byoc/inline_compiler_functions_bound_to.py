"""InlineCompilerFunctionsBoundTo: chosen external functions go back to where they are called."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.framework.hook import report_function, rewriting
from byoc_lab.passes.framework.passes import ModulePass, PassContext, is_optimizable, typed_as
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import applied, rebuild, substitute


class InlineCompilerFunctionsBoundTo(ModulePass):
    """Chosen external functions go back to where they are called.

    `@a_0(%x)` -> the body of `@a_0` over `%x`, in which the calls of composite functions have
    become what these compute as well: nothing is left of the partition. The functions leave the
    module.

    Source: src/relay/transforms/compiler_function_utils.cc of TVM 0.16.
    """

    def __init__(self, global_vars: Sequence[GlobalVar | str] = ()):
        self.names = [g if isinstance(g, str) else g.name_hint for g in global_vars]

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        out = mod.copy()
        bodies = {name: _without_composites(mod[name], name) for name in self.names if name in mod}

        def called(pre: Any, post: Any) -> Expr | None:
            if not isinstance(post, Call) or not isinstance(post.op, GlobalVar):
                return None
            func = bodies.get(post.op.name_hint)
            if func is None:
                return None
            return substitute(func.body, dict(zip(func.params, post.args, strict=True)))

        rules = [
            RewriteRule("inline", "the external function is one of those to be undone", called)
        ]
        for gv, func in mod.functions.items():
            if gv.name_hint not in bodies and is_optimizable(func):
                with rewriting(func, gv.name_hint):
                    out.functions[gv] = rewrite(func, rules)
        for name in bodies:
            report_function("remove function", "it is where it was called", name, mod[name], None)
            del out[name]
        return typed_as(mod, out)


def _without_composites(func: Function, name: str) -> Function:
    """`func` with the bodies of composite functions where these were called."""
    if "Compiler" not in func.attrs:
        raise PassError(f"@{name} has no Compiler: it is no external function that can be undone")

    def inline(pre: Any, post: Any) -> Expr:
        if not (isinstance(post, Call) and isinstance(post.op, Function)):
            return post
        if "Composite" not in post.op.attrs:
            raise PassError(
                f"@{name} calls a closure that is no composite function; only these are inlined"
            )
        return applied(post)

    return func.replace(body=rebuild(func.body, inline))
