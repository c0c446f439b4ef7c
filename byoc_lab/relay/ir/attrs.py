"""Call attributes: typed, documented, immutable records.

An `AttrsType` is the schema that an operator declares (TVM: the attrs class with its type key), an
`Attrs` is one record of the schema. Functions, and calls of anything but an operator, have
`DictAttrs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from byoc_lab.errors import (
    AttributeValueError,
    DuplicateNameError,
    UnknownAttributeError,
    UnknownNameError,
)
from byoc_lab.relay.ir.dims.integers import IntImm
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.ir.types import SHORT_DTYPES, is_dtype

FLOAT_TOLERANCE = 1e-9
REQUIRED = type("Required", (), {"__repr__": lambda self: "REQUIRED"})()


@dataclass(frozen=True)
class Attr:
    """One attribute: its name, the conversion that checks a value, default and documentation.

    A default of `REQUIRED` means that TVM declares none; the printer always shows such a field.
    `may_be_none` says whether None is a valid value (`axis=None`: all axes).
    `fixed`: a dtype that determines the result, so that an evaluation in float64 does not widen it.
    `beyond_tvm`: TVM has no such field. A record has the field only if its value is not the
    default, so that texts, hashes and JSON of all other records are the same as TVM's.
    """

    name: str
    kind: Callable[[Any], Any]
    default: Any = REQUIRED
    doc: str = ""
    may_be_none: bool = False
    fixed: bool = False
    beyond_tvm: bool = False

    def convert(self, value: Any, owner: str) -> Any:
        if value is None and (self.may_be_none or self.default is None):
            return None
        try:
            return self.kind(value)
        except (TypeError, ValueError, OverflowError):
            raise AttributeValueError(
                f"{owner}: attribute {self.name!r} must be {self.kind.__name__}, found {value!r}"
            ) from None


def integer(value: Any) -> int:
    """An `IntImm`, for scripts that read its `value`."""
    if isinstance(value, (bool, str, float)):
        raise TypeError
    return value if isinstance(value, IntImm) else IntImm("int32", int(value))


def number(value: Any) -> float:
    if isinstance(value, (bool, str)):
        raise TypeError
    return float(value)


def boolean(value: Any) -> bool:
    if isinstance(value, bool) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    if type(value).__name__ == "bool_":
        return bool(value)
    raise TypeError


def string(value: Any) -> str:
    """A str; bytes are decoded, because TVM treats both alike."""
    if isinstance(value, bytes):
        return value.decode()
    if not isinstance(value, str):
        raise TypeError
    return str(value)


class DType(str):
    """The name of a dtype: a string that the text format writes without quotes."""


def dtype(value: Any) -> DType:
    """ "float32", numpy.float32, numpy.dtype("float32") -> DType("float32")."""
    if isinstance(value, str):
        value = SHORT_DTYPES.get(value, value)
    if isinstance(value, str) and is_dtype(value):
        return DType(value)
    name = getattr(value, "name", None) or getattr(value, "__name__", None)
    if not isinstance(name, str):
        raise TypeError
    return DType(name)


def numbers(value: Any) -> tuple[float, ...]:
    """A list of ints and floats, not converted: TVM distinguishes both in the text, `[1, 0.5f]`."""
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError
    return tuple(integer(v) if _number_kind(v) is int else number(v) for v in value)


def integers(value: Any) -> tuple[int, ...]:
    if isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        raise TypeError
    return tuple(integer(v) for v in value)


def integer_or_integers(value: Any) -> int | tuple[int, ...]:
    return integer(value) if isinstance(value, int) else integers(value)


def nested_integers(value: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(integers(v) for v in value)


@dataclass(frozen=True, eq=False)
class AttrsType:
    """A schema: TVM's type key and the fields in print order.

    text: prints a record; None for the default, `type_key(field=value, ...)`.
    """

    type_key: str
    fields: tuple[Attr, ...]
    text: Callable[[Attrs], str] | None = None
    by_name: Mapping[str, Attr] = field(init=False, repr=False)
    record: type[Attrs] = field(init=False, repr=False)  # "relay.attrs.Conv2DAttrs": Conv2DAttrs

    def __post_init__(self) -> None:
        object.__setattr__(self, "by_name", {f.name: f for f in self.fields})
        name = self.type_key.rpartition(".")[2]
        object.__setattr__(self, "record", type(name, (Attrs,), {"__slots__": ()}))
        if self.type_key in ATTRS_TYPES:
            raise DuplicateNameError(
                f"attributes {self.type_key} are declared twice; rename one of them"
            )
        ATTRS_TYPES[self.type_key] = self

    def make(self, values: Mapping[str, Any] | None = None, **more: Any) -> Attrs:
        """A checked record; missing fields get their defaults.

        Raises AttributeValueError for an unknown name, a missing value, or a value of a wrong kind.
        """
        given = {**(values or {}), **more}
        checked = {}
        for f in self.fields:
            if f.name in given:
                checked[f.name] = f.convert(given.pop(f.name), self.type_key)
            elif f.default is REQUIRED and not f.may_be_none:
                raise AttributeValueError(
                    f"{self.type_key}: attribute {f.name!r} is required and was not given"
                )
            else:
                checked[f.name] = None if f.default is REQUIRED else f.default
            if f.beyond_tvm and checked[f.name] == f.default:
                del checked[f.name]
        if given:
            raise AttributeValueError(
                f"{self.type_key}: no attribute named {', '.join(map(repr, given))}; "
                f"possible: {', '.join(self.by_name) or 'none'}"
            )
        return self.record(self, checked)


ATTRS_TYPES: dict[str, AttrsType] = {}


def attrs_type(type_key: str) -> AttrsType:
    """The schema of a TVM type key. Raises UnknownNameError."""
    if type_key not in ATTRS_TYPES:
        raise UnknownNameError(f"no attributes of type {type_key!r} are declared")
    return ATTRS_TYPES[type_key]


def attrs_class(name: str) -> type[Attrs]:
    """The class of the records that TVM calls `name`: "Conv2DAttrs". Raises UnknownNameError."""
    return attrs_type(f"relay.attrs.{name}").record


class Attrs:
    """One immutable record: `attrs.strides`, `attrs["strides"]`, `attrs.keys()`.

    Each `AttrsType` has its own subclass, with the name of TVM's class.
    """

    __slots__ = ("_values", "schema")

    def __init__(self, schema: AttrsType | None, values: Mapping[str, Any]):
        object.__setattr__(self, "schema", schema)
        object.__setattr__(self, "_values", dict(values))

    @property
    def type_key(self) -> str:
        return self.schema.type_key if self.schema else "DictAttrs"

    def __getattr__(self, name: str) -> Any:
        return self[name]

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self.type_key} is immutable: cannot set {name!r}")

    def __getitem__(self, name: str) -> Any:
        try:
            return self._values[name]
        except KeyError:
            field = self.schema.by_name.get(name) if self.schema else None
            if field is not None and field.beyond_tvm:
                return field.default
            raise UnknownAttributeError(
                f"{self.type_key} has no attribute {name!r}",
                lambda: f"it has {', '.join(self._values) or 'none'}",
            ) from None

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def keys(self) -> list[str]:
        """The names, in order. A list, like `values` and `items`, because TVM's can be indexed."""
        return list(self._values)

    def values(self) -> list[Any]:
        return list(self._values.values())

    def items(self) -> list[tuple[str, Any]]:
        return list(self._values.items())

    def get(self, name: str, default: Any = None) -> Any:
        return self._values.get(name, default)

    def get_int(self, name: str) -> int:
        return int(self[name])

    def get_str(self, name: str) -> str:
        return str(self[name])

    def get_int_tuple(self, name: str) -> tuple[int, ...]:
        return tuple(int(v) for v in self[name])

    def replace(self, **changes: Any) -> Attrs:
        """A checked copy with some fields changed."""
        values = {**self._values, **changes}
        return self.schema.make(values) if self.schema else DictAttrs(values)

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        return (
            isinstance(other, Attrs)
            and self.type_key == other.type_key
            and self._values.keys() == other._values.keys()
            and all(same_value(v, other._values[k]) for k, v in self._values.items())
        )

    def __hash__(self) -> int:
        exact = ((k, v) for k, v in self._values.items() if not isinstance(v, float))
        return hash((self.type_key, frozenset((k, repr(v)) for k, v in exact)))

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (self.type_key, self._values)

    def __repr__(self) -> str:
        if self.schema and self.schema.text:
            return self.schema.text(self)
        return f"{self.type_key}({', '.join(f'{k}={v!r}' for k, v in self._values.items())})"


def _restored(type_key: str, values: Mapping[str, Any]) -> Attrs:
    """The unpickled record: the class of a schema is found by type key, not by name."""
    schema = attrs_type(type_key)
    return schema.record(schema, values)


class DictAttrs(Attrs):
    """Attributes without a schema; `elided`: a placeholder for attributes that a text omits."""

    __slots__ = ("elided",)

    def __init__(self, values: Mapping[str, Any] | None = None, elided: bool = False):
        super().__init__(None, values or {})
        object.__setattr__(self, "elided", elided)

    def __reduce__(self) -> tuple[Any, ...]:
        return DictAttrs, (self._values, self.elided)

    def __repr__(self) -> str:
        """As in TVM: sorted by name."""
        items = sorted(self._values.items())
        return f"{{{', '.join(f'{_in_text(k)}: {_in_text(v)}' for k, v in items)}}}"


def _in_text(value: Any) -> str:
    if isinstance(value, (tuple, list)):
        return f"[{', '.join(map(_in_text, value))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


def same_value(a: Any, b: Any) -> bool:
    """Equality as Relay sees it: 1 is not 1.0 and not True; sequences element by element.

    Source of the tolerance: `BaseValueEqual`, include/tvm/node/structural_equal.h. The tolerance is
    needed because converting a number to float32 changes it.
    """
    if isinstance(a, (tuple, list)) and isinstance(b, (tuple, list)):
        return len(a) == len(b) and all(map(same_value, a, b))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(same_value(v, b[k]) for k, v in a.items())
    if isinstance(a, str) and isinstance(b, str):
        return str(a) == str(b)
    if isinstance(a, float) and isinstance(b, float):
        return a == b or abs(a - b) < FLOAT_TOLERANCE or (a != a and b != b)
    x, y = getattr(a, "data", None), getattr(b, "data", None)
    if type(a) is type(b) and isinstance(x, NDArray) and isinstance(y, NDArray):
        # Attribute values that are constants, such as the bounds of arange.
        x, y = x.numpy(), y.numpy()
        return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()
    return _number_kind(a) is _number_kind(b) and bool(a == b)


def _number_kind(value: Any) -> type:
    """The type of a value; int for subclasses of int, such as enumerations, except bool."""
    whole = isinstance(value, int) and not isinstance(value, bool)
    return int if whole else type(value)
