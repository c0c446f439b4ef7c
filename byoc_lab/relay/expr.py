"""The nodes of Relay.

A node never changes; a pass that leaves a subtree alone keeps the very object, so `a is b` answers
"did anything change". Sharing is identity: a node that is used twice is computed once. `parts` and
`with_parts` let every traversal (`visit.py`) treat all kinds of node alike.

Source: the node kinds and fields of TVM 0.16 (`tvm.relay.expr`, `tvm.relay.function`).
"""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, NoReturn

import numpy as np

from byoc_lab import display
from byoc_lab.errors import DuplicateNameError, TypeInferenceError, UnknownNameError
from byoc_lab.relay.attrs import Attrs, DictAttrs
from byoc_lab.relay.ndarray import NDArray
from byoc_lab.relay.span import Span
from byoc_lab.relay.types import TensorType, Type

_set = object.__setattr__


class Expr:
    """Base of all nodes. `==` is identity, as in Relay; use `structural_equal` to compare."""

    __slots__ = ("__weakref__", "_checked_type", "span")
    _checked_type: Type | None
    span: Span | None

    def __init__(self, span: Span | None = None):
        _set(self, "_checked_type", None)
        _set(self, "span", span)

    @property
    def checked_type(self) -> Any:
        """The inferred `Type`. Raises TypeInferenceError before InferType ran."""
        if self._checked_type is None:
            raise TypeInferenceError(
                f"{describe(self)} has no type yet: run relay.transform.InferType() on its module"
            )
        return self._checked_type

    def same_as(self, other: object) -> bool:
        """Whether `other` is this very node."""
        return self is other

    @property
    def is_typed(self) -> bool:
        return self._checked_type is not None

    def parts(self) -> tuple[Expr, ...]:
        """The expressions this node is made of, in evaluation order."""
        return ()

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        """This node made of other parts: a new node, not typed yet, from the same place."""
        return self

    def part_names(self) -> tuple[str, ...]:
        """For each of `parts`, the field it is found in, as a path shows it: `.args[1]`."""
        return tuple(f".{name}" for name, _ in zip(self.__slots__, self.parts(), strict=False))

    def binds(self) -> tuple[Var, ...]:
        """The variables that this node itself gives a meaning, in some of its parts."""
        return ()

    def with_type(self, ty: Type, **fields: Any) -> Any:
        """A copy of this node of checked type `ty`, and with other `fields` (those that type
        inference fills in); the node itself when all of that holds already."""
        fields["_checked_type"] = ty
        if all(getattr(self, name) == value for name, value in fields.items()):
            return self
        twin = object.__new__(type(self))
        cls: Any = type(self)
        for name in _all_slots(cls):
            _set(twin, name, fields[name] if name in fields else getattr(self, name))
        return twin

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot set {name!r}")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name!r}")

    def __call__(self, *args: Any) -> Call:
        return Call(self, args)

    def astext(self, show_meta_data: bool = True, annotate: Any = None, **options: Any) -> str:
        """This expression as Relay text (see `relay.print_text` for the options)."""
        from byoc_lab.relay.printer import print_text

        return print_text(self, show_meta_data=show_meta_data, annotate=annotate, **options)

    def __str__(self) -> str:
        return self.astext(show_meta_data=False, header=False)

    def __repr__(self) -> str:
        return f"<{describe(self)}>"

    # Python's operators stand for Relay's broadcasting ones; a bare number has no dtype, so it is
    # refused as TVM does.
    def __add__(self, other: Any) -> Call:
        return _operator("add", self, other)

    def __sub__(self, other: Any) -> Call:
        return _operator("subtract", self, other)

    def __mul__(self, other: Any) -> Call:
        return _operator("multiply", self, other)

    def __truediv__(self, other: Any) -> Call:
        return _operator("divide", self, other)

    def __lt__(self, other: Any) -> Call:
        return _operator("less", self, other)

    def __le__(self, other: Any) -> Call:
        return _operator("less_equal", self, other)

    def __gt__(self, other: Any) -> Call:
        return _operator("greater", self, other)

    def __ge__(self, other: Any) -> Call:
        return _operator("greater_equal", self, other)

    def __neg__(self) -> Call:
        return Call(Op.get("negative"), [self])

    def astype(self, dtype: str) -> Call:
        op = Op.get("cast")
        return Call(op, [self], op.definition.attrs.make(dtype=dtype))


RelayExpr = Expr


@cache
def _all_slots(cls: Any) -> list[str]:
    slots = [s for c in cls.__mro__ for s in getattr(c, "__slots__", ())]
    return [s for s in slots if s != "__weakref__"]


def _operator(name: str, lhs: Expr, rhs: Any) -> Call:
    if isinstance(rhs, TupleWrapper):
        rhs = rhs.tuple_value
    if not isinstance(rhs, Expr):
        raise TypeError(f"{name}: found {rhs!r}; make it an expression first: relay.const({rhs!r})")
    return Call(Op.get(name), [lhs, rhs])


class VarId:
    """What variables of one origin share; compared by identity."""

    __slots__ = ("name_hint",)

    def __init__(self, name_hint: str):
        self.name_hint = name_hint


class Var(Expr):
    """A local variable: parameter, let-bound, or free. Two of one name are different.

    `vid` stays the same through passes that re-create the variable with a type annotation.
    """

    __slots__ = ("name_hint", "type_annotation", "vid")
    vid: object
    type_annotation: Type | None
    name_hint: str

    def __init__(
        self,
        name_hint: str,
        type_annotation: Type | None = None,
        span: Span | None = None,
        vid: object = None,
    ):
        super().__init__(span)
        if not isinstance(name_hint, str):
            raise TypeError(f"a variable is named by a string, found {name_hint!r}")
        _set(self, "name_hint", str(name_hint))
        _set(self, "vid", vid if vid is not None else VarId(name_hint))
        _set(self, "type_annotation", type_annotation)

    def with_annotation(self, ty: Type) -> Var:
        return Var(self.name_hint, ty, self.span, self.vid)


class GlobalVar(Expr):
    """The name of a function of a module."""

    __slots__ = ("name_hint",)
    name_hint: str

    def __init__(self, name_hint: str, span: Span | None = None):
        super().__init__(span)
        _set(self, "name_hint", str(name_hint))

    @property
    def name(self) -> str:
        return self.name_hint


class Constant(Expr):
    """A tensor known at compile time. `elided`: a stand-in for data that a text left out."""

    __slots__ = ("data", "elided")
    data: NDArray
    elided: bool

    def __init__(self, data: Any, span: Span | None = None, elided: bool = False):
        super().__init__(span)
        _set(self, "data", data if isinstance(data, NDArray) else NDArray(data))
        _set(self, "elided", elided)

    def numpy(self) -> np.ndarray:
        return self.data.numpy()


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
                    f"argument {n} of {describe(op)} must be an expression, found {a!r}"
                )
        _set(self, "op", op)
        _set(self, "args", args)
        _set(self, "attrs", attrs)
        _set(self, "type_args", tuple(type_args or ()))

    def parts(self) -> tuple[Expr, ...]:
        return (self.op, *self.args)

    def part_names(self) -> tuple[str, ...]:
        return (".op", *(f".args[{n}]" for n in range(len(self.args))))

    def with_parts(self, parts: Sequence[Expr]) -> Call:
        return Call(parts[0], parts[1:], self.attrs, self.type_args, self.span)

    def is_op(self, name: str) -> bool:
        """Whether this calls the operator of that name."""
        return type(self.op) is Op and self.op.name == name

    @property
    def op_name(self) -> str:
        """The name of the operator that is called; "" for another callee."""
        return self.op.name if isinstance(self.op, Op) else ""


class Function(Expr):
    """`fn (params) -> ret_type { body }`; an inner one may use variables from outside."""

    __slots__ = ("attrs", "body", "params", "ret_type", "type_params")
    params: tuple[Var, ...]
    body: Expr
    ret_type: Type | None
    type_params: tuple[Type, ...]
    attrs: Attrs

    def __init__(
        self,
        params: Sequence[Var],
        body: Expr,
        ret_type: Type | None = None,
        type_params: Sequence[Type] | None = None,
        attrs: Attrs | Mapping[str, Any] | None = None,
        span: Span | None = None,
    ):
        super().__init__(span)
        if isinstance(body, TupleWrapper):
            body = body.tuple_value
        for p in params:
            if not isinstance(p, Var):
                raise TypeError(f"a function parameter must be a Var, found {p!r}")
        if not isinstance(body, Expr):
            raise TypeError(f"a function body must be an expression, found {body!r}")
        _set(self, "params", tuple(params))
        _set(self, "body", body)
        _set(self, "ret_type", ret_type)
        _set(self, "type_params", tuple(type_params or ()))
        _set(self, "attrs", attrs if isinstance(attrs, Attrs) else DictAttrs(attrs or {}))

    def parts(self) -> tuple[Expr, ...]:
        return (*self.params, self.body)

    def part_names(self) -> tuple[str, ...]:
        return (*(f".params[{n}]" for n in range(len(self.params))), ".body")

    def binds(self) -> tuple[Var, ...]:
        return self.params

    def with_parts(self, parts: Sequence[Expr]) -> Function:
        return self.replace(params=parts[:-1], body=parts[-1])

    def replace(self, **changes: Any) -> Function:
        """A copy with some of params, body, ret_type, type_params, attrs, span changed."""
        names = ("params", "body", "ret_type", "type_params", "attrs", "span")
        return Function(**{n: changes.pop(n, getattr(self, n)) for n in names}, **changes)

    def with_attr(self, key: str | Mapping[str, Any], value: Any = None) -> Function:
        """A copy with one attribute (or a dict of them) set."""
        more = {key: value} if isinstance(key, str) else dict(key)
        return self.replace(attrs=DictAttrs({**self.attrs, **more}))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return display.mimebundle(self)

    with_attrs = with_attr  # TVM has a function for a dict alone

    def without_attr(self, key: str) -> Function:
        kept = {k: v for k, v in self.attrs.items() if k != key}
        return self.replace(attrs=DictAttrs(kept))


class Let(Expr):
    """`let var = value; body`. Recursive only when `value` is a Function.

    The value comes before the variable in `parts`: that is the order of evaluation.
    """

    __slots__ = ("body", "value", "var")
    var: Var
    value: Expr
    body: Expr

    def __init__(self, variable: Var, value: Expr, body: Expr, span: Span | None = None):
        super().__init__(span)
        _set(self, "var", variable)
        _set(self, "value", value.tuple_value if isinstance(value, TupleWrapper) else value)
        _set(self, "body", body.tuple_value if isinstance(body, TupleWrapper) else body)

    def parts(self) -> tuple[Expr, ...]:
        return (self.value, self.var, self.body)

    def part_names(self) -> tuple[str, ...]:
        return (".value", ".var", ".body")

    def binds(self) -> tuple[Var, ...]:
        return (self.var,)

    def with_parts(self, parts: Sequence[Expr]) -> Let:
        value, variable, body = parts
        return Let(variable, value, body, self.span)  # type: ignore[arg-type]


class If(Expr):
    """`if (cond) { true_branch } else { false_branch }`; cond is a scalar bool."""

    __slots__ = ("cond", "false_branch", "true_branch")
    cond: Expr
    true_branch: Expr
    false_branch: Expr

    def __init__(self, cond: Expr, true_branch: Expr, false_branch: Expr, span: Span | None = None):
        super().__init__(span)
        _set(self, "cond", cond)
        _set(self, "true_branch", true_branch)
        _set(self, "false_branch", false_branch)

    def parts(self) -> tuple[Expr, ...]:
        return (self.cond, self.true_branch, self.false_branch)

    def part_names(self) -> tuple[str, ...]:
        return (".cond", ".true_branch", ".false_branch")

    def with_parts(self, parts: Sequence[Expr]) -> If:
        cond, true_branch, false_branch = parts
        return If(cond, true_branch, false_branch, self.span)


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
        _set(self, "fields", made)

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
        _set(self, "tuple_value", tuple_value)
        _set(self, "index", int(index))

    def parts(self) -> tuple[Expr, ...]:
        return (self.tuple_value,)

    def part_names(self) -> tuple[str, ...]:
        return (".tuple_value",)

    def with_parts(self, parts: Sequence[Expr]) -> TupleGetItem:
        return TupleGetItem(parts[0], self.index, self.span)


class RefCreate(Expr):
    """`ref(value)`: a new mutable cell."""

    __slots__ = ("value",)
    value: Expr

    def __init__(self, value: Expr, span: Span | None = None):
        super().__init__(span)
        _set(self, "value", value)

    def parts(self) -> tuple[Expr, ...]:
        return (self.value,)

    def with_parts(self, parts: Sequence[Expr]) -> RefCreate:
        return RefCreate(parts[0], self.span)


class RefRead(Expr):
    """`ref_read(ref)`."""

    __slots__ = ("ref",)
    ref: Expr

    def __init__(self, ref: Expr, span: Span | None = None):
        super().__init__(span)
        _set(self, "ref", ref)

    def parts(self) -> tuple[Expr, ...]:
        return (self.ref,)

    def with_parts(self, parts: Sequence[Expr]) -> RefRead:
        return RefRead(parts[0], self.span)


class RefWrite(Expr):
    """`ref_write(ref, value)`; its own value is the empty tuple."""

    __slots__ = ("ref", "value")
    ref: Expr
    value: Expr

    def __init__(self, ref: Expr, value: Expr, span: Span | None = None):
        super().__init__(span)
        _set(self, "ref", ref)
        _set(self, "value", value)

    def parts(self) -> tuple[Expr, ...]:
        return (self.ref, self.value)

    def with_parts(self, parts: Sequence[Expr]) -> RefWrite:
        return RefWrite(parts[0], parts[1], self.span)


@dataclass(frozen=True)
class Argument:
    """An argument of an operator."""

    name: str


class Op(Expr):
    """An operator. There is one object per name; `definition` is its entry in the registry."""

    __slots__ = ("_attributes", "definition", "name")
    name: str
    definition: Any  # an OpDef; its module builds on this one
    _attributes: dict[str, tuple[Any, int]]
    _registry: dict[str, Op] = {}

    def __init__(self, name: str, definition: Any):
        super().__init__()
        if name in Op._registry:
            raise DuplicateNameError(f"operator {name!r} is defined twice")
        _set(self, "name", name)
        _set(self, "definition", definition)
        _set(self, "_attributes", {})
        Op._registry[name] = self

    @staticmethod
    def get(name: str) -> Op:
        """The operator of that name. Raises UnknownNameError with the nearest names."""
        try:
            return Op._registry[name]
        except KeyError:
            near = difflib.get_close_matches(name, Op._registry, n=3)
            hint = f"; did you mean {' or '.join(near)}?" if near else ""
            raise UnknownNameError(f"no operator is named {name!r}{hint}") from None

    @staticmethod
    def list_op_names() -> list[str]:
        return sorted(Op._registry)

    def has_attr(self, key: str) -> bool:
        return key in self._attributes

    def get_attr(self, key: str) -> Any:
        """An attribute such as "target.dnnl", or None."""
        value, _ = self._attributes.get(key, (None, 0))
        return value

    @property
    def num_inputs(self) -> int:
        """How many arguments the operator takes."""
        return len(self.definition.inputs)

    @property
    def arguments(self) -> list[Argument]:
        """The arguments, by name."""
        return [Argument(name.rstrip("*")) for name in self.definition.inputs]

    def set_attr(self, key: str, value: Any, plevel: int = 10) -> None:
        """Set an attribute; one that was set with a higher `plevel` stays."""
        _, known = self._attributes.get(key, (None, plevel))
        if plevel >= known:
            self._attributes[key] = (value, plevel)

    def reset_attr(self, key: str) -> None:
        self._attributes.pop(key, None)


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

    def __getitem__(self, index: int) -> TupleGetItem:
        if not 0 <= index < self.size:
            raise IndexError(f"tuple index must be in [0, {self.size}), found {index}")
        return TupleGetItem(self.tuple_value, index)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[TupleGetItem]:
        return (self[i] for i in range(self.size))


def var(
    name_hint: str,
    type_annotation: Type | str | None = None,
    shape: Sequence[Any] | None = None,
    dtype: str = "float32",
    span: Span | None = None,
) -> Var:
    """A new variable, typed by a type or by shape and dtype; untyped when neither is given."""
    if type_annotation is not None and shape is not None:
        raise ValueError("relay.var takes a type annotation or a shape, not both")
    if shape is not None:
        type_annotation = TensorType(shape, dtype)
    elif isinstance(type_annotation, str):
        type_annotation = TensorType((), type_annotation)
    return Var(name_hint, type_annotation, span)


def const(value: Any, dtype: str | None = None, span: Span | None = None) -> Constant:
    """A constant. Without `dtype`, float64 becomes float32 and int64 int32, as in TVM; an NDArray
    (`tvm.nd.array`) is taken as it is."""
    if isinstance(value, NDArray):
        return Constant(value, span)
    data = np.array(value, dtype=dtype)
    if data.dtype.kind in "OSU":
        raise TypeError(f"relay.const takes numbers or arrays of them, found {value!r}")
    if dtype is None:
        narrow = {"int64": "int32", "float64": "float32"}
        data = data.astype(narrow.get(data.dtype.name, data.dtype))
    return Constant(data, span)


def bind(expr: Expr, binds: Mapping[Var, Expr]) -> Expr:
    """`expr` with variables replaced; replaced parameters of a Function are dropped from it."""
    from byoc_lab.relay.visit import substitute

    if isinstance(expr, Function):
        body = substitute(expr.body, binds)
        kept = [p for p in expr.params if p not in binds]
        return expr.replace(params=kept, body=body)
    return substitute(expr, binds)


def describe(expr: object) -> str:
    """A node in a few words, for messages: kind and name, never the whole text."""
    if isinstance(expr, Var):
        return f"variable %{expr.name_hint}"
    if isinstance(expr, GlobalVar):
        return f"global @{expr.name_hint}"
    if isinstance(expr, Op):
        return f"operator {expr.name}"
    if isinstance(expr, Call):
        return (
            f"call of {describe(expr.op)}"
            if not isinstance(expr.op, Op)
            else f"{expr.op.name}(...)"
        )
    if isinstance(expr, Constant):
        return f"constant {TensorType(expr.data.shape, expr.data.dtype)}"
    if isinstance(expr, TupleGetItem):
        return f"projection .{expr.index} of {describe(expr.tuple_value)}"
    if isinstance(expr, Function):
        label = expr.attrs.get("Composite") or expr.attrs.get("global_symbol")
        return f"function {label}" if label else f"function of {len(expr.params)} parameters"
    if isinstance(expr, Let):
        return f"let %{expr.var.name_hint}"
    name = getattr(expr, "name_hint", None)
    return f"{type(expr).__name__.lower()} {name}" if name else type(expr).__name__
