"""The shape of a tensor as a value: shape_of, ndarray_size.

Source: `ShapeOfRel`, `NdarraySizeRel` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, dtype
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.costs import no_flops
from byoc_lab.relay.op.framework.precision import FOLLOW
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import NO_DTYPE
from byoc_lab.relay.op.framework.relax_types import constant_of, shape_of

SHAPE_ATTRS = (Attr("dtype", dtype, NO_DTYPE, "dtype of the result"),)


def _shape_value(
    op: str,
    key: str,
    compute: Callable[[Sequence[int]], AnyValue],
    result: Callable[[TensorType], tuple[int, ...]],
    pattern: OpPattern,
    doc: str,
    **facts: AnyValue,
) -> None:
    """Define an operator that returns `compute(shape)`, of shape `result(type of data)`."""

    def result_type(attrs: AnyValue, x: TensorType) -> Type:
        """A tensor of the attribute's dtype."""
        return TensorType(result(x), attrs.dtype)

    def value(attrs: AnyValue, shape: Sequence[int]) -> np.ndarray:
        return np.array(compute(shape), attrs.dtype)

    define_op(
        op,
        "data",
        result_type=result_type,
        reference=lambda attrs, x: value(attrs, x.shape),
        attrs=AttrsType(key, SHAPE_ATTRS),
        defaults={"dtype": "int32"},
        flops=no_flops,
        relax=lambda R, attrs, x: constant_of(value(attrs, shape_of(x))),
        pattern=pattern,
        arithmetic=Arithmetic.EXACT,
        doc=doc,
        **facts,
    )


_shape_value(
    "shape_of",
    "relay.attrs.ShapeOfAttrs",
    tuple,
    lambda x: (len(x.shape),),
    OpPattern.OPAQUE,
    "The shape of data as a vector.",
    mixed_precision=FOLLOW,
)
_shape_value(
    "ndarray_size",
    "relay.attrs.NdarraySizeAttrs",
    prod,
    lambda x: (),
    OpPattern.INJECTIVE,
    "The number of elements of data.",
)
