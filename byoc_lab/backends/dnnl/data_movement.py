"""OffloadDataMovement: offloads operators that move data between DNNL operators.

An unrolled LSTM splits each dense result into gates, an attention reshapes and transposes between
its products, a ShuffleNet exchanges the channels of two halves. If the host ran these operators,
they would cut the network into many regions. TVM's DNNL leaves them to the host.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

from byoc_lab.backends.dnnl.operators import OPERATORS, why_not
from byoc_lab.backends.dnnl.patterns import is_computed
from byoc_lab.passes.framework.passes import (
    Composes,
    FunctionPass,
    PassContext,
    register_pass,
)
from byoc_lab.passes.framework.rewrite import rewrite, rule
from byoc_lab.relay.analysis.known_sizes import follows_from_inputs
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op import builder
from byoc_lab.relay.typing.infer import infer_expr

JOINS = ("concatenate", "stack")
KINDS = ("reshape", "transpose", "slice", "concat")  # native operations that only move data


def _inside(func: Function) -> dict[Expr, Function]:
    """The composite function of each node that only moves data between operators of DNNL."""
    nodes = list(post_order(func, enter=_is_outside))
    made: dict[Expr, Function] = {}
    computed: set[Expr] = set()
    for node in nodes:
        if is_computed(node):
            computed.add(node)
        elif _moves(node) and not computed.isdisjoint(_operands(node)) and _is_known(node, func):
            composite = _composite(node)
            if composite is not None:
                made[node] = composite
                computed.add(node)
    read: set[Expr] = set()
    for node in reversed(nodes):
        if node in made and node not in read and _name(node) not in JOINS:
            del made[node]
        elif node in computed:
            read.update(_operands(node))
    return made


def _is_outside(node: Expr) -> bool:
    return not (isinstance(node, Function) and "Composite" in node.attrs)


def _moved(node: Expr) -> Expr:
    """The call that moves data: `node` itself, or the split if `node` is a part of it."""
    return node.tuple_value if isinstance(node, TupleGetItem) else node


def _name(node: Expr) -> str:
    call = _moved(node)
    return call.op.name if isinstance(call, Call) and isinstance(call.op, Op) else ""


def _moves(node: Expr) -> bool:
    """Whether a node only moves data. For a split, its parts are these nodes, not the tuple."""
    name = _name(node)
    if (name == "split") != isinstance(node, TupleGetItem):
        return False
    return name in MOVED


def _is_known(node: Expr, func: Function) -> bool:
    """Whether the shape of the result is known when a region is compiled. A value that grows in a
    loop has no such shape."""
    ty = node.checked_type
    if isinstance(ty, TensorType) and ty.is_static:
        return True
    given = all(o in func.params for o in _operands(node) if isinstance(o, Var))
    return given and follows_from_inputs(node)


def _operands(node: Expr) -> list[Expr]:
    """The tensors that a node reads, without the index of a take."""
    call = _moved(node)
    assert isinstance(call, Call)
    args = call.args[:1] if call.is_op("take") else call.args
    return [f for arg in args for f in (arg.fields if isinstance(arg, Tuple) else [arg])]


def _composite(node: Expr) -> Function | None:
    """The composite function that computes a node with DNNL operators; None if there is none or
    DNNL refuses it."""
    params = [Var(f"x{n}", operand.checked_type) for n, operand in enumerate(_operands(node))]
    name, call = _name(node), _moved(node)
    assert isinstance(call, Call)
    if name in FORMS:
        body = FORMS[name](node, call.attrs, params)
    else:
        of_tuple = isinstance(call.args[0], Tuple)
        body = Call(call.op, [Tuple(params)] if of_tuple else params, call.attrs)
    if body is None:
        return None
    made = infer_expr(Function(params, body, attrs={"Composite": f"dnnl.{name}"}))
    assert isinstance(made, Function)
    refused = any(why_not(n) for n in post_order(made.body) if isinstance(n, Call))
    return None if refused else made


def _call(name: str, *args: Any, **attrs: Any) -> Expr:
    call: Expr = builder(Op.get(name))(*args, **attrs)
    return call


def _cut(data: Expr, axis: int, begin: int, end: int, step: int = 1) -> Expr:
    return _call("strided_slice", data, begin=[begin], end=[end], strides=[step], axes=[axis])


def _size(data: Var, axis: int) -> int | None:
    """The size of an axis; None if it is unknown."""
    ty = data.type_annotation
    assert isinstance(ty, TensorType)
    return n if isinstance(n := ty.shape[axis], int) else None


def _part(node: TupleGetItem, attrs: Any, params: Sequence[Var]) -> Expr | None:
    (data,), cuts = params, attrs.indices_or_sections
    length = _size(data, attrs.axis)
    if length is None:
        return None
    if isinstance(cuts, int):
        cuts = [n * (length // cuts) for n in range(1, cuts)]
    return _cut(data, attrs.axis, *list(pairwise([0, *cuts, length]))[node.index])


def _reversed(node: Call, attrs: Any, params: Sequence[Var]) -> Expr | None:
    (data,) = params
    length = _size(data, attrs.axis)
    return None if length is None else _cut(data, attrs.axis, length - 1, -length - 1, -1)


def _element(node: Call, attrs: Any, params: Sequence[Var]) -> Expr | None:
    """A take of one element along one axis, at a constant index."""
    (data,), index = params, node.args[1]
    if not isinstance(index, Constant) or index.numpy().ndim or attrs.axis is None:
        return None
    length, at = _size(data, attrs.axis), int(index.numpy())
    if attrs.batch_dims or length is None or not 0 <= at < length:
        return None
    return _call("squeeze", _cut(data, attrs.axis, at, at + 1), axis=[attrs.axis])


def _stacked(node: Call, attrs: Any, params: Sequence[Var]) -> Expr:
    fields = [_call("expand_dims", param, axis=attrs.axis) for param in params]
    return _call("concatenate", Tuple(fields), axis=attrs.axis)


FORMS: dict[str, Callable[[Any, Any, Sequence[Var]], Expr | None]] = {
    "split": _part,
    "reverse": _reversed,
    "take": _element,
    "stack": _stacked,
}
"""Data-moving operators that DNNL lacks, expressed with operators that it supports: (node,
attributes, operands) -> the form, or None."""
MOVED = frozenset((*FORMS, *(name for name, op in OPERATORS.items() if op.kind in KINDS)))
"""The operators that only move data."""


class OffloadDataMovement(FunctionPass):
    """Move operators that only move data into composite functions of DNNL, if DNNL computes both an
    operand and a user, directly or through other such operators. A concatenate or stack needs only
    an operand that DNNL computes, because it replaces several values by one.

    In the composites, parts of a split, elements of a take, reverses and stacks become slices,
    reshapes and concatenations, which DNNL supports.
    """

    required = ("InferType",)
    composes = (
        Composes("dnnl", JOINS, "DNNL computes one of its operands"),
        Composes(
            "dnnl", MOVED - {*JOINS}, "DNNL computes one of its operands and one of its users"
        ),
    )

    def run_function(self, func: Function, mod: IRModule, ctx: PassContext) -> Function:
        composites = _inside(func)
        if not composites:
            return func

        @rule("offload data movement", "DNNL computes the data that it moves")
        def move(pre: Expr, post: Expr) -> Expr | None:
            made = composites.get(pre)
            return Call(made, _operands(post), span=pre.span) if made else None

        moved: Function = rewrite(func, [move], _is_outside)
        return moved


register_pass("OffloadDataMovement", OffloadDataMovement)
