"""Losses: nn.cross_entropy, nn.cross_entropy_with_logits, nn.nll_loss.

Source: `CrossEntropyRel`, `NLLLossRel` of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, integer, string
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.costs import per_input_element
from byoc_lab.relay.op.framework.precision import NEVER
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    differ,
    fail,
    need_integers,
    need_one_of,
    need_rank,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import dtype_of, is_empty, scalar, shape_of


def _cross_entropy(op: str, doc: str) -> None:
    with_logits = op.endswith("logits")

    def relation(attrs: AnyValue, predictions: Type | None, targets: Type | None) -> Types:
        """Two matrices (batch, classes) of one type give a scalar."""
        x, y = tensors(op, "predictions targets", predictions, targets)
        for name, ty in (("predictions", x), ("targets", y)):
            if ty is not None:
                need_rank(op, name, ty, 2)
        if x is None or y is None:
            return x, y, None
        if x.dtype != y.dtype or any(map(differ, x.shape, y.shape)):
            fail(op, f"targets must have the type of predictions {x}, found {y}")
        return x, y, TensorType((), x.dtype)

    def reference(attrs: AnyValue, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        products = x * y if with_logits else np.log(x) * y
        return np.asarray(-products.sum() / x.shape[0], x.dtype)

    def relax(R: AnyValue, attrs: AnyValue, x: AnyValue, y: AnyValue) -> AnyValue:
        total = R.sum(R.multiply(x if with_logits else R.log(x), y))
        return R.divide(R.negative(total), scalar(shape_of(x)[0], dtype_of(x)))

    define_op(
        op,
        "predictions targets",
        relation,
        reference=reference,
        flops=per_input_element(3),
        relax=relax,
        pattern=OpPattern.OPAQUE,
        mixed_precision=NEVER,
        doc=doc,
    )


_cross_entropy("nn.cross_entropy", "out = -sum(log(predictions) * targets) / batch.")
_cross_entropy(
    "nn.cross_entropy_with_logits",
    "out = -sum(predictions * targets) / batch; predictions are logarithms already.",
)

NLL = "nn.nll_loss"
REDUCTIONS = ("mean", "sum", "none")


def nll_relation(
    attrs: AnyValue, predictions: Type | None, targets: Type | None, weights: Type | None
) -> Types:
    """(N, C, d...), classes (N, d...) and weights (C,) give a scalar, or (N, d...) unreduced."""
    x, t, w = tensors(NLL, "predictions targets weights", predictions, targets, weights)
    need_one_of(NLL, "reduction", attrs.reduction, REDUCTIONS)
    need_integers(NLL, "targets", t)
    if x is None or t is None or w is None:
        return x, t, w, None
    if len(x.shape) < 2:
        fail(NLL, f"predictions must have at least two dimensions, found {x}")
    wanted = (x.shape[0], *x.shape[2:])
    if len(t.shape) != len(wanted) or any(map(differ, t.shape, wanted)):
        fail(NLL, f"targets must have the shape {wanted} for predictions {x}, found {t}")
    if w.dtype != x.dtype or len(w.shape) != 1 or differ(w.shape[0], x.shape[1]):
        fail(NLL, f"weights must be a vector of {x.shape[1]} {x.dtype}, found {w}")
    return x, t, w, TensorType(t.shape if attrs.reduction == "none" else (), x.dtype)


def nll_reference(
    attrs: AnyValue, x: np.ndarray, targets: np.ndarray, weights: np.ndarray
) -> np.ndarray:
    """A target equal to ignore_index has weight 0."""
    counted = targets != attrs.ignore_index
    chosen = np.where(counted, targets, 0).astype(np.int64)
    picked = np.take_along_axis(x, chosen[:, None], 1)[:, 0]
    weight = np.where(counted, weights[chosen], 0).astype(x.dtype)
    losses = -picked * weight
    if attrs.reduction == "none":
        return losses
    total = losses.sum()
    return np.asarray(total / weight.sum() if attrs.reduction == "mean" else total, x.dtype)


def _nll_relax(
    R: AnyValue, attrs: AnyValue, x: AnyValue, targets: AnyValue, weights: AnyValue
) -> AnyValue:
    if is_empty(targets):  # TVM leaves an empty sum uninitialized
        return scalar(np.nan if attrs.reduction == "mean" else 0.0, dtype_of(x))
    return R.nn.nll_loss(x, targets, weights, attrs.reduction, attrs.ignore_index)


define_op(
    NLL,
    "predictions targets weights",
    nll_relation,
    reference=nll_reference,
    attrs=AttrsType(
        "relay.attrs.NLLLossAttrs",
        (
            Attr(
                "reduction", string, "mean", f"{', '.join(REDUCTIONS)}: how the losses are combined"
            ),
            Attr("ignore_index", integer, doc="target class that is ignored"),
        ),
    ),
    defaults={"ignore_index": -100},
    flops=per_input_element(3, argument=1),
    relax=_nll_relax,
    pattern=OpPattern.OUT_ELEMWISE_FUSABLE,
    doc="The negative log-likelihood of the target classes, weighted by class.",
)
