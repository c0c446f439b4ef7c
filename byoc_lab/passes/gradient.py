"""`gradient`: a function made one that gives its result and the gradient for each parameter.

Reverse accumulation over the dataflow graph, and over the graphs of branches.

Source: `relay.transform.gradient` of TVM 0.16, whose results are closures over references; the
values are the same here, and the results, which are ordinary functions, can be differentiated
again too. Mode "first_order" is FirstOrderGradient.
"""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import PassError
from byoc_lab.passes.base import Pass
from byoc_lab.passes.dead_code_elimination import DeadCodeElimination
from byoc_lab.passes.first_order_gradient import FirstOrderGradient
from byoc_lab.passes.infer_type import InferType
from byoc_lab.passes.partial_evaluate import PartialEvaluate
from byoc_lab.passes.to_basic_block_normal_form import ToBasicBlockNormalForm
from byoc_lab.passes.to_graph_normal_form import ToGraphNormalForm
from byoc_lab.relay.adt import Match
from byoc_lab.relay.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Op,
    RefCreate,
    RefRead,
    Tuple,
    TupleGetItem,
    TupleWrapper,
    Var,
)
from byoc_lab.relay.module import IRModule
from byoc_lab.relay.op.gradients import adjoints
from byoc_lab.relay.op.namespace import function as builder
from byoc_lab.relay.rules import RecursiveRule, run
from byoc_lab.relay.types import TupleType, Type
from byoc_lab.relay.visit import post_order

MODES = ("first_order", "higher_order")


def gradient(
    expr: Function | GlobalVar, mod: IRModule | None = None, mode: str = "higher_order"
) -> Function:
    """`fn (params) -> (result, (gradient for each param, ...))` of a function of tensors.

    expr: a function, or the name of one of `mod`. The gradient is that of the sum of all elements
    of the result. Functions, references and data are worked out first (PartialEvaluate). Raises
    PassError for an operator without a gradient, and where more than operators and branches on
    tensors is left.
    """
    if mode not in MODES:
        raise PassError(f"mode must be one of {', '.join(MODES)}, found {mode!r}")
    if isinstance(expr, GlobalVar) and mod is not None:
        expr = mod.functions[mod.get_global_var(expr)]
    if not isinstance(expr, Function):
        raise PassError(
            f"gradient takes a relay.Function, or with a module a GlobalVar, found "
            f"{type(expr).__name__}"
        )
    if mode == "first_order":
        if mod is not None:
            raise PassError("for a module run relay.transform.FirstOrderGradient()")
        (made,) = FirstOrderGradient()(IRModule.from_expr(expr)).functions.values()
        return made
    whole = IRModule() if mod is None else mod.copy()
    whole["main"] = expr
    for step in [InferType(), *_steps_to_a_graph(expr)]:
        whole = step(whole)
    main = whole["main"]
    for node in post_order(main.body):
        if isinstance(node, RefRead):  # what is written to it may have been dropped
            raise PassError("gradient needs to know what references hold, found one that is not")
    reverse = run(_reverse(main.body, _ones(main.body)))
    found = [_joined(reverse.of(p), p) for p in main.params]
    made = Function(main.params, Tuple([main.body, Tuple(found)]), None, main.type_params)
    # The branches of the way back share values with each other and with those of the way there.
    return ToBasicBlockNormalForm()(IRModule({"main": made}))["main"]


def _steps_to_a_graph(func: Function) -> list[Pass]:
    kinds = {type(node) for node in post_order(func.body)}
    graph: list[Pass] = [ToGraphNormalForm(), InferType()]
    if kinds & {Function, GlobalVar, Match, RefCreate}:
        # What is written to references that nobody reads has no effect any more.
        needed = DeadCodeElimination(ignore_impurity=True)
        return [PartialEvaluate(), InferType(), needed, *graph]
    return graph if Let in kinds else []


def _reverse(root: Expr, adjoint: Any) -> RecursiveRule:
    """The adjoints of what `root` is made of, given its own."""
    found = _Adjoints()
    found.add(root, adjoint)
    for node in reversed(list(post_order(root, enter=lambda n: not isinstance(n, If)))):
        value = found.of(node)
        if isinstance(node, If) and value is not None:
            one = yield _reverse(node.true_branch, value)
            other = yield _reverse(node.false_branch, value)
            found.join(node, one, other)
        else:
            found.pass_on(node)
    return found


class _Adjoints:
    """The adjoint of each node so far: an expression; of a tuple, a list of its fields'.

    None stands for zero.
    """

    def __init__(self) -> None:
        self._found: dict[Expr, Any] = {}

    def of(self, node: Expr) -> Any:
        return self._found.get(node)

    def add(self, node: Expr, value: Any) -> None:
        self._found[node] = _sum(self.of(node), _fields(value, node.checked_type))

    def join(self, branch: If, one: _Adjoints, other: _Adjoints) -> None:
        """Add those of the variables that a branch uses, of the side that is taken."""
        used = dict.fromkeys(v for v in (*one._found, *other._found) if isinstance(v, Var))
        if used:
            sides = [Tuple([_joined(side.of(v), v) for v in used]) for side in (one, other)]
            taken = If(branch.cond, sides[0], sides[1])
            for index, v in enumerate(used):
                self.add(v, TupleGetItem(taken, index))

    def pass_on(self, node: Expr) -> None:
        """Give the adjoint of a node to the nodes that it is made of."""
        value = self.of(node)
        if value is None or isinstance(node, (Var, Constant)):
            return
        if isinstance(node, Tuple):
            for field, part in zip(node.fields, value, strict=True):
                if part is not None:
                    self.add(field, part)
        elif isinstance(node, TupleGetItem):
            parts: list[Any] = [None] * len(node.tuple_value.checked_type.fields)
            parts[node.index] = value
            self.add(node.tuple_value, parts)
        elif isinstance(node, Call) and isinstance(node.op, Op):
            found = adjoints(node, _joined(value, node))
            for argument, part in zip(node.args, found, strict=True):
                self.add(argument, part)
        else:
            raise PassError(
                f"gradient is for operators and branches on tensors, found {node.in_words()}: "
                f"functions, references and data must be known without the arguments"
            )


def _fields(value: Any, ty: Type) -> Any:
    """The adjoint of a tuple as a list of its fields', down to tensors."""
    if isinstance(value, TupleWrapper):
        value = value.tuple_value
    if not isinstance(ty, TupleType) or value is None:
        return value
    if isinstance(value, Tuple):
        parts = list(value.fields)
    elif isinstance(value, Expr):
        parts = [TupleGetItem(value, n) for n in range(len(ty.fields))]
    else:
        parts = value
    return [_fields(p, t) for p, t in zip(parts, ty.fields, strict=True)]


def _sum(a: Any, b: Any) -> Any:
    if a is None or b is None:
        return b if a is None else a
    if isinstance(a, list):
        return [_sum(x, y) for x, y in zip(a, b, strict=True)]
    return builder("add")(a, b)


def _joined(value: Any, node: Expr) -> Expr:
    """The adjoint as one expression; zeros where it is zero."""
    if isinstance(node.checked_type, TupleType):
        count = len(node.checked_type.fields)
        parts = [None] * count if value is None else value
        return Tuple([_joined_field(p, node, n) for n, p in enumerate(parts)])
    made: Expr = builder("zeros_like")(node) if value is None else value
    return made


def _joined_field(value: Any, node: Expr, index: int) -> Expr:
    field = node.fields[index] if isinstance(node, Tuple) else TupleGetItem(node, index)
    field_type = node.checked_type.fields[index]
    if isinstance(field_type, TupleType):
        raise PassError(f"gradient takes tuples of tensors, found {node.checked_type}")
    made: Expr = builder("zeros_like")(field) if value is None else value
    return made


def _ones(result: Expr) -> Any:
    ty = result.checked_type
    if not isinstance(ty, TupleType):
        return builder("ones_like")(result)
    parts = (
        result.fields[n] if isinstance(result, Tuple) else TupleGetItem(result, n)
        for n in range(len(ty.fields))
    )
    return [builder("ones_like")(part) for part in parts]


__all__ = ["MODES", "gradient"]
