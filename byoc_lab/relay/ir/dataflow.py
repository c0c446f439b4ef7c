"""Variables, constants and tuples; calls are in `node.py`.

Source: `tvm.relay.expr` of TVM 0.16.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from byoc_lab.errors import ArgumentError
from byoc_lab.relay.ir.attrs import Attrs
from byoc_lab.relay.ir.ndarray import NDArray
from byoc_lab.relay.ir.node import Expr, TupleWrapper, set_field
from byoc_lab.relay.ir.span import Span
from byoc_lab.relay.ir.types import TensorType, Type


class VarId:
    """The identity that copies of a variable share; compared by object identity."""

    __slots__ = ("name_hint",)

    def __init__(self, name_hint: str):
        self.name_hint = name_hint

    def same_as(self, other: object) -> bool:
        """Whether `other` is the same object."""
        return self is other


class Var(Expr):
    """A local variable: parameter, let-bound, or free. Two variables of the same name are
    different.

    `vid` stays the same through passes that re-create the variable with a type annotation. `device`
    is the device that stores the value (attributes "VirtualDevice"); None if undecided.
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
            raise ArgumentError(f"a variable is named by a string, found {name_hint!r}")
        set_field(self, "name_hint", str(name_hint))
        set_field(self, "vid", vid if vid is not None else VarId(name_hint))
        set_field(self, "type_annotation", type_annotation)
        set_field(self, "device", device)

    def summary(self) -> str:
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

    def summary(self) -> str:
        return f"global @{self.name_hint}"


class Constant(Expr):
    """A tensor known at compile time. `elided`: a placeholder for data that a text omits."""

    __slots__ = ("data", "elided")
    data: NDArray
    elided: bool

    def __init__(self, data: Any, span: Span | None = None, elided: bool = False):
        super().__init__(span)
        set_field(self, "data", data if isinstance(data, NDArray) else NDArray(data))
        set_field(self, "elided", elided)

    def summary(self) -> str:
        return f"constant {TensorType(self.data.shape, self.data.dtype)}"

    def numpy(self) -> np.ndarray:
        return self.data.view()


class Tuple(Expr):
    """`(fields...)`."""

    __slots__ = ("fields",)
    fields: tuple[Expr, ...]

    def __init__(self, fields: Sequence[Expr], span: Span | None = None):
        super().__init__(span)
        made = tuple(f.tuple_value if isinstance(f, TupleWrapper) else f for f in fields)
        for n, f in enumerate(made):
            if not isinstance(f, Expr):
                raise ArgumentError(f"field {n} of a tuple must be an expression, found {f!r}")
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
