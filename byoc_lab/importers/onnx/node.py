"""`Node`: one ONNX node as converters see it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import numpy as np

from byoc_lab import relay
from byoc_lab.errors import UnsupportedOperatorError
from byoc_lab.importers.expr_normalizer import ExprNormalizer
from byoc_lab.relay.ir.expr import Constant, Expr, Var
from byoc_lab.relay.ir.types import TensorType, Type

Array = np.ndarray[Any, Any]
MAX_STEPS = 10_000  # steps of a recurrent layer or Scan; a hostile file may declare any number
_MISSING = object()
EMPTY: Any = object()  # returned by a converter for an optional without a value


class Graph(Protocol):
    """The part of `GraphConverter` that converters of nodes use."""

    use_nt_batch_matmul: bool
    normalizer: ExprNormalizer

    def opset_of(self, domain: str) -> int: ...

    def value_of_parameter(self, variable: Var) -> Array | None: ...

    def unknown_value(self, reason: str, value: Expr) -> UnsupportedOperatorError: ...

    def unknown_shape(self, reason: str, value: Expr) -> UnsupportedOperatorError: ...

    def deciding_inputs(self, value: Expr) -> dict[str, Var]: ...

    def inner(self, graph: Any, values: dict[str, Any]) -> tuple[list[Any], list[str]]: ...


class Node:
    """The inputs, attributes and outputs of one ONNX node.

    op_type, name, domain: as in the model. opset: the version of its operator set. inputs: typed
    expressions, None for optional inputs that are left out. outputs: the names of its outputs, ""
    for unused outputs.
    """

    def __init__(self, proto: Any, inputs: Sequence[Expr | list[Expr] | None], graph: Graph):
        self.op_type: str = proto.op_type
        self.domain: str = proto.domain
        self.name: str = proto.name
        self.inputs = list(inputs)
        self.outputs: list[str] = list(proto.output)
        self._input_names: list[str] = list(proto.input)
        self.graph = graph
        self.opset = graph.opset_of(proto.domain)
        self._attributes = {a.name: a for a in proto.attribute}

    def fail(self, reason: str) -> NoReturn:
        """Raise the error that names this node, its operator and its opset."""
        raise UnsupportedOperatorError(f"{self.place}: {reason}")

    @property
    def title(self) -> str:
        """The name of this node; if it has none, the name of its output."""
        return self.name or next(filter(None, self.outputs), self.op_type)

    @property
    def place(self) -> str:
        """The description of this node in messages."""
        domain = f"{self.domain}." if self.domain else ""
        result = f"computes {self.title!r}" if any(self.outputs) else "has no outputs"
        name = f"node {self.name!r}" if self.name else f"the node that {result}"
        return f"{name:.120}, operator {domain}{self.op_type}, opset {self.opset}"

    # Inputs --------------------------------------------------------------------------------------

    def __getitem__(self, index: int) -> Expr:
        """A required input."""
        found = self.optional(index)
        if found is None:
            self.fail(f"input {index} is missing")
        return found

    def optional(self, index: int) -> Expr | None:
        """An optional input; None if it is left out."""
        found = self.any_input(index)
        if isinstance(found, list):
            self.fail(f"input {index} is a sequence; a tensor is expected")
        return found

    def input_name(self, index: int) -> str:
        """The name of the value at an input."""
        return self._input_names[index]

    def any_input(self, index: int) -> Expr | list[Expr] | None:
        """A tensor or the elements of a sequence; None if the input is omitted or empty."""
        return self.inputs[index] if index < len(self.inputs) else None

    def sequence(self, index: int) -> list[Expr]:
        """An input that is a sequence: its elements."""
        found = self.any_input(index)
        if not isinstance(found, list):
            self.fail(f"input {index} is a tensor; a sequence is expected")
        return found

    @property
    def given(self) -> list[Expr]:
        """All inputs of an operator with a variable number of inputs; none may be omitted."""
        return [self[i] for i in range(len(self.inputs))]

    def value(self, index: int) -> Array | None:
        """The value of an input if it is a constant or a parameter, else None."""
        found = self.optional(index)
        if isinstance(found, Var):
            return self.graph.value_of_parameter(found)
        return found.numpy() if isinstance(found, Constant) else None

    def known(self, index: int, what: str) -> Array:
        """The value of an input that must be a constant; `what` names it in the error."""
        self[index]
        found = self.value(index)
        if found is None:
            reason = f"{what} (input {index}): a constant is expected, found a run-time value"
            raise self.graph.unknown_value(f"{self.place}: {reason}", self[index])
        return found

    def integers(self, index: int, what: str) -> list[int] | None:
        """The integers of an optional input that must be a constant; None if it is left out."""
        if self.optional(index) is None:
            return None
        return [int(n) for n in self.known(index, what).ravel()]

    def lengths(self, index: int) -> list[int] | None:
        """A shape that the graph computes, with -1 for an unknown element; at most one may be
        unknown."""
        found = self.graph.normalizer.numbers(self[index])
        if found is None or found.ndim != 1:
            return None
        numbers = found.tolist()
        if numbers.count(None) > 1 or any(n is not None and n <= 0 for n in numbers):
            return None
        return [-1 if n is None else n for n in numbers]

    def reshaped(self, x: Expr, lengths: Expr, allowzero: bool = False) -> Expr:
        """`x` reshaped to a shape that is computed at run time; the result type has its known
        sizes."""
        found = relay.reshape(x, lengths, allowzero=allowzero)
        numbers = self.graph.normalizer.numbers(lengths)
        known = [None] if numbers is None else numbers.ravel().tolist()
        if None not in known or all(n is None or n <= 0 for n in known):
            return found
        # Reshape again, for the type: 0 keeps the size that the first reshape gave.
        return relay.reshape(found, [n if n is not None and n > 0 else 0 for n in known])

    # Types ---------------------------------------------------------------------------------------

    def typed(self, expr: Expr) -> Expr:
        """`expr` with types and folded constants."""
        return self.graph.normalizer(expr)

    def typed_var(self, variable: Var) -> Var:
        """A new variable with its type."""
        found = self.typed(variable)
        assert isinstance(found, Var)
        return found

    def type_of(self, expr: Expr) -> TensorType:
        """The tensor type of an input or of an expression computed from inputs."""
        ty: Type = (expr if expr.is_typed else self.typed(expr)).checked_type
        if not isinstance(ty, TensorType):
            self.fail(f"a tensor is expected, found {ty}")
        return ty

    def rank(self, expr: Expr) -> int:
        """The number of dimensions of an expression."""
        return len(self.type_of(expr).shape)

    def dtype(self, expr: Expr) -> str:
        """The data type of an expression."""
        return str(self.type_of(expr).dtype)

    def shape(self, expr: Expr, what: str = "the shape") -> tuple[int, ...]:
        """The shape of an expression, which must be static."""
        ty = self.type_of(expr)
        if not ty.is_static:
            raise self.graph.unknown_shape(f"{self.place}: {what} must be known, found {ty}", expr)
        return tuple(int(n) for n in ty.concrete_shape)

    def length(self, expr: Expr, axis: int) -> int:
        """One dimension size of an expression, which must be static."""
        ty = self.type_of(expr)
        found = ty.shape[axis]
        if not isinstance(found, int):
            reason = f"{self.place}: the size of axis {axis} of {ty} must be known"
            raise self.graph.unknown_shape(reason, expr)
        return found

    def steps(self, expr: Expr, axis: int) -> int:
        """The number of steps of a sequence for which one copy of a cell per step is created."""
        found = self.length(expr, axis)
        if not 0 < found <= MAX_STEPS:
            self.fail(
                f"its sequence has {found:,} steps, each of which becomes separate nodes; "
                f"1 to {MAX_STEPS:,} are supported"
            )
        return found

    def sizes(self, image: Expr) -> list[int]:
        """The spatial sizes (after batch and channels), which must be static."""
        return [self.length(image, axis) for axis in range(2, self.rank(image))]

    def axis(self, number: int, rank: int) -> int:
        """An axis counted from 0. Raises an error if it is out of range."""
        if not -rank <= number < rank:
            self.fail(f"axis {number} is out of range for {rank} dimensions")
        return number % rank

    # Attributes ----------------------------------------------------------------------------------

    def has(self, name: str) -> bool:
        """Whether the node states an attribute."""
        return name in self._attributes

    def attr(self, name: str, default: Any = _MISSING) -> Any:
        """An attribute: int, float, str, list, array (for tensors) or GraphProto."""
        found = self._attributes.get(name)
        if found is None:
            if default is _MISSING:
                self.fail(f"attribute {name} is missing")
            return default
        return self._read(found)

    def _read(self, attribute: Any) -> Any:
        from onnx import AttributeProto, helper, numpy_helper

        if attribute.ref_attr_name:
            self.fail(
                f"attribute {attribute.name} refers to a function's attribute, which has no value"
            )
        if attribute.type == AttributeProto.TENSOR:
            return numpy_helper.to_array(attribute.t)
        try:
            found = helper.get_attribute_value(attribute)
        except ValueError as error:
            self.fail(f"attribute {attribute.name} cannot be read: {error}")
        if isinstance(found, bytes):
            return found.decode("utf-8", "replace")
        return found if not hasattr(found, "__len__") else _plain(found)


def _plain(values: Any) -> Any:
    if isinstance(values, str):
        return values
    return [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in values]
