"""`define_op`: the one place where an operator is said to exist.

From one definition follow the operator object, its builder (`relay.nn.conv2d`, ...), how the text
format reads and prints its attributes, type inference, the NumPy reference, the cost and the
translation to Relax. The families of operators are the other files of this folder.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

import numpy as np

from byoc_lab.errors import TypeInferenceError
from byoc_lab.relay.attrs import REQUIRED, AttrsType
from byoc_lab.relay.expr import Call, Expr, Op, Tuple, TupleWrapper
from byoc_lab.relay.op.layout_rules import Rule as LayoutRule
from byoc_lab.relay.op.support_levels import DEFAULT, SUPPORT_LEVELS
from byoc_lab.relay.types import TensorType, Type


class OpPattern(IntEnum):
    """How an operator may be fused (TVM: TOpPattern)."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


Relation = Callable[..., Sequence["Type | None"]]


@dataclass(frozen=True, eq=False)
class OpDef:
    """All that byoc_lab knows about one operator.

    relation(attrs, *arg_types) -> (*arg_types, result type). An argument whose type is not known
        comes as None; the relation gives what it can solve and None for what it cannot. It raises
        TypeInferenceError when the types cannot be right.
    reference(attrs, *arrays) -> array, or a tuple of arrays for several results. NumPy; computes
        in the dtype of its inputs, so float64 inputs give the float64 result.
    flops(attrs, arg_types, result type) -> floating point operations of one evaluation.
    relax(R, attrs, *relax_exprs) -> Relax expression, where R is the module `tvm.relax.op`.
    attrs_key: the type of attributes that TVM's operator says it takes, where that is not `attrs`;
        "" for none. TVM's reader makes records of that type only, so its printer puts attributes
        of another type into the metadata.
    inputs: argument names; a tuple-typed one ends in "*" and its builder takes a list.
    normalize(values) -> values: what TVM's Python helper does to attributes (padding to 4 numbers).
    layout: how it follows when its arguments come in other layouts (`layout_rules`); None: it does
        not. It is the operator's attribute "FInferCorrectLayout".
    lacks: "reference", "relax" -> why the definition has none; the errors and the docs say it.
    results: number of results, or a function of the call that gives it; the builder then gives a
        TupleWrapper. None: the result is no tuple.
    non_computational: it stands for what others compute, and is not fused (TVM:
        TNonComputational). By default so are qnn's operators.
    """

    name: str
    inputs: tuple[str, ...]
    relation: Relation
    reference: Callable[..., Any] | None
    attrs: AttrsType | None = None
    attrs_key: str | None = None
    flops: Callable[..., int] | None = None
    relax: Callable[..., Any] | None = None
    pattern: OpPattern = OpPattern.OPAQUE
    results: int | Callable[[Call], int | None] | None = None
    normalize: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    defaults: dict[str, Any] | None = None
    stateful: bool = False
    non_computational: bool | None = None
    layout: LayoutRule | None = None
    lacks: Mapping[str, str] = field(default_factory=dict)
    doc: str = ""

    @property
    def support_level(self) -> int:
        """TVM's word for how widely the operator is supported; 1 is the most."""
        return SUPPORT_LEVELS.get(self.name, DEFAULT)

    def why_no(self, part: str) -> str:
        """The end of an error message about a part ("reference", "relax") that is not there."""
        return self.lacks.get(part) or f"give its definition (define_op) a `{part}`"


def define_op(name: str, inputs: Iterable[str] | str, relation: Relation, **options: Any) -> Op:
    """Register an operator (see `OpDef` for the options) and return it."""
    names = tuple(inputs.split()) if isinstance(inputs, str) else tuple(inputs)
    definition = OpDef(name, names, relation, options.pop("reference", None), **options)
    op = Op(name, definition)
    op.set_attr("TOpPattern", int(definition.pattern))
    op.set_attr("TOpIsStateful", definition.stateful)
    stands_for_others = definition.non_computational
    if stands_for_others is None:
        stands_for_others = name.startswith("qnn.")
    op.set_attr("TNonComputational", stands_for_others)
    if definition.layout is not None:
        op.set_attr("FInferCorrectLayout", definition.layout)
    return op


def wrapped(call: Call) -> Call | TupleWrapper:
    """What a builder gives of its call: a TupleWrapper, if the operator gives a tuple."""
    results = call.op.definition.results  # type: ignore[attr-defined]
    count = results(call) if callable(results) else results
    return call if count is None else TupleWrapper(call, count)


def builder(op: Op) -> Callable[..., Any]:
    """The function that makes a call of `op`: arguments first, then attributes, TVM's defaults."""
    d: OpDef = op.definition
    fields = d.attrs.fields if d.attrs else ()
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    params = [inspect.Parameter(n.rstrip("*"), kind) for n in d.inputs]
    own = d.defaults or {}
    for f in fields:
        default = own.get(f.name, f.default)
        none_is_default = default is REQUIRED and f.may_be_none
        empty = None if none_is_default else inspect.Parameter.empty
        params.append(
            inspect.Parameter(f.name, kind, default=empty if default is REQUIRED else default)
        )
    # A required attribute may follow one with a default in TVM's print order; Python cannot say so.
    required = [p for p in params if p.default is inspect.Parameter.empty]
    optional = [p for p in params if p.default is not inspect.Parameter.empty]
    signature = inspect.Signature(required + optional)

    def build(*args: Any, **kwargs: Any) -> Any:
        bound = signature.bind(*args, **kwargs)
        bound.apply_defaults()
        values = bound.arguments
        exprs = [_operand(op, n, values[n.rstrip("*")]) for n in d.inputs]
        chosen = {f.name: values[f.name] for f in fields}
        if d.normalize:
            chosen = d.normalize(chosen)
        attrs = d.attrs.make(chosen) if d.attrs else None
        call = Call(op, exprs, attrs)
        return wrapped(call)

    build.__name__ = build.__qualname__ = op.name.rpartition(".")[2]
    build.__signature__ = signature  # type: ignore[attr-defined]
    build.__doc__ = documentation(d)
    return build


def _operand(op: Op, name: str, value: Any) -> Expr:
    if name.endswith("*") and not isinstance(value, Expr):
        return Tuple(list(value))  # of a TupleWrapper, its projections: so does TVM
    if isinstance(value, TupleWrapper):
        return value.tuple_value
    if not isinstance(value, Expr):
        raise TypeError(
            f"{op.name}: argument {name!r} must be a Relay expression, found {value!r}; "
            f"relay.const(...) makes one of numbers and arrays"
        )
    return value


def documentation(d: OpDef) -> str:
    """The text of an operator's help: what it computes, its attributes."""
    lines = [d.doc or f"`{d.name}`."]
    if d.attrs:
        lines += ["", "Attributes:"]
        for f in d.attrs.fields:
            shown = "required" if f.default is REQUIRED else f"default {f.default!r}"
            lines.append(f"    {f.name}: {f.doc or f.kind.__name__} ({shown})")
    return "\n".join(lines)


def builders(prefix: str = "", written: Container[str] = ()) -> dict[str, Callable[..., Any]]:
    """The builders of every operator named `prefix` + one plain word, by that word.

    Those of operators in `written` are left out: they are made by hand.
    """
    found = {}
    for name in Op.list_op_names():
        word = name[len(prefix) :]
        if name.startswith(prefix) and "." not in word and name not in written:
            found[word] = builder(Op.get(name))
    return found


# Relations that many operators share -------------------------------------------------------------


def tensor(op: str, name: str, ty: Type | None) -> TensorType | None:
    """`ty` as a tensor type, or None when unknown. Raises TypeInferenceError for other types."""
    if ty is None or isinstance(ty, TensorType):
        return ty
    raise TypeInferenceError(f"{op}: {name} must be a tensor, found {ty}")


def identity(attrs: Any, x: Type | None) -> Sequence[Type | None]:
    """The result is typed as the one argument, and the argument as the result."""
    return x, x


def same_result(numpy_function: Callable[..., Any]) -> Callable[..., Any]:
    """A reference that ignores attributes and keeps the dtype of the first argument."""

    def reference(attrs: Any, *arrays: np.ndarray) -> np.ndarray:
        return numpy_function(*arrays).astype(arrays[0].dtype, copy=False)

    return reference
