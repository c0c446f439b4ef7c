"""Relay types of Relax values, and their unknown sizes."""

from __future__ import annotations

from typing import Any

from byoc_lab.errors import BuildError
from byoc_lab.relax.ir import batch
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op.framework.from_relax import number
from byoc_lab.run.relax_values import is_tensor_type, is_tuple_type, sizes_of


def type_of(value: Any) -> TensorType:
    """The Relay type of a Relax tensor, with `batch.NOMINAL` for an unknown batch.

    Raises BuildError if another part of its shape is unknown.
    """
    ty, sizes = type_and_sizes(value)
    if sizes is None or not all(map(batch.is_number, sizes[1:])):
        raise BuildError(
            f"a region needs tensors of known shape, except for a leading batch axis, found {ty}; "
            f"relax.transform.BindSymbolicVars binds symbolic sizes"
        )
    known = [batch.nominal(size) for size in sizes[:1]] + [int(number(size)) for size in sizes[1:]]
    return TensorType(known, str(ty.dtype))


def batch_of(value: Any) -> list[Any]:
    """The first size of a Relax tensor, as a list; empty if that size is known."""
    _, sizes = type_and_sizes(value)
    return [size for size in (sizes or ())[:1] if not batch.is_number(size)]


def unknown_sizes_of(value: Any) -> list[Any]:
    """The unknown sizes of a Relax tensor."""
    _, sizes = type_and_sizes(value)
    return [size for size in sizes or () if not batch.is_number(size)]


def is_tensor(value: Any) -> bool:
    """Whether a Relax value is one tensor, of any shape."""
    return is_tensor_type(value.ty)


def is_tuple(value: Any) -> bool:
    """Whether a Relax value is a tuple."""
    return is_tuple_type(value.ty)


def is_known_shape(value: Any) -> bool:
    """Whether a Relax value is a shape of numbers; DNNL cannot read other shapes."""
    return all(map(batch.is_number, getattr(value.ty, "values", None) or ()))


def type_and_sizes(value: Any) -> tuple[Any, Any]:
    """The type of a Relax value, and its sizes if it is a tensor with known rank."""
    ty = value.ty
    return ty, sizes_of(ty)
