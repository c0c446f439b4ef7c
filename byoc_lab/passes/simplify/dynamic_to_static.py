"""DynamicToStatic: operators whose shapes are arguments take them as attributes, where known."""

from __future__ import annotations

from typing import Any

from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.framework.passes import FunctionPass, ModulePass, PassContext
from byoc_lab.passes.framework.rewrite import rewrite, rule
from byoc_lab.relay.ir.expr import Expr, Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.op.tensor.dyn import WITH_STATIC_FORM, has_static_form, static_form
from byoc_lab.relay.typing.infer import infer_module


class DynamicToStatic(ModulePass):
    """Operators whose shapes are arguments take them as attributes, where known.

    dyn.reshape(%x, shape_of(%y)) -> reshape(%x, newshape=[2, 3]), if %y is 2 x 3

    FoldConstant folds known shapes to constants, and each operator that becomes static makes more
    shapes known; so the two steps alternate until nothing changes.

    Source: src/relay/transforms/dynamic_to_static.cc of TVM 0.16.
    """

    opt_level = 2
    replaces = tuple(sorted(WITH_STATIC_FORM))

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        mod = _FoldShapes()(infer_module(mod))
        while (made := _ToStatic()(mod)) is not mod:
            mod = _FoldShapes()(made)
        return FoldConstant()(mod)


class _FoldShapes(FoldConstant):
    """FoldConstant, except for dynamic operators, which become static operators instead of
    constants."""

    @property
    def name(self) -> str:
        return "FoldConstant"

    def _evaluate(self, pre: Expr, post: Expr) -> Expr | None:
        return None if has_static_form(post) else super()._evaluate(pre, post)


class _ToStatic(FunctionPass):
    """One rewriting traversal."""

    @property
    def name(self) -> str:
        return "ToStatic"

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        return rewrite(func, [to_static, forget_result])


@rule("to static", "its argument is a constant, so it becomes an attribute")
def to_static(pre: Any, post: Any) -> Expr | None:
    return static_form(post) if has_static_form(post) else None


@rule("forget result type", "its return type is inferred again, with known shapes")
def forget_result(pre: Any, post: Any) -> Expr | None:
    changed = isinstance(post, Function) and post is not pre
    return post.replace(ret_type=None) if changed and post.ret_type is not None else None
