"""Names of `tvm.relay.ty` that byoc_lab.relay.ir.types does not have."""

from __future__ import annotations

from byoc_lab.relay.ir.dims import Any
from byoc_lab.relay.ir.types import TensorType, Type, parts_of


def is_dynamic(tensor_type: Type) -> bool:
    """Whether a type is or contains a tensor with a dimension known only at run time."""
    todo = [tensor_type]
    while todo:
        ty = todo.pop()
        if isinstance(ty, TensorType) and not ty.is_static:
            return True
        todo += parts_of(ty)
    return False


__all__ = ["Any", "is_dynamic"]
