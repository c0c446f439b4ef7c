"""`define_op`: the definition of an operator.

One definition gives the operator object, its builder (`relay.nn.conv2d`, ...), its attributes in
the text format, type inference, the NumPy reference, the cost and the translation to Relax. The
definitions are in the folders beside this one, by family."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from typing import Any

import numpy as np

from byoc_lab.errors import ArgumentError, OperatorDefinitionError, TypeInferenceError, nearest
from byoc_lab.relay.ir.attrs import REQUIRED, Attr, AttrsType, dtype
from byoc_lab.relay.ir.expr import Call, Expr, Op, Tuple, TupleWrapper, const
from byoc_lab.relay.ir.types import TensorType, Type
from byoc_lab.relay.op.framework.arithmetic import Arithmetic
from byoc_lab.relay.op.framework.branches import Branches
from byoc_lab.relay.op.framework.costs import Flops, no_flops, per_element
from byoc_lab.relay.op.framework.fake_quantized import FakeQuantized
from byoc_lab.relay.op.framework.layout_rules import LayoutRule
from byoc_lab.relay.op.framework.precision import Conversion, MixedPrecision
from byoc_lab.relay.op.framework.relations import NO_DTYPE, tensor_relation


class OpPattern(IntEnum):
    """The kinds of fusion that an operator allows (TVM: TOpPattern)."""

    ELEMWISE = 0
    BROADCAST = 1
    INJECTIVE = 2
    COMM_REDUCE = 3
    OUT_ELEMWISE_FUSABLE = 4
    TUPLE = 7
    OPAQUE = 8


ELEMENT_BY_ELEMENT = (OpPattern.ELEMWISE, OpPattern.BROADCAST)
BY_PATTERN = {
    OpPattern.ELEMWISE: Arithmetic.FUNCTION,
    OpPattern.BROADCAST: Arithmetic.FUNCTION,
    OpPattern.INJECTIVE: Arithmetic.COPY,
}
Relation = Callable[..., Sequence["Type | None"]]


@dataclass(frozen=True, eq=False)
class OpDef:
    """The definition of one operator.

    relation(attrs, *arg_types) -> (*arg_types, result type). An argument of unknown type is
        None; the relation returns the types that it can infer, and None for the others. It raises
        TypeInferenceError for types that the operator does not support.
    reference(attrs, *arrays) -> array, or a tuple of arrays for several results. NumPy; computes
        in the dtype of its inputs, so float64 inputs give the float64 result.
    flops(attrs, arg_types, result type) -> floating point operations of one evaluation. Default: 0
        for an arithmetic that moves elements, else 1 per element of the result for the patterns
        ELEMWISE and BROADCAST.
    relax(R, attrs, *relax_exprs) -> Relax expression; R is the module `tvm.relax.op`. built_relax:
    the translation that `build` uses instead, if Relax lowers its own operator less exactly.
    from_relax: name of a Relax operator -> function (op, RelaxCall, *operands in Relay) that
    returns the call in Relay (`from_relax.py`).
    read_around: the attributes that `from_relax` reads from operators around the call.
    in_relax: for an operator that Relax lacks, the Relax operators that together compute it:
    alternatives for a pattern that serves both languages.
    attrs_key: the type key of the attributes that TVM's operator declares, if it differs from
        `attrs`; "" for none. TVM's parser creates attributes of that type only, so its printer puts
        attributes of other types into the metadata.
    inputs: argument names; a tuple-typed one ends in "*" and its builder accepts a list.
    layout: the layout rule (`layout_rules`); None: the operator keeps its layouts. It becomes the
        operator's attribute "FInferCorrectLayout".
    lacks: "reference", "relax", "from_relax", "branches" -> the reason why the definition has none,
        for errors and docs.
    results: the number of results, or a function of the call that returns it; the builder then
        returns a TupleWrapper. None: the result is not a tuple.
    mixed_precision: the category for ToMixedPrecision, or a function that maps a call and the
        narrow dtype to [category, dtype to compute in, dtype of the result]. None: no category, as
        in TVM. It becomes the operator's attribute "FTVMMixedPrecisionConversionType".
    fake_quantized: the replacement of the operator on quantized data by FakeQuantizationToInteger.
        None: none, as in TVM. qat: whether `use_qat` of that pass also replaces a single call of
        it.
    arithmetic: how elements are computed (`arithmetic.py`), or a function of the attributes that
        returns it. Default: by the fusion pattern. branches(attrs, args, value) -> {branch: whether
        these arguments reached it}, for an operator that computes elements in different ways
        (`branches.py`). Default: the branches of `arithmetic`. shape_from: the arguments whose
        values determine the shape of the result. None: only the shapes of the arguments determine
        it; (): the same, and the attribute exists with flags 0, as in TVM. It becomes the
        operator's attribute "TShapeDataDependent", a flag for each argument.
    non_computational: a pass must lower it to other operators, and it is not fused (TVM:
        TNonComputational). Default: true for qnn operators.

    The builder has the signature of TVM's Python function. By default its parameters are the
    arguments, then the attributes without a default, then the other attributes. If TVM's function
    differs:

    python_name: its name below `relay`, if not `name`: "annotation.on_device".
    parameters: the parameters in order. "kernel=weight" is a parameter `kernel` for the argument
        or attribute `weight`. An omitted attribute has its default. `normalize` must replace a name
        that is neither an argument nor an attribute.
    defaults: default values of the builder that differ from those of the attributes, by the name in
        the definition; REQUIRED for no default.
    fixed: attributes that are not parameters, and their values in calls from Python. Such an
        attribute may have the name of an argument.
    constants: the arguments for which the builder also accepts numbers, and the dtype of the
        resulting constant (None: as in `relay.const`).
    normalize(values) -> values: how TVM's function changes its arguments before it creates the call
        (padding to 4 numbers); the keys are the names in the definition.
    """

    name: str
    inputs: tuple[str, ...]
    relation: Relation
    reference: Callable[..., Any] | None
    attrs: AttrsType | None = None
    attrs_key: str | None = None
    flops: Flops | None = None
    relax: Callable[..., Any] | None = None
    built_relax: Callable[..., Any] | None = None
    from_relax: Mapping[str, Callable[..., Any]] = field(default_factory=dict)
    read_around: tuple[str, ...] = ()
    in_relax: tuple[str, ...] = ()
    pattern: OpPattern = OpPattern.OPAQUE
    results: int | Callable[[Call], int | None] | None = None
    python_name: str = ""
    parameters: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    constants: Mapping[str, str | None] = field(default_factory=dict)
    normalize: Callable[[dict[str, Any]], dict[str, Any]] | None = None
    stateful: bool = False
    shape_from: tuple[str, ...] | None = None
    non_computational: bool | None = None
    layout: LayoutRule | None = None
    mixed_precision: MixedPrecision | Conversion | None = None
    fake_quantized: FakeQuantized | None = None
    qat: bool = False
    arithmetic: Arithmetic | Callable[[Any], Arithmetic] | None = None
    branches: Branches | None = None
    lacks: Mapping[str, str] = field(default_factory=dict)
    doc: str = ""

    def attributes(self, stated: Any) -> Any:
        """The attributes of a call; the defaults if it has none."""
        return self.attrs.make() if stated is None and self.attrs is not None else stated

    def __post_init__(self) -> None:
        object.__setattr__(self, "python_name", self.python_name or self.name)
        if self.flops is None:
            object.__setattr__(self, "flops", self._usual_flops())
        if self.branches is None and isinstance(self.arithmetic, Arithmetic):
            object.__setattr__(self, "branches", self.arithmetic.branches)

    def _usual_flops(self) -> Flops | None:
        if not callable(self.arithmetic) and self.arithmetic_of(None).moves:
            return no_flops
        return per_element(1) if self.pattern in ELEMENT_BY_ELEMENT else None

    def arithmetic_of(self, attrs: Any) -> Arithmetic:
        """The kind of arithmetic of a call with these attributes."""
        if self.arithmetic is None:
            return BY_PATTERN.get(self.pattern, Arithmetic.OTHER)
        return (
            self.arithmetic if isinstance(self.arithmetic, Arithmetic) else self.arithmetic(attrs)
        )

    @property
    def free_attributes(self) -> dict[str, Attr]:
        """The attributes that a builder may set, by name."""
        fields = self.attrs.fields if self.attrs else ()
        return {f.name: f for f in fields if f.name not in self.fixed}

    def why_no(self, part: str) -> str:
        """The reason why a part ("reference", "relax") is missing, to end an error message."""
        return self.lacks.get(part) or f"give its definition (define_op) a `{part}`"


RELAX_NAMES: dict[str, Callable[..., Any]] = {}
"""Relax operator name -> the function that reads its calls: the `from_relax` of all definitions."""


def define_op(
    name: str,
    inputs: str,
    relation: Relation | None = None,
    result_type: Callable[..., Type] | None = None,
    **options: Any,
) -> Op:
    """Register an operator (see `OpDef` for the options) and return it.

    result_type: instead of a relation, a function (attributes, tensor types of all arguments) ->
    type of the result (`tensor_relation`).
    """
    names = tuple(inputs.split())
    if relation is None:
        assert result_type is not None
        relation = tensor_relation(name, inputs, result_type)
    definition = OpDef(name, names, relation, options.pop("reference", None), **options)
    op = Op(name, definition)
    op.set_attr("TOpPattern", int(definition.pattern))
    op.set_attr("TOpIsStateful", definition.stateful)
    non_computational = definition.non_computational
    if non_computational is None:
        non_computational = name.startswith("qnn.")
    op.set_attr("TNonComputational", non_computational)
    if definition.shape_from is not None:
        op.set_attr("TShapeDataDependent", tuple(int(n in definition.shape_from) for n in names))
    if definition.layout is not None:
        op.set_attr("FInferCorrectLayout", definition.layout)
    RELAX_NAMES.update({n: partial(read, op) for n, read in definition.from_relax.items()})
    conversion = definition.mixed_precision
    if isinstance(conversion, MixedPrecision):
        conversion = conversion.conversion
    if conversion is not None:
        op.set_attr("FTVMMixedPrecisionConversionType", conversion)
    return op


def _wrapped(call: Call) -> Call | TupleWrapper:
    """The call, as a TupleWrapper if the operator has several results."""
    results = call.op.definition.results  # type: ignore[attr-defined]
    count = results(call) if callable(results) else results
    return call if count is None else TupleWrapper(call, count)


def builder(op: Op) -> Callable[..., Any]:
    """The function that creates a call of `op`, with the signature of TVM's Python function.

    Raises OperatorDefinitionError when `parameters` of the definition do not match the operator.
    """
    d: OpDef = op.definition
    parameters = _parameters(d)
    signature = inspect.Signature(list(parameters.values()))
    own_names = {p.name: own for own, p in parameters.items()}

    def build(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = signature.bind(*args, **kwargs)
        except TypeError as error:
            raise ArgumentError(f"{d.name}: {_misfit(parameters, kwargs, error)}") from None
        bound.apply_defaults()
        values = {own_names[name]: value for name, value in bound.arguments.items()}
        if d.normalize:
            values = d.normalize(values)
        operands = [_operand(d, n, values[n.rstrip("*")]) for n in d.inputs]
        attrs = d.attrs.make(_attributes(d, values)) if d.attrs else None
        return _wrapped(Call(op, operands, attrs))

    build.__name__ = build.__qualname__ = d.python_name.rpartition(".")[2]
    build.__signature__ = signature  # type: ignore[attr-defined]
    build.__doc__ = _documentation(d, parameters)
    return build


def _misfit(parameters: dict[str, Any], given: dict[str, Any], error: TypeError) -> str:
    """The reason why arguments do not match the parameters of a builder."""
    names = [p.name for p in parameters.values()]
    unknown = next((name for name in given if name not in names), None)
    if unknown is None:
        return f"{error}; its parameters are {', '.join(names)}"
    return f"no parameter is named {unknown!r}; {nearest(unknown, names)}"


def _parameters(d: OpDef) -> dict[str, inspect.Parameter]:
    """Name of argument or attribute -> the builder's parameter for it."""
    fields = d.free_attributes
    arguments = [name.rstrip("*") for name in d.inputs]

    def parameter(own: str, shown: str) -> inspect.Parameter:
        default = d.defaults.get(own, fields[own].default if own in fields else REQUIRED)
        if default is REQUIRED:
            is_none = own in fields and fields[own].may_be_none and own not in d.defaults
            default = None if is_none else inspect.Parameter.empty
        return inspect.Parameter(shown, inspect.Parameter.POSITIONAL_OR_KEYWORD, default=default)

    if not d.parameters:
        every = [(name, parameter(name, name)) for name in (*arguments, *fields)]
        # In TVM's print order, a required attribute may follow an attribute with a default.
        chosen = dict(sorted(every, key=lambda f: f[1].default is not inspect.Parameter.empty))
        _check_options(d, chosen, arguments)
        return chosen
    pairs = [word.partition("=") for word in d.parameters.split()]
    chosen = {own or shown: parameter(own or shown, shown) for shown, _, own in pairs}
    if d.normalize is None:
        _check_parameters(d, chosen, {*arguments, *fields}, arguments)
    _check_options(d, chosen, arguments)
    return chosen


def _check_parameters(
    d: OpDef, chosen: Mapping[str, Any], possible: set[str], arguments: Iterable[str]
) -> None:
    """Raise OperatorDefinitionError unless `chosen` are possible names and include all
    arguments."""
    where = f"{d.name}: parameters {d.parameters!r}"
    for name in chosen:
        if name not in possible:
            raise OperatorDefinitionError(
                f"{where}: {name!r} is neither an argument nor an attribute; possible: "
                f"{', '.join(sorted(possible))}, or any name that `normalize` replaces"
            )
    for name in arguments:
        if name not in chosen:
            raise OperatorDefinitionError(
                f"{where}: argument {name!r} is missing; add it, or a `normalize` that sets it"
            )


def _check_options(d: OpDef, chosen: Mapping[str, Any], arguments: Sequence[str]) -> None:
    """Raise OperatorDefinitionError if a default or a constant has a name that does not exist."""
    for option, given, possible in (
        ("defaults", d.defaults, list(chosen)),
        ("constants", d.constants, arguments),
    ):
        for name in given:
            if name not in possible:
                raise OperatorDefinitionError(
                    f"{d.name}: {option}: {name!r} does not exist; possible: {', '.join(possible)}"
                )


def _attributes(d: OpDef, values: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes of a call: the fixed ones, and the given `values`. An optional dtype may be
    None, as in Python calls of TVM; it is stored as the empty dtype."""

    def value(f: Attr) -> Any:
        is_empty = values[f.name] is None and f.default == NO_DTYPE and f.kind is dtype
        return NO_DTYPE if is_empty else values[f.name]

    chosen = {name: value(f) for name, f in d.free_attributes.items() if name in values}
    return {**d.fixed, **chosen}


def _operand(d: OpDef, name: str, value: Any) -> Expr:
    if isinstance(value, Expr):
        return value
    if name.endswith("*"):
        return Tuple(list(value))  # a TupleWrapper becomes its projections, as in TVM
    if isinstance(value, TupleWrapper):
        return value.tuple_value
    if name in d.constants:
        return const(value, d.constants[name])
    raise ArgumentError(
        f"{d.name}: argument {name!r} must be a Relay expression, found {value!r}; "
        f"use relay.const(...) for numbers and arrays"
    )


def _documentation(d: OpDef, parameters: Mapping[str, inspect.Parameter]) -> str:
    """The help text of a builder: the description of the operator and its attributes."""
    lines = [d.doc or f"`{d.name}`."]
    fields = d.free_attributes
    shown = [(p, fields[own]) for own, p in parameters.items() if own in fields]
    if shown:
        lines += ["", "Attributes:"]
    for p, f in shown:
        default = "required" if p.default is inspect.Parameter.empty else f"default {p.default!r}"
        lines.append(f"    {p.name}: {f.doc or f.kind.__name__} ({default})")
    return "\n".join(lines)


def builders(prefix: str = "", handwritten: Container[str] = ()) -> dict[str, Callable[..., Any]]:
    """The builders whose names are `prefix` + one word, by that word, except those in
    `handwritten`."""
    functions = {}
    for op in map(Op.get, Op.list_op_names()):
        name = op.definition.python_name
        word = name[len(prefix) :]
        if name.startswith(prefix) and "." not in word and name not in handwritten:
            functions[word] = builder(op)
    return functions


# Relations that many operators share -------------------------------------------------------------


def tensor(op: str, name: str, ty: Type | None) -> TensorType | None:
    """`ty` as a tensor type, or None when unknown. Raises TypeInferenceError for other types."""
    if ty is None or isinstance(ty, TensorType):
        return ty
    raise TypeInferenceError(f"{op}: {name} must be a tensor, found {ty}")


def identity(attrs: Any, x: Type | None) -> Sequence[Type | None]:
    """The relation of operators whose result has the type of the argument."""
    return x, x


def same_result(numpy_function: Callable[..., Any]) -> Callable[..., Any]:
    """A reference that ignores attributes and keeps the dtype of the first argument."""

    def reference(attrs: Any, *arrays: np.ndarray) -> np.ndarray:
        return numpy_function(*arrays).astype(arrays[0].dtype, copy=False)

    return reference
