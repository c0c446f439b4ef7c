"""Relay types: values that compare by content, print as TVM 0.16 prints them, and never change.

Source: the Relay type system of TVM 0.16 (`relay.TensorType`, `relay.TupleType`, ...).
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Sequence
from enum import IntEnum
from functools import lru_cache

from byoc_lab.errors import ArgumentError, AttributeValueError, TypeInferenceError
from byoc_lab.printing import printable
from byoc_lab.relay.ir.dims import Dim, Symbolic, Unknown, as_dim
from byoc_lab.relay.ir.dims.integers import IntImm
from byoc_lab.relay.ir.node_code import NODE_CODE

MAX_DEPTH = 100
MAX_PARTS = 100_000


class TypeKind(IntEnum):
    """The kind of a type; `relay.analysis.check_kind` computes it."""

    Type = 0
    ShapeVar = 1
    BaseType = 2
    Constraint = 4
    AdtHandle = 5
    TypeData = 6


class Type:
    """Base of all types. `==` and `hash` compare content (type variables and holes: identity).

    `has_holes`: it contains an IncompleteType; `has_symbols`: it contains a symbolic dimension.
    """

    __slots__ = ("_depth", "_hash", "_key", "_size", "has_holes", "has_symbols")
    _key: tuple[object, ...]
    _hash: int
    _depth: int
    _size: int
    has_holes: bool
    has_symbols: bool

    def _seal(
        self,
        *key: object,
        parts: Sequence[Type] = (),
        has_holes: bool = False,
        has_symbols: bool = False,
    ) -> None:
        depth = 1 + max((p._depth for p in parts), default=0)
        if depth > MAX_DEPTH:  # types are compared and printed recursively
            raise TypeInferenceError(f"a type may nest {MAX_DEPTH} deep, found a deeper one")
        size = 1 + sum(p._size for p in parts)
        if size > MAX_PARTS:
            raise TypeInferenceError(
                f"a type may have {MAX_PARTS:,} parts, each counted as often as it is printed; "
                f"found one with {size:,}"
            )
        object.__setattr__(self, "_key", key)
        object.__setattr__(self, "_hash", hash((type(self).__name__, key)))
        object.__setattr__(self, "_depth", depth)
        object.__setattr__(self, "_size", size)
        object.__setattr__(self, "has_holes", has_holes or any(p.has_holes for p in parts))
        symbolic = has_symbols or any(p.has_symbols for p in parts)
        object.__setattr__(self, "has_symbols", symbolic)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return type(self) is type(other) and self._key == other._key

    def __hash__(self) -> int:
        return self._hash

    def __repr__(self) -> str:
        return str(self)

    def __reduce__(self) -> tuple[object, ...]:
        """Deep copies and pickles: see `pickling`."""
        return NODE_CODE().reduce(self)


# Short names of dtypes, and the dtypes that TVM reads them as.
SHORT_DTYPES = {"int": "int32", "uint": "uint32", "float": "float32", "uint1": "bool"}
DTYPE = re.compile(r"(bool|u?int\d{1,3}|float\d{1,3}|bfloat16|handle)(x\d{1,5})?", re.ASCII)
_COMMON_DTYPES = [
    *("float32", "float16", "bfloat16", "float64"),
    *("int8", "uint8", "int32", "int64", "bool"),
]
# Also accepted: "" (the dtype of the data), registered custom types, and types of later versions.
_OTHER_DTYPE = re.compile(r"(void)?|custom\[.*|e\dm\d_float8", re.ASCII)


def is_dtype(name: str) -> bool:
    """Whether TVM has a dtype of that (long) name."""
    return bool(DTYPE.fullmatch(name) or _OTHER_DTYPE.fullmatch(name))


@lru_cache(maxsize=256)
def dtype_named(name: str) -> str:
    """The long form of a dtype's name. Raises AttributeValueError for an unknown name."""
    name = SHORT_DTYPES.get(name, name)
    if not is_dtype(name):
        near = difflib.get_close_matches(name, _COMMON_DTYPES, 1)
        meant = f"; did you mean {near[0]!r}?" if near else f", as {', '.join(_COMMON_DTYPES)}"
        raise AttributeValueError(f"unknown dtype {name!r}{meant}")
    return name


class TensorType(Type):
    """A tensor of `shape` and `dtype` ("float32", ...); shape () is a scalar.

    A dimension is an int, `Any` or `Symbolic` (see `dims`). The ints are `IntImm`s, for scripts
    that read their `value`. A variable of apache-tvm, `te.var("n")`, becomes a symbolic dimension.
    """

    __slots__ = ("dtype", "shape")
    shape: tuple[Dim, ...]
    dtype: str

    def __new__(cls, shape: Iterable[Dim], dtype: str = "float32") -> TensorType:
        if isinstance(shape, int):
            raise ArgumentError(f"a shape must be a tuple, found {shape}; write ({shape},)")
        dims = tuple(map(as_dim, shape))
        kind = dtype_named(str(dtype))
        for d in dims:
            if type(d) is not IntImm or d.dtype != "int32":  # equal sizes need not be identical
                return cls._create(dims, kind)
        return cls._shared(dims, kind)

    @classmethod
    @lru_cache(maxsize=1 << 12)
    def _shared(cls, dims: tuple[Dim, ...], dtype: str) -> TensorType:
        """Return one shared object for equal types: a module has thousands of nodes and few types,
        so this saves memory and makes comparisons fast."""
        return cls._create(dims, dtype)

    @classmethod
    def _create(cls, dims: tuple[Dim, ...], dtype: str) -> TensorType:
        made = super().__new__(cls)
        object.__setattr__(made, "shape", dims)
        object.__setattr__(made, "dtype", dtype)
        made._seal(dims, dtype, has_symbols=any(isinstance(d, Symbolic) for d in dims))
        return made

    @property
    def concrete_shape(self) -> tuple[int, ...]:
        """The shape as ints. Raises TypeInferenceError when a dimension is `?` or symbolic."""
        if not self.is_static:
            raise TypeInferenceError(f"{self} has a dimension that is known only at run time")
        return self.shape  # type: ignore[return-value]

    @property
    def is_static(self) -> bool:
        return not any(isinstance(d, Unknown) for d in self.shape)

    @printable
    def __str__(self) -> str:
        if not self.shape:
            return self.dtype
        return f"Tensor[({', '.join(map(str, self.shape))}), {self.dtype}]"

    def __repr__(self) -> str:
        return f"TensorType({list(self.shape)}, {self.dtype})"


def scalar_type(dtype: str) -> TensorType:
    """The type of a rank-0 tensor of `dtype`."""
    return TensorType((), dtype)


class TupleType(Type):
    """A tuple of types; `TupleType(())` is the unit type."""

    __slots__ = ("fields",)
    fields: tuple[Type, ...]

    def __init__(self, fields: Sequence[Type]):
        object.__setattr__(self, "fields", tuple(fields))
        self._seal(self.fields, parts=self.fields)

    @printable
    def __str__(self) -> str:
        inner = ", ".join(map(str, self.fields))
        return f"({inner},)" if len(self.fields) == 1 else f"({inner})"


class FuncType(Type):
    """A function from `arg_types` to `ret_type`, generic over `type_params` (TypeVars)."""

    __slots__ = ("arg_types", "ret_type", "type_constraints", "type_params")
    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[Type, ...]
    type_constraints: tuple[Type, ...]

    def __init__(
        self,
        arg_types: Sequence[Type],
        ret_type: Type,
        type_params: Sequence[Type] = (),
        type_constraints: Sequence[Type] = (),
    ):
        object.__setattr__(self, "arg_types", tuple(arg_types))
        object.__setattr__(self, "ret_type", ret_type)
        object.__setattr__(self, "type_params", tuple(type_params or ()))
        object.__setattr__(self, "type_constraints", tuple(type_constraints or ()))
        parts = (*self.arg_types, ret_type, *self.type_constraints)
        depth = 1 + max(p._depth for p in parts)
        # Function types are equal up to the names of type parameters: in the key, a type parameter
        # is its number and its nesting depth.
        numbered: dict[Type, Type] = {
            p: GlobalTypeVar(f"{n} of {depth}") for n, p in enumerate(self.type_params)
        }
        key = tuple(replace(p, numbered) for p in parts)
        kinds = tuple(getattr(p, "kind", None) for p in self.type_params)
        self._seal(kinds, key, parts=parts)

    @printable
    def __str__(self) -> str:
        generic = f"[{', '.join(map(str, self.type_params))}]" if self.type_params else ""
        args = ", ".join(map(str, self.arg_types))
        return f"fn {generic}({args}) -> {self.ret_type}"


class TypeVar(Type):
    """A type parameter; two of the same name are different."""

    __slots__ = ("kind", "name_hint")
    name_hint: str
    kind: TypeKind

    def __init__(self, name_hint: str, kind: TypeKind = TypeKind.Type):
        object.__setattr__(self, "name_hint", name_hint)
        object.__setattr__(self, "kind", TypeKind(kind))
        self._seal(id(self))

    @property
    def name(self) -> str:
        return self.name_hint

    def __call__(self, *args: Type) -> TypeCall:
        return TypeCall(self, args)

    @printable
    def __str__(self) -> str:
        return self.name_hint


class IncompleteType(Type):
    """A hole that type inference has to resolve; two holes are different."""

    __slots__ = ("kind",)
    kind: TypeKind

    def __init__(self, kind: TypeKind = TypeKind.Type):
        object.__setattr__(self, "kind", TypeKind(kind))
        self._seal(id(self), has_holes=True)

    @printable
    def __str__(self) -> str:
        return "_"


class RefType(Type):
    """A mutable cell holding `value`."""

    __slots__ = ("value",)
    value: Type

    def __init__(self, value: Type):
        object.__setattr__(self, "value", value)
        self._seal(value, parts=(value,))

    @printable
    def __str__(self) -> str:
        return f"ref({self.value})"


class GlobalTypeVar(Type):
    """The name of an algebraic data type."""

    __slots__ = ("kind", "name_hint")
    name_hint: str
    kind: TypeKind

    def __init__(self, name_hint: str, kind: TypeKind = TypeKind.AdtHandle):
        object.__setattr__(self, "name_hint", name_hint)
        object.__setattr__(self, "kind", TypeKind(kind))
        self._seal(name_hint)

    def __call__(self, *args: Type) -> TypeCall:
        return TypeCall(self, args)

    @printable
    def __str__(self) -> str:
        return self.name_hint


class TypeCall(Type):
    """An algebraic data type applied to type arguments, `List[int32]`; `Color[]` without any."""

    __slots__ = ("args", "func")
    func: Type
    args: tuple[Type, ...]

    def __init__(self, func: Type, args: Sequence[Type]):
        object.__setattr__(self, "func", func)
        object.__setattr__(self, "args", tuple(args))
        self._seal(func, self.args, parts=(func, *self.args))

    @printable
    def __str__(self) -> str:
        return f"{self.func}[{', '.join(map(str, self.args))}]"


class TypeConstraint(Type):
    """A constraint on the types of a function; base of TypeRelation."""

    __slots__ = ()


class TypeRelation(TypeConstraint):
    """States that relation `func` holds between `args`: `num_inputs` inputs, then the results.

    Only stored, as in TVM's function types; inference uses the relations of the operators.
    """

    __slots__ = ("args", "attrs", "func", "num_inputs")
    func: object
    args: tuple[Type, ...]
    num_inputs: int
    attrs: object

    def __init__(self, func: object, args: Sequence[Type], num_inputs: int, attrs: object):
        object.__setattr__(self, "func", func)
        object.__setattr__(self, "args", tuple(args))
        object.__setattr__(self, "num_inputs", int(num_inputs))
        object.__setattr__(self, "attrs", attrs)
        self._seal(func, self.args, self.num_inputs, attrs, parts=self.args)

    @printable
    def __str__(self) -> str:
        name = getattr(self.func, "name", self.func)
        return f"{name}({', '.join(map(str, self.args))})"


def parts_of(ty: Type) -> tuple[Type, ...]:
    """The direct component types of `ty`, in print order."""
    if isinstance(ty, TupleType):
        return ty.fields
    if isinstance(ty, FuncType):
        return (*ty.arg_types, ty.ret_type)
    if isinstance(ty, RefType):
        return (ty.value,)
    if isinstance(ty, TypeCall):
        return (ty.func, *ty.args)
    if isinstance(ty, TypeRelation):
        return ty.args
    return ()


def with_parts(ty: Type, parts: Sequence[Type]) -> Type:
    """`ty` with other component types (as many as `parts_of` returned)."""
    if isinstance(ty, TupleType):
        return TupleType(parts)
    if isinstance(ty, FuncType):
        return FuncType(parts[:-1], parts[-1], ty.type_params, ty.type_constraints)
    if isinstance(ty, RefType):
        return RefType(parts[0])
    if isinstance(ty, TypeCall):
        return TypeCall(parts[0], parts[1:])
    if isinstance(ty, TypeRelation):
        return TypeRelation(ty.func, parts, ty.num_inputs, ty.attrs)
    return ty


def replace(ty: Type, types: dict[Type, Type]) -> Type:
    """`ty` with some of its types (mostly type variables) replaced."""
    if ty in types:
        return types[ty]
    parts = parts_of(ty)
    if not parts or not types:
        return ty
    new = [replace(p, types) for p in parts]
    if isinstance(ty, FuncType) and ty.type_constraints:
        constraints = [replace(c, types) for c in ty.type_constraints]
        return FuncType(new[:-1], new[-1], ty.type_params, constraints)
    return ty if all(x is y for x, y in zip(parts, new, strict=True)) else with_parts(ty, new)


def with_dims(ty: Type, change: Callable[[Symbolic], Dim]) -> Type:
    """`ty` with `change` applied to every symbolic dimension."""
    if not ty.has_symbols:
        return ty
    if isinstance(ty, TensorType):
        shape = [change(d) if isinstance(d, Symbolic) else d for d in ty.shape]
        return TensorType(shape, ty.dtype)
    return with_parts(ty, [with_dims(p, change) for p in parts_of(ty)])
