"""nn.fifo_buffer: a buffer of the newest elements.

Source: `FIFOBufferRel` of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, integer
from byoc_lab.relay.ir.types import Type
from byoc_lab.relay.op.framework.registry import Arithmetic, OpPattern, define_op
from byoc_lab.relay.op.framework.relations import Types, axis_of, dim, fail, tensors
from byoc_lab.relay.op.framework.relax_types import rank_of, shape_of
from byoc_lab.relay.op.tensor.join import differs_only_along


def fifo_relation(attrs: AnyValue, data: Type | None, buffer: Type | None) -> Types:
    """data and buffer differ only on `axis`; the result has the type of buffer."""
    op = "nn.fifo_buffer"
    x, b = tensors(op, "data buffer", data, buffer)
    if b is not None:
        axis = axis_of(op, attrs.axis, len(b.shape))
        if x is not None and not differs_only_along(x, b.dtype, list(b.shape), axis):
            fail(op, f"data {x} must be like buffer {b} except on axis {axis}")
        if x is not None and dim(lambda a, b: a > b, x.shape[axis], b.shape[axis]) is True:
            fail(op, f"data {x} is larger than buffer {b} along axis {axis}")
    return x, b, b


def fifo_reference(attrs: AnyValue, x: np.ndarray, buffer: np.ndarray) -> np.ndarray:
    axis = attrs.axis % buffer.ndim
    both = np.concatenate([buffer, x], axis)
    return np.take(both, range(x.shape[axis], both.shape[axis]), axis)


def _fifo_relax(R: AnyValue, attrs: AnyValue, x: AnyValue, buffer: AnyValue) -> AnyValue:
    axis = attrs.axis % rank_of(buffer)
    new, kept = shape_of(x)[axis], shape_of(buffer)[axis]
    both = R.concat([buffer, x], axis=axis)
    return R.strided_slice(both, [axis], [new], [new + kept])


define_op(
    "nn.fifo_buffer",
    "data buffer",
    fifo_relation,
    reference=fifo_reference,
    attrs=AttrsType(
        "relay.attrs.FIFOBufferAttrs",
        (Attr("axis", integer, 0, "axis along which data is appended"),),
    ),
    defaults={"axis": REQUIRED},
    relax=_fifo_relax,
    pattern=OpPattern.OPAQUE,
    doc="buffer with data appended and as many of its oldest elements dropped.",
    arithmetic=Arithmetic.COPY,
)
