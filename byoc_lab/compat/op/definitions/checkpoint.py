"""annotation.checkpoint: an identity that marks values to be recomputed in training."""

from __future__ import annotations

from byoc_lab.relay.op.framework.registry import Arithmetic, define_op, identity

define_op(
    "annotation.checkpoint",
    "data",
    identity,
    reference=lambda attrs, x: x,
    relax=lambda R, attrs, x: x,
    doc="out = data, which training recomputes instead of storing.",
    arithmetic=Arithmetic.COPY,
)
