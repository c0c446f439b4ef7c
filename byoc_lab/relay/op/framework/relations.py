"""Functions shared by type relations: checks, axes, broadcasting, arithmetic with `?`.

A relation maps (attrs, *argument types) to (*argument types, result type); None stands for an
unknown type. See `registry.OpDef`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any as AnyValue
from typing import NoReturn

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.ir.attrs import DType
from byoc_lab.relay.ir.dims import Any, Dim, UndecidedError, Unknown
from byoc_lab.relay.ir.types import TensorType, TupleType, Type

NO_DTYPE = DType("")  # TVM's dtype void, which means "the dtype of the data"
Types = Sequence["Type | None"]


def fail(op: str, message: str, **facts: AnyValue) -> NoReturn:
    """Raise a TypeInferenceError of an operator; facts: see `DiagnosticError`."""
    raise TypeInferenceError(f"{op}: {message}", facts=facts)


def tensors(op: str, names: str, *types: Type | None) -> list[TensorType | None]:
    """The argument types as tensor types, unknown ones as None.

    Raises TypeInferenceError that names an argument which is a tuple, function or reference.
    """
    found: list[TensorType | None] = []
    for name, ty in zip(names.split(), types, strict=True):
        if ty is not None and not isinstance(ty, TensorType):
            fail(op, f"{name} must be a tensor, found {ty}")
        found.append(ty)
    return found


def tensor_relation(op: str, names: str, result_type: Callable[..., Type]) -> Callable[..., Types]:
    """The relation of a tensor operator that infers only the result: `result_type(attrs, *tensor
    types)`, once the types of all arguments are known."""

    def relation(attrs: AnyValue, *types: Type | None) -> Types:
        operands = tensors(op, names, *types)
        complete = all(ty is not None for ty in operands)
        return *operands, result_type(attrs, *operands) if complete else None

    return relation


def need_rank(op: str, name: str, ty: TensorType, rank: int) -> None:
    if len(ty.shape) != rank:
        fail(op, f"{name} must have {rank} dimensions, found {ty}")


def need_length(op: str, name: str, values: Sequence[int], *lengths: int) -> None:
    if len(values) not in lengths:
        expected = " or ".join(map(str, lengths))
        fail(op, f"attribute {name} must have {expected} numbers, found {list(values)}")


def need_one_of(op: str, name: str, value: AnyValue, choices: Iterable[AnyValue]) -> None:
    """Raise TypeInferenceError unless the value of an attribute is one that the operator
    supports."""
    if value not in (possible := tuple(choices)):
        shown = ", ".join(map(str, possible))
        fail(op, f"attribute {name} must be one of {shown}, found {value!r}")


def need_positive(op: str, attrs: AnyValue, *names: str) -> None:
    """Raise TypeInferenceError unless attributes (numbers or lists of numbers) are all positive."""
    for name in names:
        value = attrs[name]
        if (min(value, default=1) if isinstance(value, tuple) else value) < 1:
            shown = list(value) if isinstance(value, tuple) else value
            fail(op, f"attribute {name} must be positive, found {shown}")


def need_integers(op: str, name: str, ty: TensorType | None) -> None:
    """Raise TypeInferenceError unless the dtype of `ty` is an integer."""
    if ty is not None and not ty.dtype.startswith(("int", "uint")):
        fail(op, f"{name} must be of integers, found {ty}")


def is_incomplete(ty: Type | None) -> bool:
    """Whether a tuple argument, or one of its fields, has no type yet."""
    return ty is None or (isinstance(ty, TupleType) and ty.has_holes)


def tensor_fields(op: str, name: str, ty: Type | None) -> list[TensorType]:
    """The fields of a complete tuple of tensors.

    Raises TypeInferenceError for other types, and for an empty tuple.
    """
    if not isinstance(ty, TupleType) or not ty.fields:
        fail(op, f"{name} must be a tuple of tensors, found {ty}")
    fields: list[TensorType] = []
    for n, field in enumerate(ty.fields):
        if not isinstance(field, TensorType):
            fail(op, f"field {n} of {name} must be a tensor, found {field}")
        fields.append(field)
    return fields


def axis_of(op: str, axis: int, rank: int, name: str = "axis") -> int:
    """`axis` counted from the front. Raises TypeInferenceError outside [-rank, rank)."""
    if not -rank <= axis < rank:
        fail(
            op, f"attribute {name} must be in [-{rank}, {rank}) for {rank} dimensions, found {axis}"
        )
    return axis % rank if rank else axis


def type_along_axis(op: str, attrs: AnyValue, x: TensorType) -> TensorType:
    """The result has the type of data, which must have the attribute's axis."""
    axis_of(op, attrs.axis, len(x.shape))
    return x


def axes_of(op: str, axes: Iterable[int], rank: int) -> tuple[int, ...]:
    """Several axes counted from the front. Raises TypeInferenceError for an axis named twice."""
    result = tuple(axis_of(op, a, rank) for a in axes)
    if len(set(result)) != len(result):
        fail(op, f"attribute axis must not name an axis twice, found {list(axes)}")
    return result


def dim(compute: Callable[..., Dim], *dims: Dim) -> Dim:
    """`compute(*dims)`; `?` if a dimension is `?`, or if symbolic dimensions make the result
    undecidable."""
    if any(isinstance(d, Any) for d in dims):
        return Any()
    try:
        return compute(*dims)
    except UndecidedError:
        return Any()


def product(dims: Iterable[Dim]) -> Dim:
    """The number of elements; `?` if one of `dims` is `?` and no other one is 0."""
    total: Dim = 1
    unknown = False
    for d in dims:
        if isinstance(d, Any):
            unknown = True
        else:
            total = total * d
    return Any() if unknown and total != 0 else total


def differ(a: Dim, b: Dim) -> bool:
    """Whether two dimensions cannot be equal (`?` may equal anything, `n` may equal `m`)."""
    if isinstance(a, Any) or isinstance(b, Any):
        return False
    difference = a - b
    return not isinstance(difference, Unknown) and difference != 0


def broadcast(op: str, lhs: TensorType, rhs: TensorType) -> tuple[Dim, ...]:
    """The shape that two tensors broadcast to, aligned as in NumPy; `?` with d > 1 gives d.

    Symbolic dimensions broadcast only if they are always equal: `n` and `m` do not.

    Raises TypeInferenceError when a pair of dimensions differs and neither is 1.
    """
    shape: list[Dim] = []
    a, b = lhs.shape[::-1], rhs.shape[::-1]
    for n in range(max(len(a), len(b))):
        x = a[n] if n < len(a) else 1
        y = b[n] if n < len(b) else 1
        if x == 1 or (isinstance(x, Any) and y != 1):
            shape.append(y)
        elif y == 1 or isinstance(y, Any) or x == y:
            shape.append(x)
        else:
            message = f"{lhs} and {rhs} do not broadcast: dimension -{n + 1} is {x} and {y}"
            fail(op, message, kind="broadcast", types=(lhs, rhs))
    return tuple(shape[::-1])


def check_broadcasts_to(op: str, narrow: TensorType, wide: TensorType) -> None:
    """Raise TypeInferenceError unless `narrow` broadcasts to the shape of `wide`."""
    spare = len(wide.shape) - len(narrow.shape)
    if spare < 0:
        fail(op, f"{narrow} does not broadcast to the {len(wide.shape)} axes of {wide}")
    for n, (d, w) in enumerate(zip(narrow.shape, wide.shape[spare:], strict=True)):
        if d != 1 and differ(d, w):
            fail(op, f"{narrow} and {wide} do not broadcast: axis {n} must be {w} or 1, found {d}")


def relation_of(op: str, other: AnyValue, attrs: AnyValue, *types: Type | None) -> Types:
    """The result of the relation of the definition `other`; errors name `op` instead."""
    try:
        return other.relation(attrs, *types)
    except TypeInferenceError as error:
        message = str(error).replace(f"{other.name}:", f"{op}:", 1)
        raise TypeInferenceError(message, facts=error.facts) from None


def out_dtype(attrs: AnyValue, data: TensorType) -> str:
    """The dtype of the result: the attribute out_dtype, or the dtype of the data if it is empty."""
    return attrs.out_dtype or data.dtype
