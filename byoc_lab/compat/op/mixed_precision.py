"""The names in TVM's `relay.transform.mixed_precision`, derived from the definitions of the
operators."""

from __future__ import annotations

from byoc_lab.relay.ir.expr import Op
from byoc_lab.relay.op import register_mixed_precision_conversion
from byoc_lab.relay.op.framework.precision import MixedPrecision

MIXED_PRECISION_ALWAYS, MIXED_PRECISION_FOLLOW, MIXED_PRECISION_NEVER = MixedPrecision


def _named(category: MixedPrecision) -> list[str]:
    names = Op.list_op_names()
    return [name for name in names if Op.get(name).definition.mixed_precision is category]


DEFAULT_ALWAYS_LIST, DEFAULT_FOLLOW_LIST, DEFAULT_NEVER_LIST = map(_named, MixedPrecision)

__all__ = [
    "DEFAULT_ALWAYS_LIST",
    "DEFAULT_FOLLOW_LIST",
    "DEFAULT_NEVER_LIST",
    "MIXED_PRECISION_ALWAYS",
    "MIXED_PRECISION_FOLLOW",
    "MIXED_PRECISION_NEVER",
    "register_mixed_precision_conversion",
]
