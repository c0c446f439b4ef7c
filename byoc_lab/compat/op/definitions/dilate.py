"""nn.dilate: inserts constant elements between the elements of a tensor.

Source: `DilateRel` of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, integers, number
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import dim, need_length, need_positive
from byoc_lab.relay.op.framework.relax_types import by_topi


def dilate_type(attrs: AnyValue, x: TensorType) -> Type:
    """An axis of size n becomes an axis of size (n - 1) * stride + 1."""
    op = "nn.dilate"
    need_length(op, "strides", attrs.strides, len(x.shape))
    need_positive(op, attrs, "strides")
    pairs = zip(x.shape, attrs.strides, strict=True)
    return TensorType([dim(lambda n, s=s: (n - 1) * s + 1, d) for d, s in pairs], x.dtype)


def dilate_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    shape = [(n - 1) * s + 1 for n, s in zip(x.shape, attrs.strides, strict=True)]
    out = np.full(shape, attrs.dilation_value, x.dtype)
    out[tuple(slice(None, None, s) for s in attrs.strides)] = x
    return out


define_op(
    "nn.dilate",
    "data",
    result_type=dilate_type,
    reference=dilate_reference,
    attrs=AttrsType(
        "relay.attrs.DilateAttrs",
        (
            Attr(
                "strides", integers, (1, 1), "distance in the result between neighbours, per axis"
            ),
            Attr("dilation_value", number, 0.0, "inserted value"),
        ),
    ),
    attrs_key="",
    defaults={"strides": REQUIRED},
    relax=lambda R, attrs, x: by_topi("nn.dilate", x, list(attrs.strides), attrs.dilation_value),
    pattern=OpPattern.INJECTIVE,
    doc="Data with dilation_value inserted between its elements.",
)
