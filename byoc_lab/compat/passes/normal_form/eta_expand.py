"""EtaExpand: replaces constructors and global functions used as values by functions."""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.framework.hook import rewriting
from byoc_lab.passes.framework.passes import ModulePass, PassContext
from byoc_lab.passes.framework.rewrite import RewriteRule, rewrite
from byoc_lab.relay.ir.adt import Constructor
from byoc_lab.relay.ir.expr import Call, Expr, Function, GlobalVar, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import Type, TypeCall, TypeVar, replace
from byoc_lab.relay.ir.visit import post_order

PARAMETER = "eta_expand_param"


class EtaExpand(ModulePass):
    """Replaces constructors and global functions used as values by functions.

    `@map(Cons, %xs)` -> `@map(fn [A](%p: A, %q: List[A]) { Cons(%p, %q) }, %xs)`. A called
    constructor is unchanged; a global function is also wrapped if it is called, as in TVM.

    Raises PassError if neither option is set. New nodes have no types yet.

    Source: src/relay/transforms/eta_expand.cc of TVM 0.16.
    """

    opt_level = 1

    def __init__(self, expand_constructor: bool = False, expand_global_var: bool = False):
        self.expand_constructor = expand_constructor
        self.expand_global_var = expand_global_var

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        if not self.expand_constructor and not self.expand_global_var:
            raise PassError(
                "EtaExpand has nothing to expand: set expand_constructor=True or "
                "expand_global_var=True"
            )
        out = mod.copy()
        wrapped: dict[Any, Function] = {}  # one function per constructor or global function
        for gv, func in mod.functions.items():
            with rewriting(func, gv.name_hint):
                out.functions[gv] = self._expand(func, mod, wrapped)
        return out

    def _expand(self, func: Function, mod: IRModule, wrapped: dict[Any, Function]) -> Function:
        def constructor(pre: Any, post: Any) -> Expr | None:
            if not isinstance(pre, Constructor) or pre not in values:
                return None
            if pre.identity not in wrapped:
                wrapped[pre.identity] = _of_constructor(pre, mod)
            return wrapped[pre.identity]

        def called(pre: Any, post: Any) -> Expr | None:
            if not isinstance(pre, Call) or not isinstance(pre.op, Constructor):
                return None
            if post.op is pre.op:
                return None
            return Call(pre.op, post.args, post.attrs, post.type_args, post.span)

        def global_function(pre: Any, post: Any) -> Expr | None:
            if not isinstance(pre, GlobalVar) or pre not in mod:
                return None
            if pre.name_hint not in wrapped:
                wrapped[pre.name_hint] = _of_function(pre, mod)
            return wrapped[pre.name_hint]

        values = _constructors_as_values(func)
        rules = []
        if self.expand_constructor:
            rules += [
                RewriteRule("expand constructor", "it is used as a value", constructor),
                RewriteRule("keep constructor", "it is called", called),
            ]
        if self.expand_global_var:
            reason = "global functions are to be wrapped"
            rules.append(RewriteRule("expand global function", reason, global_function))
        return rewrite(func, rules)


def _constructors_as_values(func: Function) -> set[Expr]:
    """The constructors that `func` uses other than as a callee."""
    found: set[Expr] = set()
    for node in post_order(func):
        below = node.args if isinstance(node, Call) else node.parts()
        found.update(p for p in below if isinstance(p, Constructor))
    return found


def _of_constructor(constructor: Constructor, mod: IRModule) -> Function:
    variables = mod[constructor.belong_to].type_vars
    fresh: dict[Type, Type] = {v: TypeVar("A") for v in variables}
    params = [Var(PARAMETER, replace(t, fresh)) for t in constructor.inputs]
    result = TypeCall(constructor.belong_to, list(fresh.values()))
    return Function(params, Call(constructor, params), result, list(fresh.values()))


def _of_function(gv: GlobalVar, mod: IRModule) -> Function:
    func = mod[gv]
    params = [Var(PARAMETER, p.type_annotation) for p in func.params]
    return Function(params, Call(gv, params), func.ret_type, func.type_params, func.attrs)
