"""Batch norms that SimplifyInference decomposed, and folding them afterwards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

from byoc_lab.lab.linting.composites import unknown_targets
from byoc_lab.lab.linting.context import Context
from byoc_lab.lab.linting.edits import without_annotations
from byoc_lab.lab.linting.subject import Subject
from byoc_lab.passes.byoc.annotate_target import AnnotateTarget
from byoc_lab.passes.byoc.merge_compiler_regions import MergeCompilerRegions
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.context import PassContext
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import Sequential
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.analysis.annotations import skip_annotations
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order

BATCH_NORM = "nn.batch_norm"
DECOMPOSED = tuple(op for op in SimplifyInference.replaces if op != "nn.dropout")
"""The operators that SimplifyInference decomposes."""

_DEPTH = 6
"""The longest path of the decomposition from sqrt to the result: divide, multiply, multiply, add,
expand_dims, add."""


@cache
def _steps() -> frozenset[str]:
    """The operators of the decomposition other than sqrt."""
    norm = Op.get(BATCH_NORM)
    data, *others = norm.definition.inputs
    operands = [Var(data, TensorType((1, 1, 1, 1), "float32")), *map(Var, others)]
    mod = IRModule.from_expr(TupleGetItem(Call(norm, operands, norm.definition.attrs.make()), 0))
    calls = post_order(SimplifyInference()(InferType()(mod))["main"])
    return frozenset(n.op_name for n in calls if isinstance(n, Call)) - {"sqrt"}


@dataclass(frozen=True, eq=False)
class Decomposed:
    """A decomposed batch norm: the sqrt of its variance, and all its nodes."""

    deviation: Call
    nodes: frozenset[Expr]


def decomposed(subject: Subject) -> list[Decomposed]:
    """Every `divide(1, sqrt(add(variance, epsilon)))` of the function, with its users.

    Matches the structure divide(constant, sqrt(add(_, constant))), and from there the arithmetic of
    SimplifyInference up to the scale and the shift of the data.
    """
    found = []
    for node in subject.nodes:
        if not (isinstance(node, Call) and node.is_op("divide") and _is_scalar(node.args[0])):
            continue
        deviation = skip_annotations(node.args[1])
        if not (isinstance(deviation, Call) and deviation.is_op("sqrt")):
            continue
        shifted = skip_annotations(deviation.args[0])
        if isinstance(shifted, Call) and shifted.is_op("add") and _is_scalar(shifted.args[1]):
            found.append(Decomposed(deviation, _whole(node, deviation, shifted, subject)))
    return found


def _is_scalar(node: Expr) -> bool:
    value = skip_annotations(node)
    return isinstance(value, Constant) and not value.data.shape


def _whole(divide: Call, deviation: Call, shifted: Call, subject: Subject) -> frozenset[Expr]:
    nodes: set[Expr] = {divide, deviation, shifted}
    level: list[Expr] = [divide]
    for _ in range(_DEPTH):
        level = [
            u
            for n in level
            for u in subject.users.get(n, ())
            if isinstance(u, Call) and u.op_name in _steps() and u not in nodes
        ]
        nodes.update(level)
        for node in level:  # negative(mean) is not on the path
            nodes.update(p for p in node.parts() if isinstance(p, Call) and p.is_op("negative"))
    return frozenset(nodes)


def moves_into_weight(product: Call, conv: Call, used_again: bool) -> bool:
    """Whether FoldScaleAxis moves a factor of `product` into the weight of its other factor. Tests
    this on a copy of both; True for untyped calls, which cannot be tested."""
    if not product.is_typed:
        return True
    copy = Call(conv.op, [_leaf(a) for a in conv.args], conv.attrs)
    factors = [copy if skip_annotations(a) is conv else _leaf(a) for a in product.args]
    scaled = Call(product.op, factors, product.attrs)
    tried = IRModule.from_expr(Tuple([scaled, copy]) if used_again else scaled)
    with PassContext(opt_level=3):
        body = Sequential([InferType(), FoldScaleAxis()])(tried)["main"].body
    found = body.fields[0] if isinstance(body, Tuple) else body
    return not (isinstance(found, Call) and found.is_op(product.op_name))


def _leaf(operand: Expr) -> Expr:
    """A constant, or a variable of the operand's type."""
    value = skip_annotations(operand)
    return value if isinstance(value, Constant) else Var("x", value.checked_type)


def fold_then_annotate(
    mod: IRModule, compilers: Sequence[str], fold_qnn: bool = False
) -> IRModule | None:
    """The module with its batch norms folded, annotated for the same compilers; None if one of them
    is unknown here, for which AnnotateTarget would leave everything to the host."""
    annotate = AnnotateTarget(list(compilers))
    if unknown_targets(mod, Context((annotate,))):
        return None
    passes = [
        InferType(),
        SimplifyInference(),
        FoldConstant(),
        FoldScaleAxis(),
        FoldConstant(fold_qnn),
        annotate,
        MergeCompilerRegions(),
        InferType(),
    ]
    with PassContext(opt_level=3):
        return Sequential(passes)(without_annotations(mod))
