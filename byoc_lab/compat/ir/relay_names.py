"""Names of `tvm.relay` that byoc_lab.relay itself does not need."""

from __future__ import annotations

from typing import Any

from byoc_lab.compat.ir.prelude import Prelude
from byoc_lab.compat.ir.scope_builder import ScopeBuilder
from byoc_lab.compat.ir.type_functor import TypeFunctor, TypeMutator, TypeVisitor
from byoc_lab.compat.runtime.params import load_param_dict, save_param_dict
from byoc_lab.compat.text.parser import SpanCheck, fromtext, parse, parse_expr
from byoc_lab.passes import PassContext
from byoc_lab.passes.byoc.partition_graph import mangle_module_name
from byoc_lab.passes.fold.fold_constant import folded
from byoc_lab.relay.ir.expr import Expr
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.node_code import NODE_CODE

build_config = PassContext
ExprWithOp = Expr


def FoldConstantExpr(expr: Expr, mod: IRModule, fold_qnn: bool = False) -> Expr:
    """Evaluates the constant subexpressions of an expression that is not part of a function in
    `mod` yet."""
    return folded(expr, fold_qnn)


def astext(expr: Any, unified_symbols: bool = True, annotate: Any = None) -> str:
    """A module or expression as text that TVM can parse, including metadata."""
    return NODE_CODE().print_text(expr, annotate=annotate, for_tvm=True)


def pretty_print(obj: Any) -> str:
    """A module or expression as text, without metadata."""
    return NODE_CODE().print_text(obj, show_meta_data=False)


__all__ = [
    "ExprWithOp", "FoldConstantExpr", "Prelude", "ScopeBuilder", "SpanCheck", "TypeFunctor",
    "TypeMutator", "TypeVisitor", "astext", "build_config", "fromtext", "load_param_dict",
    "mangle_module_name", "parse", "parse_expr", "pretty_print", "save_param_dict",
]  # fmt: skip
