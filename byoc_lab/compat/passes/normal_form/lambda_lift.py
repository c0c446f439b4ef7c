"""LambdaLift: replaces closures by global functions."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Any

from byoc_lab.passes.framework.hook import report_function, rewriting
from byoc_lab.passes.framework.passes import ModulePass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.analysis.queries import free_type_vars, free_vars
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.analysis.structural_hash import structural_hash
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, Let, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.visit import post_order, substitute
from byoc_lab.relay.typing.infer import infer_module


class LambdaLift(ModulePass):
    """Replaces closures by global functions.

    A function without captured variables becomes a global function, `let %f = fn     (%x) { abs(%x)
    }` -> `let %f = @lifted_name0`. A function with captured variables is wrapped in a global
    function of these variables, which is marked `Closure=1` and called in place of the closure:
    `@lifted_name1(%a)`,     with `def     @lifted_name1(%a, Closure=1) { fn (%x) { add(%x, %a) }
    }`. If a closure calls itself by its let-bound name, it calls the global function instead. Equal
    closures are lifted once.

    Source: src/relay/backend/vm/lambda_lift.cc of TVM 0.16, with these differences: TVM numbers the
    names by a hash; it leaves a free variable if a recursive closure is also used as a value; and
    it does not call a closure that captures only type variables, which is ill-typed. Here both
    closures are called.
    """

    opt_level = 1

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        if not all(func.is_typed for func in mod.functions.values()):
            mod = infer_module(mod)
        out = mod.copy()
        lifter = _Lifter(out)
        for gv, func in mod.functions.items():
            if "Compiler" not in func.attrs and not func.attrs.get("Primitive"):
                with rewriting(func, gv.name_hint):
                    out.functions[gv] = lifter.lift_all_in(func)
        return out


class _Lifter:
    def __init__(self, out: IRModule):
        self.out = out
        self.names = _unused_names(out)
        self.lifted: dict[int, list[tuple[Function, Expr]]] = {}  # key: structural hash

    def lift_all_in(self, root: Function) -> Function:
        own_names: dict[Expr, list[Var]] = {}
        for node in post_order(root):
            if isinstance(node, Let):
                own_names.setdefault(node.value, []).append(node.var)

        def lift(pre: Any, post: Any) -> Expr | None:
            if not isinstance(pre, Function) or pre is root:
                return None
            return self._lift(pre, post, own_names.get(pre, []))

        def enter(node: Expr) -> bool:
            return not isinstance(node, Function) or not node.attrs.get("Primitive")

        rule = RewriteRule("lift", "a global function gets captured values as arguments", lift)
        return rewrite(root, [rule], enter)

    def _lift(self, pre: Function, post: Function, own: list[Var]) -> Expr | None:
        """The replacement of the closure `pre`; `post` is `pre` after inner closures were lifted.

        own: the variables by which the closure calls itself.
        """
        if pre.attrs.get("Primitive"):
            return None
        known = self.lifted.setdefault(structural_hash(pre), [])
        for other, stands in known:
            if structural_equal(pre, other):  # separate calls: the closures were not shared
                return Call(stands.op, stands.args) if isinstance(stands, Call) else stands
        captured = [v for v in free_vars(pre) if v not in own]
        type_vars = free_type_vars(pre, self.out)
        gv = GlobalVar(next(self.names))
        stands = Call(gv, captured) if captured or type_vars else gv
        body = substitute(post.body, dict.fromkeys(own, stands))
        if isinstance(stands, GlobalVar):
            func = post.replace(body=body)
        else:
            params = [Var(v.name_hint, v.checked_type) for v in captured]
            inside = dict(zip(captured, params, strict=True))
            closure = post.replace(body=substitute(body, inside))
            func = Function(params, closure, pre.checked_type, type_vars, {"Closure": 1}, pre.span)
        self.out[gv] = func
        report_function("add function", "a closure is lifted", gv.name_hint, None, func)
        known.append((pre, stands))
        return stands


def _unused_names(mod: IRModule) -> Iterator[str]:
    """lifted_name0, lifted_name1, ..., without names that the module already has."""
    return (name for name in (f"lifted_name{n}" for n in count()) if name not in mod)
