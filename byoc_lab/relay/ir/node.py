"""The base class of all nodes (`Expr`) and the nodes that it creates: operators (`Op`), their
calls (from `x + y` and `x(y)`), and projections of calls with several results.

Source: `tvm.ir.RelayExpr`, `tvm.ir.Op`, `tvm.relay.expr` of TVM 0.16.
"""

from __future__ import annotations

import difflib
import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NoReturn

from byoc_lab.errors import ArgumentError, DuplicateNameError, UnknownNameError, UntypedError
from byoc_lab.printing import printable
from byoc_lab.relay.ir.attrs import Attrs, attrs_type
from byoc_lab.relay.ir.node_code import NODE_CODE
from byoc_lab.relay.ir.span import Span
from byoc_lab.relay.ir.types import Type

set_field = object.__setattr__


class Expr:
    """Base of all nodes. `==` is identity, as in Relay; use `structural_equal` to compare."""

    __slots__ = ("__weakref__", "_checked_type", "span")
    _checked_type: Type | None
    span: Span | None

    def __init__(self, span: Span | None = None):
        set_field(self, "_checked_type", None)
        set_field(self, "span", span)

    @property
    def checked_type(self) -> Any:
        """The inferred `Type`. Raises UntypedError if InferType has not run."""
        if self._checked_type is None:
            raise UntypedError(
                f"{self.summary()} has no type yet: run relay.transform.InferType() on its module"
            )
        return self._checked_type

    def same_as(self, other: object) -> bool:
        """Whether `other` is the same node."""
        return self is other

    @property
    def virtual_device_(self) -> Any:
        """The device that stores the value, `VirtualDevice(?)` if undecided.

        Only variables and functions keep a device; TVM's other nodes have a device too, but TVM
        neither prints nor compares it.
        """
        return getattr(self, "device", None) or attrs_type("VirtualDevice").make()

    @property
    def is_typed(self) -> bool:
        return self._checked_type is not None

    def parts(self) -> tuple[Expr, ...]:
        """The direct sub-expressions, in evaluation order."""
        return ()

    def with_parts(self, parts: Sequence[Expr]) -> Expr:
        """A new, untyped node with other parts and the same span."""
        return self

    def part_names(self) -> tuple[str, ...]:
        """For each of `parts`, its field as part of a path: `.args[1]`."""
        return tuple(f".{name}" for name, _ in zip(self.__slots__, self.parts(), strict=False))

    def binds(self) -> tuple[Expr, ...]:
        """The variables (`Var`) that this node itself binds, in some of its parts."""
        return ()

    def with_type(self, ty: Type, **fields: Any) -> Any:
        """A copy of this node with checked type `ty` and new values for `fields` (annotations that
        type inference completes); the node itself if nothing changes."""
        fields["_checked_type"] = ty
        if all(getattr(self, name) == value for name, value in fields.items()):
            return self
        copy = object.__new__(type(self))
        cls: Any = type(self)
        for name in all_slots(cls):
            set_field(copy, name, fields[name] if name in fields else getattr(self, name))
        return copy

    def summary(self) -> str:
        """A short description for messages: kind and name, never the whole text."""
        name = getattr(self, "name_hint", None)
        return f"{type(self).__name__.lower()} {name}" if name else type(self).__name__

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} is immutable: cannot set {name!r}. Create a new node, or "
            f"keep data about nodes in a dictionary: nodes are hashed by identity"
        )

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} is immutable: cannot delete {name!r}")

    def __call__(self, *args: Any) -> Call:
        return Call(self, args)

    def astext(self, show_meta_data: bool = True, annotate: Any = None, **options: Any) -> str:
        """This expression as Relay text (see `relay.print_text` for the options)."""
        return NODE_CODE().print_text(
            self, show_meta_data=show_meta_data, annotate=annotate, **options
        )

    @printable
    def __str__(self) -> str:
        return NODE_CODE().print_shown(self)

    def __repr__(self) -> str:
        return f"<{self.summary()}>"

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles contain everything below the node, at any depth (see `pickling`)."""
        return NODE_CODE().reduce(self)

    # Python's operators create calls of Relay's broadcasting operators. A plain number has no
    # dtype, so it is rejected, as in TVM.
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


def describe(expr: object) -> str:
    """A short description of a node, for messages; the class name of anything else."""
    return expr.summary() if isinstance(expr, Expr) else type(expr).__name__


def checked_part(what: str, part: Any) -> Any:
    """`part` if it is an expression; the tuple of a TupleWrapper. Raises ArgumentError."""
    part = part.tuple_value if isinstance(part, TupleWrapper) else part
    if not isinstance(part, Expr):
        raise ArgumentError(f"{what} must be an expression, found {part!r:.200}")
    return part


@cache
def all_slots(cls: Any) -> list[str]:
    """The names of a node's fields, including inherited ones."""
    slots = [s for c in cls.__mro__ for s in getattr(c, "__slots__", ())]
    return [s for s in slots if s != "__weakref__"]


def _operator(name: str, lhs: Expr, rhs: Any) -> Call:
    if isinstance(rhs, TupleWrapper):
        rhs = rhs.tuple_value
    if not isinstance(rhs, Expr):
        raise ArgumentError(
            f"{name}: found {rhs!r}; make it an expression first: relay.const({rhs!r})"
        )
    return Call(Op.get(name), [lhs, rhs])


@dataclass(frozen=True)
class Argument:
    """The declaration of an argument of an operator."""

    name: str


class Op(Expr):
    """An operator, one object per name; `definition` is its entry in the registry."""

    __slots__ = ("_attributes", "definition", "name")
    name: str
    definition: Any  # an OpDef, whose module imports this module
    _attributes: dict[str, tuple[Any, int]]
    _registry: dict[str, Op] = {}
    elsewhere: ClassVar[dict[str, str]] = {}
    """Operator names -> the module that defines them, if no module of this package imports it."""
    unsupported: ClassVar[dict[str, str]] = {}
    """Prefix of unsupported operators' names -> advice."""

    def __init__(self, name: str, definition: Any):
        super().__init__()
        if name in Op._registry:
            raise DuplicateNameError(f"operator {name!r} is defined twice; rename one of them")
        set_field(self, "name", name)
        set_field(self, "definition", definition)
        set_field(self, "_attributes", {})
        Op._registry[name] = self

    def summary(self) -> str:
        return f"operator {self.name}"

    @printable
    def __str__(self) -> str:
        return f"Op({self.name})"

    __repr__ = __str__

    @staticmethod
    def get(name: str) -> Op:
        """The operator of that name. Raises UnknownNameError with the nearest names."""
        try:
            return Op._registry[name]
        except KeyError:
            if name in Op.elsewhere:
                home = Op.elsewhere[name]
                raise UnknownNameError(f"{home} defines {name!r}: import {home} first") from None
            for beginning, advice in Op.unsupported.items():
                if name.startswith(beginning):
                    raise UnknownNameError(f"{name!r} is not supported: {advice}") from None
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
    def description(self) -> str:
        """A description of what the operator computes."""
        return self.definition.doc

    @property
    def attrs_type_key(self) -> str:
        """The type key of its declared attributes; "" for none."""
        definition = self.definition
        if definition.attrs_key is not None:
            return definition.attrs_key
        return definition.attrs.type_key if definition.attrs else ""

    @property
    def num_inputs(self) -> int:
        """The number of arguments."""
        return len(self.definition.inputs)

    @property
    def arguments(self) -> list[Argument]:
        """The arguments, by name."""
        return [Argument(name.rstrip("*")) for name in self.definition.inputs]

    def set_attr(self, key: str, value: Any, plevel: int = 10) -> None:
        """Set an attribute, unless it was set with a higher `plevel`.

        With the same `plevel` the later value wins, so that a notebook's cell can be run again; TVM
        raises an error.
        """
        _, known = self._attributes.get(key, (None, plevel))
        if plevel >= known:
            self._attributes[key] = (value, plevel)

    def reset_attr(self, key: str) -> None:
        self._attributes.pop(key, None)


def _shortly(part: Expr) -> str:
    """A description of an operand, for the description of its user; chains of projections are
    shortened."""
    if isinstance(part, TupleGetItem):
        return "a projection"
    return "a call" if isinstance(part, Call) and not part.op_name else part.summary()


class Call(Expr):
    """`op` (an operator, function, global or variable) applied to `args`."""

    __slots__ = ("args", "attrs", "op", "type_args")
    op: Expr
    args: tuple[Expr, ...]
    attrs: Any  # Attrs; None for an operator without attributes
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
        checked_part("the callee of a call", op)
        for n, a in enumerate(args):
            if not isinstance(a, Expr):
                raise ArgumentError(
                    f"argument {n} of {op.summary()} must be an expression, found {a!r}"
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

    def summary(self) -> str:
        if isinstance(self.op, Op):
            return f"{self.op.name}(...)"
        return f"call of {_shortly(self.op)}"

    def is_op(self, name: str) -> bool:
        """Whether this calls the operator of that name."""
        return type(self.op) is Op and self.op.name == name

    @property
    def op_name(self) -> str:
        """The name of the called operator; "" if the callee is not an operator."""
        return self.op.name if isinstance(self.op, Op) else ""


class TupleGetItem(Expr):
    """`tuple_value.index`."""

    __slots__ = ("index", "tuple_value")
    tuple_value: Expr
    index: int

    def __init__(self, tuple_value: Expr, index: int, span: Span | None = None):
        super().__init__(span)
        set_field(self, "tuple_value", checked_part("a projection's tuple", tuple_value))
        try:
            set_field(self, "index", operator.index(index))
        except TypeError:
            raise ArgumentError(
                f"a projection needs the number of a field, found {index!r}"
            ) from None

    def summary(self) -> str:
        return f"projection .{self.index} of {_shortly(self.tuple_value)}"

    def parts(self) -> tuple[Expr, ...]:
        return (self.tuple_value,)

    def part_names(self) -> tuple[str, ...]:
        return (".tuple_value",)

    def with_parts(self, parts: Sequence[Expr]) -> TupleGetItem:
        return TupleGetItem(parts[0], self.index, self.span)


class TupleWrapper:
    """The result of a builder of an operator with several results: indexable, `.astuple()`.

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
