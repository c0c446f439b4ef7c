"""FirstOrderGradient: each function gives its result and the gradient for each parameter.

    fn (%x) { exp(%x) }   ->   fn (%x) {
                                 let %x_0 = %x; let %x_1 = zeros_like(%x_0);
                                 let %x_2 = exp(%x_0); let %x_3 = zeros_like(%x_2);
                                 (%x_2, (let %x_4 = add(%x_1, multiply(ones_like(%x_2), %x_2));
                                         (%x_4,)))
                               }

Forward, every value gets a name, and an adjoint that starts as zeros. Backward, each operation adds
to the adjoints of what it was made of. Names make sure that nothing is computed twice.

Source: src/relay/transforms/first_order_gradient.cc of TVM 0.16, where a literal function that is
called twice gives the first call's result for both; here each call has its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.base import ModulePass, PassContext
from byoc_lab.passes.hook import report, rewriting
from byoc_lab.passes.let_list import LetList
from byoc_lab.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    Op,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
)
from byoc_lab.relay.infer import infer_module
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.op.gradients import adjoints
from byoc_lab.relay.op.namespace import function as builder
from byoc_lab.relay.types import TensorType, TupleType, Type
from byoc_lab.relay.visit import applied, post_order, rebuild


class FirstOrderGradient(ModulePass):
    """Make every function `fn (params) -> (result, (gradient for each param, ...))`.

    The gradient is that of the sum of all elements of the result. For functions of tensors and
    tuples of tensors, made of operators, tuples and literal functions that are called. Raises
    PassError for everything else, for type parameters, and for an operator without a gradient.
    What is new has no types yet.
    """

    def run(self, mod: IRModule, ctx: PassContext) -> IRModule:
        out = mod.copy()
        for gv, func in mod.functions.items():
            out.functions[gv] = rebuild(func, _without_literals)
        typed = infer_module(out)
        for gv, func in mod.functions.items():
            with rewriting(func, gv.name_hint):
                new = _differentiated(typed[gv])
                report("differentiate", "a gradient for each parameter", func, new)
                out.functions[gv] = new
        return out


def _without_literals(pre: Expr, post: Expr) -> Expr:
    return applied(post) if isinstance(post, Call) and isinstance(post.op, Function) else post


@dataclass
class _Value:
    """How a value is computed in the result, the name it has there, and its adjoint so far."""

    made: Expr
    name: Var
    adjoint: Expr


def _differentiated(func: Function) -> Function:
    if func.type_params:
        raise PassError(f"FirstOrderGradient needs functions without type parameters: {func}")
    for node in post_order(func.body):
        if not isinstance(node, (Call, Constant, Op, Tuple, TupleGetItem, Var)):
            raise PassError(
                f"FirstOrderGradient is for graphs of operator calls, found {node.in_words()}: "
                f"take functions and lets out first (relay.transform.Inline, ToGraphNormalForm); "
                f"branches and data types have no gradient"
            )
    outer = LetList()
    values: dict[Expr, _Value] = {}

    order = [n for n in post_order(func.body) if not isinstance(n, (Op, Var))]
    for node in [*func.params, *order]:
        made = _over_names(node, values)
        name = outer.name(made, node.checked_type)
        values[node] = _Value(made, name, outer.name(_like(name, "zeros")))
    result = values[func.body]
    result.adjoint = _like(result.name, "ones")
    inner = LetList(outer.numbers)
    for node in reversed(order):
        _backward(node, values, inner)
    gradients = inner.close(Tuple([values[p].adjoint for p in func.params]))
    ty = func.checked_type
    return func.replace(
        body=outer.close(Tuple([result.name, gradients])),
        ret_type=TupleType([ty.ret_type, TupleType(ty.arg_types)]),
    )


def _over_names(node: Expr, values: dict[Expr, _Value]) -> Expr:
    """`node` over the names of its parts, typed as it was."""
    if isinstance(node, Var):
        return node
    parts = [p if isinstance(p, Op) else values[p].name for p in node.parts()]
    return node.with_parts(parts).with_type(node.checked_type)


def _backward(node: Expr, values: dict[Expr, _Value], lets: LetList) -> None:
    """Add to the adjoints of the parts of `node` what that of `node` says of them."""
    adjoint = values[node].adjoint

    def add(part: Expr, more: Expr) -> None:
        value = values[part]
        value.adjoint = _sum(value.adjoint, more, part.checked_type, lets)

    if isinstance(node, Call):
        call: Any = values[node].made
        for part, more in zip(node.args, adjoints(call, adjoint), strict=True):
            add(part, _tuple_of(more))
    elif isinstance(node, Tuple):
        for index, part in enumerate(node.fields):
            add(part, TupleGetItem(adjoint, index))
    elif isinstance(node, TupleGetItem):
        whole = values[node.tuple_value]
        types = node.tuple_value.checked_type.fields
        fields: list[Expr] = [TupleGetItem(whole.adjoint, n) for n in range(len(types))]
        fields[node.index] = _sum(fields[node.index], adjoint, types[node.index], lets)
        whole.adjoint = lets.name(Tuple(fields))


def _sum(a: Expr, b: Expr, ty: Type, lets: LetList) -> Var:
    """The name of a + b, field by field."""
    if not isinstance(ty, TupleType):
        return lets.name(builder("add")(a, b))
    fields = []
    for n, field in enumerate(ty.fields):
        second = lets.name(TupleGetItem(b, n))  # before the first: TVM's order
        fields.append(_sum(lets.name(TupleGetItem(a, n)), second, field, lets))
    return lets.name(Tuple(fields))


def _tuple_of(adjoint: Expr | TupleWrapper | Sequence[Any]) -> Expr:
    """The adjoint of an argument, which a rule may give as its fields."""
    if isinstance(adjoint, TupleWrapper):
        return adjoint.tuple_value
    return adjoint if isinstance(adjoint, Expr) else Tuple([_tuple_of(a) for a in adjoint])


def _like(name: Var, fill: str) -> Expr:
    """Zeros or ones, of the type of `name`."""

    def of(ty: Type) -> Expr:
        if isinstance(ty, TupleType):
            return Tuple([of(field) for field in ty.fields])
        if not isinstance(ty, TensorType) or not ty.is_static:
            raise PassError(
                f"FirstOrderGradient is for tensors, in tuples of known shape; found "
                f"{name.checked_type}"
            )
        made: Expr = builder(fill)(ty.concrete_shape, ty.dtype)
        return made

    ty = name.checked_type
    return builder(f"{fill}_like")(name) if isinstance(ty, TensorType) else of(ty)
