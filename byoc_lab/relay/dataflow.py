"""Plain dataflow (calls, tuples, projections), and what it begins with: variables, constants.

Source: `tvm.relay.expr` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from byoc_lab.relay.attrs import Attrs
from byoc_lab.relay.ndarray import NDArray
from byoc_lab.relay.node import Expr, Op, set_field
from byoc_lab.relay.span import Span
from byoc_lab.relay.types import TensorType, Type


class VarId:
    """What variables of one origin share; compared by identity."""

    __slots__ = ("name_hint",)

    def __init__(self, name_hint: str):
        self.name_hint = name_hint

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very origin."""
        return self is other


class Var(Expr):
    """A local variable: parameter, let-bound, or free. Two of one name are different.

    `vid` stays the same through passes that re-create the variable with a type annotation.
    `device` is where the value is to be (attributes "VirtualDevice"); None when that is open.
    """

    __slots__ = ("device", "name_hint", "type_annotation", "vid")
    device: Attrs | None
    vid: object
    type_annotation: Type | None
    name_hint: str

    def __init__(
        self,
        name_hint: str,
        type_annotation: Type | None = None,
        span: Span | None = None,
        vid: object = None,
        device: Attrs | None = None,
    ):
        super().__init__(span)
        if not isinstance(name_hint, str):
            raise TypeError(f"a variable is named by a string, found {name_hint!r}")
        set_field(self, "name_hint", str(name_hint))
        set_field(self, "vid", vid if vid is not None else VarId(name_hint))
        set_field(self, "type_annotation", type_annotation)
        set_field(self, "device", device)

    def in_words(self) -> str:
        return f"variable %{self.name_hint}"

    def __repr__(self) -> str:
        annotated = "" if self.type_annotation is None else f", ty={self.type_annotation!r}"
        return f"Var({self.name_hint}{annotated})"

    def with_annotation(self, ty: Type) -> Var:
        return Var(self.name_hint, ty, self.span, self.vid, self.device)


class GlobalVar(Expr):
    """The name of a function of a module."""

    __slots__ = ("name_hint",)
    name_hint: str

    def __init__(self, name_hint: str, span: Span | None = None):
        super().__init__(span)
        set_field(self, "name_hint", str(name_hint))

    @property
    def name(self) -> str:
        return self.name_hint

    def in_words(self) -> str:
        return f"global @{self.name_hint}"


class Constant(Expr):
    """A tensor known at compile time. `elided`: a stand-in for data that a text left out."""

    __slots__ = ("data", "elided")
    data: NDArray
    elided: bool

    def __init__(self, data: Any, span: Span | None = None, elided: bool = False):
        super().__init__(span)
        set_field(self, "data", data if isinstance(data, NDArray) else NDArray(data))
        set_field(self, "elided", elided)

    def in_words(self) -> str:
        return f"constant {TensorType(self.data.shape, self.data.dtype)}"

    def numpy(self) -> np.ndarray:
        return self.data.view()


def _shortly(part: Expr) -> str:
    """A node that another is made of, in words; chains of nodes without names are cut short."""
    if isinstance(part, TupleGetItem):
        return "a projection"
    return "a call" if isinstance(part, Call) and not part.op_name else part.in_words()


class Call(Expr):
    """`op` (an operator, function, global or variable) applied to `args`."""

    __slots__ = ("args", "attrs", "op", "type_args")
    op: Expr
    args: tuple[Expr, ...]
    attrs: Any  # Attrs, or None for an operator without any
    type_args: tuple[Type, ...]

    def __init__(
        self,
        op: Expr,
        args: Sequence[Expr],
        attrs: Attrs | None = None,
        type_args: Sequence[Type] | None = None,
        span: Span | None = None,
    ):
        super().__init__(span)
        args = tuple(a.tuple_value if isinstance(a, TupleWrapper) else a for a in args)
        for n, a in enumerate(args):
            if not isinstance(a, Expr):
                raise TypeError(
                    f"argument {n} of {op.in_words()} must be an expression, found {a!r}"
                )
        set_field(self, "op", op)
        set_field(self, "args", args)
        set_field(self, "attrs", attrs)
        set_field(self, "type_args", tuple(type_args or ()))

    def parts(self) -> tuple[Expr, ...]:
        return (self.op, *self.args)

    def part_names(self) -> tuple[str, ...]:
        return (".op", *(f".args[{n}]" for n in range(len(self.args))))

    def with_parts(self, parts: Sequence[Expr]) -> Call:
        return Call(parts[0], parts[1:], self.attrs, self.type_args, self.span)

    def in_words(self) -> str:
        if isinstance(self.op, Op):
            return f"{self.op.name}(...)"
        return f"call of {_shortly(self.op)}"

    def is_op(self, name: str) -> bool:
        """Whether this calls the operator of that name."""
        return type(self.op) is Op and self.op.name == name

    @property
    def op_name(self) -> str:
        """The name of the operator that is called; "" for another callee."""
        return self.op.name if isinstance(self.op, Op) else ""


class Tuple(Expr):
    """`(fields...)`."""

    __slots__ = ("fields",)
    fields: tuple[Expr, ...]

    def __init__(self, fields: Sequence[Expr], span: Span | None = None):
        super().__init__(span)
        made = tuple(f.tuple_value if isinstance(f, TupleWrapper) else f for f in fields)
        for n, f in enumerate(made):
            if not isinstance(f, Expr):
                raise TypeError(f"field {n} of a tuple must be an expression, found {f!r}")
        set_field(self, "fields", made)

    def parts(self) -> tuple[Expr, ...]:
        return self.fields

    def part_names(self) -> tuple[str, ...]:
        return tuple(f".fields[{n}]" for n in range(len(self.fields)))

    def with_parts(self, parts: Sequence[Expr]) -> Tuple:
        return Tuple(parts, self.span)

    def __getitem__(self, index: int) -> Expr:
        return self.fields[index]

    def __len__(self) -> int:
        return len(self.fields)


class TupleGetItem(Expr):
    """`tuple_value.index`."""

    __slots__ = ("index", "tuple_value")
    tuple_value: Expr
    index: int

    def __init__(self, tuple_value: Expr, index: int, span: Span | None = None):
        super().__init__(span)
        set_field(self, "tuple_value", tuple_value)
        set_field(self, "index", int(index))

    def in_words(self) -> str:
        return f"projection .{self.index} of {_shortly(self.tuple_value)}"

    def parts(self) -> tuple[Expr, ...]:
        return (self.tuple_value,)

    def part_names(self) -> tuple[str, ...]:
        return (".tuple_value",)

    def with_parts(self, parts: Sequence[Expr]) -> TupleGetItem:
        return TupleGetItem(parts[0], self.index, self.span)


class TupleWrapper:
    """What a builder of an operator with several results gives: indexable, `.astuple()`.

    Each `wrapper[i]` is a new TupleGetItem over the same call, as in TVM.
    """

    __slots__ = ("size", "tuple_value")

    def __init__(self, tuple_value: Expr, size: int):
        self.tuple_value = tuple_value
        self.size = size

    def astuple(self) -> Expr:
        return self.tuple_value

    def astext(self) -> str:
        """The text of the call whose results these are."""
        return self.tuple_value.astext()

    def __getitem__(self, index: int) -> TupleGetItem:
        if not 0 <= index < self.size:
            raise IndexError(f"tuple index must be in [0, {self.size}), found {index}")
        return TupleGetItem(self.tuple_value, index)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[TupleGetItem]:
        return (self[i] for i in range(self.size))
