"""`tvm.relay.frontend.common`: helpers of the importers that scripts use in passes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from byoc_lab.compat.ir import with_fields
from byoc_lab.compat.ir.relay_names import FoldConstantExpr
from byoc_lab.compat.runtime import nd
from byoc_lab.passes import InferType, PassContext
from byoc_lab.relay.analysis.queries import free_vars
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    If,
    Let,
    Op,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
    var,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.span import SourceName, Span
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import rebuild
from byoc_lab.run.reference import evaluate


def new_var(
    name_hint: str, type_annotation: Any = None, shape: Any = None, dtype: str = "float32"
) -> Var:
    """`relay.var`, as the importers call it."""
    return var(name_hint, type_annotation, shape, dtype)


def infer_type(node: Expr, mod: IRModule | None = None) -> Any:
    """`node` with inferred types; it may contain free variables. `mod` has the functions that it
    calls.

    Raises TypeInferenceError.
    """
    functions = {gv: f for gv, f in mod.functions.items() if gv.name_hint != "main"} if mod else {}
    definitions = mod.type_definitions if mod else None
    typed = InferType()(IRModule.from_expr(node, functions, definitions))["main"]
    return typed if isinstance(node, Function) else typed.body


def infer_shape(inputs: Expr, mod: IRModule | None = None) -> Any:
    """The shape of a tensor as ints (`relay.Any` if unknown); for other values, the type."""
    ty = infer_type(inputs, mod).checked_type
    if not isinstance(ty, TensorType):
        return ty
    return tuple(int(d) if isinstance(d, int) else d for d in ty.shape)


def infer_channels(inputs: Expr, transpose: bool = False) -> int:
    """The number of output channels of a weight: its first dimension, its second if `transpose`."""
    shape = infer_shape(inputs)
    return int(shape[1 if transpose else 0])


def infer_value(
    input_val: Expr, params: Mapping[str, Any], mod: IRModule | None = None
) -> nd.HostArray:
    """The array value of `input_val`, with free variables bound by name to `params`.

    Computed by the reference; `mod` has the functions that it calls. Raises InputError for a
    variable that `params` lack.
    """
    free = free_vars(input_val)
    functions = {gv: f for gv, f in mod.functions.items() if gv.name_hint != "main"} if mod else {}
    definitions = mod.type_definitions if mod else None
    whole = InferType()(IRModule.from_expr(Function(free, input_val), functions, definitions))
    named = {var.name_hint: params[var.name_hint] for var in free if var.name_hint in params}
    return nd.array(evaluate(whole, named).outputs[0])


def fold_constant(node: Expr, mod: IRModule | None = None) -> Expr:
    """`node` with its constant subexpressions evaluated."""
    return FoldConstantExpr(node, IRModule() if mod is None else mod)


_WITH_FIELDS: dict[type, Callable[..., Any]] = {
    Call: with_fields.CallWithFields,
    Constant: with_fields.ConstantWithFields,
    Function: with_fields.FunctionWithFields,
    If: with_fields.IfWithFields,
    Let: with_fields.LetWithFields,
    Tuple: with_fields.TupleWithFields,
    TupleGetItem: with_fields.TupleGetItemWithFields,
    Var: with_fields.VarWithFields,
}


def set_span(sym: Any, span: str | bytes | Span) -> Any:
    """Sets the span of an expression, or of a list or tuple of expressions, to `span`.

    Every node gets the span, down to nodes that already have one. Nothing is changed if the setting
    "relay.frontend.fill_span" is off, or if `sym` is not an expression. Raises TypeError for nodes
    that no importer creates: references and matches.
    """
    if not PassContext.current().config.get("relay.frontend.fill_span", True):
        return sym
    if isinstance(span, bytes):
        span = span.decode()
    if not isinstance(span, Span):
        span = Span(SourceName(span), 0, 0, 0, 0)
    return _placed(sym, span, {})


def _placed(sym: Any, span: Span, memo: dict[Expr, Expr]) -> Any:
    def place(pre: Expr, post: Expr) -> Expr:
        if pre.span is not None or isinstance(pre, Op):
            return post
        if type(pre) not in _WITH_FIELDS:
            raise TypeError(f"set_span: {pre.summary()} cannot get a span")
        return _WITH_FIELDS[type(pre)](post, span=span)

    if isinstance(sym, TupleWrapper):
        return TupleWrapper(_placed(sym.tuple_value, span, memo), sym.size)
    if isinstance(sym, Expr):
        return rebuild(sym, place, lambda node: node.span is None, memo)
    if isinstance(sym, (list, tuple)):
        return type(sym)(_placed(each, span, memo) for each in sym)
    return sym


__all__ = [
    "fold_constant", "infer_channels", "infer_shape", "infer_type", "infer_value", "new_var",
    "set_span",
]  # fmt: skip
