"""Batch norms that SimplifyInference decomposed, and how to fold them after all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from byoc_lab.lab.linting.base import called
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
from byoc_lab.relay.ir.expr import Call, Constant, Expr
from byoc_lab.relay.ir.module import IRModule

BATCH_NORM = "nn.batch_norm"
DECOMPOSED = tuple(op for op in SimplifyInference.replaces if op != "nn.dropout")
"""The operators that SimplifyInference replaces by several."""

_STEPS = frozenset({"add", "divide", "multiply", "negative", "expand_dims"})
"""What the decomposition is made of beside sqrt."""
_DEPTH = 6
"""Its longest way from sqrt to the result: divide, multiply, multiply, add, expand_dims, add."""


@dataclass(frozen=True, eq=False)
class Decomposed:
    """A decomposed batch norm: the sqrt of its variance, and all its nodes."""

    deviation: Call
    nodes: frozenset[Expr]


def decomposed(subject: Subject) -> list[Decomposed]:
    """Every `divide(1, sqrt(add(variance, epsilon)))` of the function, with what uses it.

    Found by structure: divide(constant, sqrt(add(_, constant))), and from there the arithmetic
    that SimplifyInference writes, up to the scale and the shift of the data.
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
            if isinstance(u, Call) and called(u) in _STEPS and u not in nodes
        ]
        nodes.update(level)
        for node in level:  # negative(mean) is beside the way
            nodes.update(p for p in node.parts() if isinstance(p, Call) and p.is_op("negative"))
    return frozenset(nodes)


def fold_then_annotate(mod: IRModule, compilers: Sequence[str]) -> IRModule | None:
    """The module with its batch norms folded, annotated for the same compilers."""
    passes = [
        InferType(),
        SimplifyInference(),
        FoldConstant(),
        FoldScaleAxis(),
        FoldConstant(),
        AnnotateTarget(list(compilers)),
        MergeCompilerRegions(),
        InferType(),
    ]
    with PassContext(opt_level=3):
        return Sequential(passes)(without_annotations(mod))
