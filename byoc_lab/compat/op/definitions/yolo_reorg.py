"""vision.yolo_reorg: moves pixels into channels, for Darknet networks.

Source: `YoloReorgRel` of TVM 0.16.
"""

from __future__ import annotations

from typing import Any as AnyValue

import numpy as np

from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, integer
from byoc_lab.relay.ir.dims import Unknown
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.registry import OpPattern, define_op
from byoc_lab.relay.op.framework.relations import (
    Types,
    dim,
    fail,
    need_positive,
    need_rank,
    tensors,
)
from byoc_lab.relay.op.framework.relax_types import shape_of

# vision.yolo_reorg -------------------------------------------------------------------------------

REORG = "vision.yolo_reorg"


def reorg_relation(attrs: AnyValue, data: Type | None) -> Types:
    """data (N, C, H, W) gives (N, C * stride * stride, H / stride, W / stride)."""
    (x,) = tensors(REORG, "data", data)
    stride = attrs.stride
    need_positive(REORG, attrs, "stride")
    if x is None:
        return None, None
    need_rank(REORG, "data", x, 4)
    n, c, h, w = x.shape
    for name, size, part in (
        ("channels", c, stride**2),
        ("rows", h, stride),
        ("columns", w, stride),
    ):
        if not isinstance(size, Unknown) and size % part:
            fail(REORG, f"the {name} of {x} must be a multiple of {part} for stride={stride}")
    smaller = (dim(lambda d: d // stride, d) for d in (h, w))
    return x, TensorType((n, dim(lambda d: d * stride**2, c), *smaller), x.dtype)


def _reorg_steps(stride: int, shape: AnyValue) -> tuple[tuple[int, ...], ...]:
    """(split shape, order of the parts, shape of the result).

    Darknet reads the data in place as C / stride**2 channels that are `stride` times as high and
    wide, and gathers every stride-th pixel of these channels into a separate channel.
    """
    n, c, h, w = shape
    large = (n, c // stride**2, h, stride, w, stride)
    return large, (0, 3, 5, 1, 2, 4), (n, c * stride**2, h // stride, w // stride)


def reorg_reference(attrs: AnyValue, x: np.ndarray) -> np.ndarray:
    large, order, small = _reorg_steps(attrs.stride, x.shape)
    return x.reshape(large).transpose(order).reshape(small)


def _reorg_relax(R: AnyValue, attrs: AnyValue, x: AnyValue) -> AnyValue:
    large, order, small = _reorg_steps(attrs.stride, shape_of(x))
    return R.reshape(R.permute_dims(R.reshape(x, large), list(order)), small)


define_op(
    REORG,
    "data",
    reorg_relation,
    reference=reorg_reference,
    attrs=AttrsType(
        "relay.attrs.YoloReorgAttrs",
        (Attr("stride", integer, 1, "factor by which height and width shrink"),),
    ),
    defaults={"stride": REQUIRED},
    relax=_reorg_relax,
    pattern=OpPattern.INJECTIVE,
    doc="Pixels moved into channels, as in the reorg layer of Darknet.",
)
