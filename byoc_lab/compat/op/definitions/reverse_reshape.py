"""contrib_reverse_reshape: reshape with shapes read from the right.

Source: `ReverseReshapeRel` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any as AnyValue

from byoc_lab.relay.ir.attrs import attrs_type
from byoc_lab.relay.ir.dims import Dim
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.normalizers import numbers_to_lists
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import fail
from byoc_lab.relay.op.framework.relax_types import shape_of
from byoc_lab.relay.op.tensor.shape import reshaped


def reversed_reshape(shape: Sequence[Dim], newshape: Sequence[int]) -> tuple[Dim, ...]:
    """Like `reshaped`, with both shapes read from the right; supports only 0, -1 and -3."""
    other = [n for n in newshape if n < 0 and n not in (-1, -3)]
    if other:
        fail(
            "contrib_reverse_reshape",
            f"newshape={list(newshape)}: {other[0]} is invalid; sizes, 0, -1 and -3 are supported",
        )
    return reshaped(shape[::-1], newshape[::-1])[::-1]


def reverse_reshape_type(attrs: AnyValue, x: TensorType) -> Type:
    """The shape from `reversed_reshape`, the dtype of data."""
    return TensorType(reversed_reshape(x.shape, attrs.newshape), x.dtype)


define_op(
    "contrib_reverse_reshape",
    "data",
    result_type=reverse_reshape_type,
    reference=lambda attrs, x: x.reshape(reversed_reshape(x.shape, attrs.newshape)),
    attrs=attrs_type("relay.attrs.ReshapeAttrs"),
    normalize=numbers_to_lists("newshape"),
    in_relax=("reshape",),
    relax=lambda R, attrs, x: R.reshape(x, reversed_reshape(shape_of(x), attrs.newshape)),
    pattern=OpPattern.INJECTIVE,
    python_name="reverse_reshape",
    parameters="data newshape",
    doc="As reshape, with 0, -1 and -3 in newshape matched from the right.",
)
