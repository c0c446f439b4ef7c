"""InlineRegions: inlines regions that are not worth a call."""

from __future__ import annotations

from collections.abc import Callable

from byoc_lab.passes.byoc.remove_unused_functions import RemoveUnusedFunctions
from byoc_lab.passes.framework.hook import copies_in, is_heard, keeps_in, report, rewriting
from byoc_lab.passes.framework.passes import ModulePass, PassContext
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import rebuild, substitute
from byoc_lab.relay.typing.infer import infer_module


class InlineRegions(ModulePass):
    """Inline external functions of one compiler into @main, so that the host computes them.

    compiler: the compiler whose functions are considered. why: why(function) returns the reason (a
    sentence) for inlining a function, or None to keep it external.
    """

    required = ("InferType",)

    def __init__(self, compiler: str, why: Callable[[Function], str | None]):
        super().__init__()
        self.compiler, self.why = compiler, why

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        reasons = {
            gv: self.why(f)
            for gv, f in mod.functions.items()
            if f.attrs.get("Compiler") == self.compiler
        }
        refused = {gv: reason for gv, reason in reasons.items() if reason is not None}
        if not refused:
            return mod
        out = mod.copy()
        main = mod["main"]
        made: dict[Expr, Expr] = {}

        def inline(pre: Expr, post: Expr) -> Expr:
            callee = pre.op if isinstance(pre, Call) else None
            if not isinstance(callee, GlobalVar) or callee not in refused:
                return post
            assert isinstance(post, Call)
            function = mod[callee]
            copied: dict[Expr, Expr] = {}
            arguments = dict(zip(function.params, post.args, strict=True))
            body = substitute(function.body, arguments, copied)
            copies_in(copied)
            if is_heard():
                report("inline region", f"@{callee.name_hint} {refused[callee]}", pre, body)
            return body

        with rewriting(main, "main"):
            keeps_in(made)
            new = rebuild(main, inline, memo=made)
        assert isinstance(new, Function)
        out["main"] = new
        return infer_module(RemoveUnusedFunctions()(out))
