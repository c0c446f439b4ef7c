"""Inline: functions marked `Inline=1` are inlined at their call sites, then removed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.framework.hook import copies_in, report_function, rewriting
from byoc_lab.passes.framework.passes import ModulePass, PassContext, typed_as
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, substitute


class Inline(ModulePass):
    """Inline functions marked `Inline=1` at their call sites, then remove them.

    `@f(%x)` with `def @f(%p, Inline=1) { abs(%p) }` -> `abs(%x)`. A function of another compiler
    becomes a closure that is called in place, `fn (%p, Compiler="A", ...) { abs(%p) }(%x)`, and so
    does one that is used as a value. A function is inlined only if it refers to no global function
    after its own callees were inlined; recursive functions and functions without a call stay.

    Source: src/relay/transforms/inline.cc of TVM 0.16, which fails if another function calls the
    function twice, or uses it as a value; here both cases are inlined."""

    opt_level = 1

    @property
    def name(self) -> str:
        return "InlineGlobals"

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        mentions = {gv: _globals_in(func, mod) for gv, func in mod.functions.items()}
        out = mod.copy()
        inlined: dict[Expr, Function] = {}
        for gv in _callees_first(mentions):
            if any(g in inlined for g in mentions[gv]):
                with rewriting(out[gv], gv.name_hint):
                    out.functions[gv] = _inline_into(out[gv], inlined)
            if out[gv].attrs.get("Inline") and not _globals_in(out[gv], mod):
                inlined[gv] = out[gv]
        called = {g for found in mentions.values() for g in found}
        for gv, func in mod.functions.items():
            if not func.attrs.get("Inline") or gv not in called or gv in mentions[gv]:
                continue
            if gv not in inlined:
                others = ", ".join(f"@{g.name_hint}" for g in _globals_in(out[gv], mod))
                raise PassError(
                    f"@{gv.name_hint} is marked Inline, but calls {others}, which cannot be "
                    f"inlined: also mark these, or remove the mark"
                )
            reason = "its body is inlined at the call"
            report_function("remove function", reason, gv.name_hint, out[gv], None)
            del out[gv]
        return typed_as(mod, out)


def _inline_into(func: Function, inlined: dict[Expr, Function]) -> Function:
    def called(pre: Any, post: Any) -> Expr | None:
        # A marked global function is a closure by now, whether it is called or not.
        if not isinstance(pre, Call) or pre.op not in inlined:
            return None
        callee = inlined[pre.op]
        if "Compiler" in callee.attrs:
            return None
        copied: dict[Expr, Expr] = {}
        body = substitute(callee.body, dict(zip(callee.params, post.args, strict=True)), copied)
        copies_in(copied)
        return body

    def mentioned(pre: Any, post: Any) -> Expr | None:
        return inlined.get(pre)

    rules = (
        RewriteRule("inline", "the function is marked, and calls no other", called),
        RewriteRule(
            "inline as closure", "the function is marked, and has a compiler or no call", mentioned
        ),
    )
    return rewrite(func, rules)


def _globals_in(func: Function, mod: IRModule) -> list[GlobalVar]:
    """The module's functions that `func` refers to, by the module's own variables."""
    found = [n for n in post_order(func) if isinstance(n, GlobalVar) and n in mod]
    return [mod.get_global_var(n) for n in found]


def _callees_first(mentions: dict[GlobalVar, list[GlobalVar]]) -> Iterator[GlobalVar]:
    """The functions with callees first, as far as they do not refer to each other."""
    seen: set[GlobalVar] = set()
    stack = [(gv, False) for gv in reversed(mentions)]
    while stack:
        gv, done = stack.pop()
        if done:
            yield gv
        elif gv not in seen:
            seen.add(gv)
            stack.append((gv, True))
            stack += [(g, False) for g in reversed(mentions[gv])]
