"""What a shape is, as a value: shape_of, ndarray_size.

Source: `ShapeOfRel`, `NdarraySizeRel` of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import Attr, AttrsType, dtype
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.costs import no_flops
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import NO_DTYPE, Types, tensors
from byoc_lab.relay.op.framework.relax_types import shape_of


def shape_of_relation(attrs: AnyValue, data: Type | None) -> Types:
    """A vector as long as data has axes."""
    (x,) = tensors("shape_of", "data", data)
    return x, None if x is None else TensorType((len(x.shape),), attrs.dtype)


def _shape_of_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    from tvm import relax

    return relax.const(np.array(shape_of(x), attrs.dtype), attrs.dtype)


define_op(
    "shape_of",
    "data",
    shape_of_relation,
    reference=lambda attrs, x: np.array(x.shape, attrs.dtype),
    attrs=AttrsType(
        "relay.attrs.ShapeOfAttrs", (Attr("dtype", dtype, NO_DTYPE, "dtype of the result"),)
    ),
    defaults={"dtype": "int32"},
    flops=no_flops,
    relax=_shape_of_relax,
    pattern=OpPattern.OPAQUE,
    doc="The shape of data as a vector.",
)


def ndarray_size_relation(attrs: AnyValue, data: Type | None) -> Types:
    """A scalar of the attribute's dtype."""
    (x,) = tensors("ndarray_size", "data", data)
    return x, TensorType((), attrs.dtype)


def _size_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    from tvm import relax

    return relax.const(np.array(np.prod(shape_of(x)), attrs.dtype), attrs.dtype)


define_op(
    "ndarray_size",
    "data",
    ndarray_size_relation,
    reference=lambda attrs, x: np.array(x.size, attrs.dtype),
    attrs=AttrsType(
        "relay.attrs.NdarraySizeAttrs", (Attr("dtype", dtype, NO_DTYPE, "dtype of the result"),)
    ),
    defaults={"dtype": "int32"},
    flops=no_flops,
    relax=_size_relax,
    pattern=OpPattern.INJECTIVE,
    doc="The number of elements of data.",
)
