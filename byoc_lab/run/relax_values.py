"""Properties of Relax values, and of their types."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.op.framework.from_relax import RelaxCall
from byoc_lab.run.tvm_runtime import import_tvm


def name_of(variable: Any) -> str:
    """The name of a variable."""
    return str(variable.name if hasattr(variable, "name") else variable.name_hint)


def sizes_of(ty: Any) -> list[Any] | None:
    """The sizes of a tensor type; None for other types, and if the sizes are unknown."""
    values = getattr(getattr(ty, "shape", None), "values", None)
    return None if values is None else list(values)


def is_tensor_type(ty: Any) -> bool:
    """Whether a type is the type of one tensor, of any shape."""
    return isinstance(ty, _relax().TensorType)


def is_tuple_type(ty: Any) -> bool:
    """Whether a type is the type of a tuple."""
    return isinstance(ty, _relax().TupleType)


def is_shape_type(ty: Any) -> bool:
    """Whether a type is the type of a shape."""
    return isinstance(ty, _relax().ShapeType)


def is_number_type(ty: Any) -> bool:
    """Whether a type is the type of a number that is not a tensor."""
    return isinstance(ty, import_tvm().ir.PrimType)


def is_variable(size: Any) -> bool:
    """Whether a size of a shape is one variable, known at run time only."""
    return isinstance(size, import_tvm().tirx.Var)


def tensor_of(value: Any) -> Any:
    """TVM's tensor of a constant; None for other values, also for constants that are not tensors
    (such as the dtype operand of memory allocations after lowering)."""
    if not isinstance(value, _constant_class()):
        return None
    held = value.data if hasattr(value, "data") else value.value
    return held if hasattr(held, "numpy") else None


def relax_call(call: Any, type_of: Callable[[Any], TensorType]) -> RelaxCall:
    """The description of an operator call that the translations from Relax in operator definitions
    take. type_of: computes Relay's type of a tensor."""
    values = (*call.args, call)
    types = [type_of(v) if is_tensor_type(v.ty) else None for v in values]
    *shapes, result = (None if ty is None else ty.concrete_shape for ty in types)
    dtype = None if types[-1] is None else types[-1].dtype
    return RelaxCall(str(call.op.name).removeprefix("relax."), call.attrs, shapes, result, dtype)


@cache
def _relax() -> Any:
    return import_tvm().relax


@cache
def _constant_class() -> Any:
    """The class of tensor constants: in apache-tvm 0.26 a class of Relax, in 0.27 a class common to
    all of TVM."""
    tvm = import_tvm()
    return tvm.relax.Constant if hasattr(tvm.relax, "Constant") else tvm.ir.GenericConst
