"""`GraphConverter`: converts the nodes of one ONNX graph, and of the graphs inside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from byoc_lab.errors import (
    ByocLabError,
    ImporterError,
    UnknownValueError,
    UnsupportedOperatorError,
    close_names,
)
from byoc_lab.importers.expr_normalizer import ExprNormalizer
from byoc_lab.importers.given import frozen as frozen_value
from byoc_lab.importers.onnx.converters import converter_of, supported
from byoc_lab.importers.onnx.node import EMPTY, Node
from byoc_lab.importers.onnx.reading import TensorTypeError, array_of, check_text, dtype_of
from byoc_lab.relay.analysis.known_sizes import deciding_variables, values_read
from byoc_lab.relay.ir.dims import Any as AnyDim
from byoc_lab.relay.ir.expr import Constant, Expr, Tuple, Var
from byoc_lab.relay.ir.types import TensorType

MAX_NODES = 100_000  # maximum for a model with its loops unrolled; a hostile file may nest them


def _misspelt(proto: Any) -> str:
    """A "did you mean" question for an operator name that ONNX does not have."""
    from onnx import defs

    if proto.domain not in ("", "ai.onnx") or defs.has(proto.op_type):
        return ""
    names = [name for name in supported() if "." not in name]
    close = close_names(proto.op_type, names, most=1, least=0.85)
    return f": ONNX has no such operator; did you mean {close[0]!r}?" if close else ""


class GraphConverter:
    """Converts the nodes of a graph, and keeps the value of each name. The value of a sequence is a
    list of its elements; the value of an empty optional is None.

    shapes, dtypes: of inputs, as the user states them. outer: the enclosing graph, if this graph is
    a branch or a loop body; its values are visible here. use_nt_batch_matmul: transpose the right
    operand of batched matrix products. frozen: the values of inputs that become constants.
    """

    def __init__(
        self,
        opsets: Mapping[str, int],
        shapes: Mapping[str, Sequence[Any]],
        dtypes: str | Mapping[str, str],
        freeze_params: bool,
        outer: GraphConverter | None = None,
        use_nt_batch_matmul: bool = True,
        frozen: Mapping[str, Any] | None = None,
    ):
        self.opsets, self.shapes, self.dtypes = opsets, shapes, dtypes
        self.freeze_params = freeze_params
        self.frozen = dict(frozen or {})
        self.begun = False  # whether all operators are supported and nodes are converted
        self.count = 0  # number of nodes, including those of all inner graphs
        self.converted = 0  # number of converted nodes
        self.outer = outer
        self.use_nt_batch_matmul: bool = outer.use_nt_batch_matmul if outer else use_nt_batch_matmul
        self.normalizer: ExprNormalizer = outer.normalizer if outer else ExprNormalizer()
        self.values: dict[str, Any] = {}
        self.inputs: dict[str, Var] = {}
        self.params: dict[str, np.ndarray[Any, Any]] = {}

    def opset_of(self, domain: str) -> int:
        """The version of an operator set that the model imports."""
        return self.opsets.get("" if domain == "ai.onnx" else domain, 1)

    def value(self, name: str, user: str) -> Any:
        """The value of a name, from this graph or an outer graph."""
        graph: GraphConverter | None = self
        while graph is not None:
            if name in graph.values:
                return graph.values[name]
            graph = graph.outer
        raise ImporterError(
            f"{user} reads {name!r:.80}, which no input, initializer or earlier node defines; the "
            f"nodes of an ONNX graph must be in topological order"
        )

    def unknown_value(self, reason: str, value: Expr) -> UnsupportedOperatorError:
        """The error for a value that must be constant; it lists the inputs on which the value
        depends."""
        return self._unknown(reason, list(self.deciding_inputs(value)))

    def unknown_shape(self, reason: str, value: Expr) -> UnsupportedOperatorError:
        """The error for a shape that must be known; it lists the inputs that determine it."""
        used = deciding_variables(value)
        return self._unknown(reason, [n for n, v in self._root.inputs.items() if v in used])

    def _unknown(self, reason: str, names: Sequence[str]) -> UnsupportedOperatorError:
        if not names:
            return UnsupportedOperatorError(reason)
        them = ", ".join(names)
        flags = " ".join(f"--freeze {name}=VALUE" for name in names)
        return UnknownValueError(
            f"{reason}. It depends on inputs of the model ({them:.200}); if their values never "
            f"change, give them by from_onnx(..., freeze={{...}}), or by {flags:.400} on the "
            "command line",
            names,
        )

    def deciding_inputs(self, value: Expr) -> dict[str, Var]:
        """The names of the model inputs on whose elements a value depends; inputs of which only the
        shape is read are excluded."""
        used = values_read(value)
        return {name: v for name, v in self._root.inputs.items() if v in used}

    @property
    def _root(self) -> GraphConverter:
        root = self
        while root.outer is not None:
            root = root.outer
        return root

    def value_of_parameter(self, variable: Var) -> np.ndarray[Any, Any] | None:
        """The array of an initializer that is a parameter, or None for other variables."""
        name, root = variable.name_hint, self._root
        return root.params.get(name) if root.values.get(name) is variable else None

    def inner(self, graph: Any, values: dict[str, Any]) -> tuple[list[Any], list[str]]:
        """The output values of an inner graph, such as a branch, for the given input values; and
        the names of its inputs without a value."""
        inside = GraphConverter(self.opsets, {}, self.dtypes, True, self)
        inside.values.update(values)
        return inside.convert(graph), list(inside.inputs)

    def convert(self, graph: Any) -> list[Any]:
        """Convert all nodes of a GraphProto; returns the values of its outputs."""
        check_text(graph)
        self._root.count += len(graph.node)
        if self._root.count > MAX_NODES:
            raise UnsupportedOperatorError(
                f"with its loops unrolled, the model has more than {MAX_NODES:,} nodes"
            )
        self._check_supported(graph.node)
        self._initializers(graph)
        self._graph_inputs(graph)
        self.begun = True
        self.nodes(graph.node)
        return [self.value(o.name, "the graph") for o in graph.output]

    def nodes(self, protos: Sequence[Any]) -> None:
        """Convert nodes, in order."""
        for proto in protos:
            inputs = [self.value(n, f"node {proto.name!r:.80}") if n else None for n in proto.input]
            node = Node(proto, inputs, self)
            with self.normalizer.placed(node.title):
                self._define(node, self._converted(node))
            self._root.converted += 1

    def _check_supported(self, protos: Sequence[Any]) -> None:
        """One error for all operators that have no converter, before the work begins."""
        missing = [p for p in protos if converter_of(p.domain, p.op_type) is None]
        if not missing:
            return
        names = sorted({f"{p.domain}.{p.op_type}" if p.domain else p.op_type for p in missing})
        first = missing[0]
        raise UnsupportedOperatorError(
            f"ONNX operators {', '.join(names):.400} are not supported; the first is "
            f"{Node(first, [], self).place}{_misspelt(first)}; byoc_lab.importers.onnx.converters."
            f"supported() lists the {len(supported())} supported operators"
        )

    def _converted(self, node: Node) -> Any:
        converter = converter_of(node.domain, node.op_type)
        assert converter is not None  # ensured by _check_supported
        try:
            return converter(node)
        except UnsupportedOperatorError:
            raise
        except ByocLabError as error:
            raise UnsupportedOperatorError(f"{node.place}: {error}") from error
        except (
            ValueError, TypeError, AttributeError, LookupError, ArithmeticError, MemoryError,
        ) as error:  # fmt: skip
            raise UnsupportedOperatorError(
                f"{node.place}: its inputs or attributes are malformed ({error!r:.200})"
            ) from error

    def _define(self, node: Node, result: Any) -> None:
        results = result if isinstance(result, tuple) else (result,)
        for name, value in zip(node.outputs, results, strict=False):
            if name and value is EMPTY:
                self.values[name] = None
            elif name and value is not None:
                self._define_one(node, name, value)
        missing = [n for n in node.outputs[len(results) :] if n]
        missing += [n for n, v in zip(node.outputs, results, strict=False) if n and v is None]
        if missing:
            node.fail(f"output {missing[0]!r:.80} is not computed")

    def _define_one(self, node: Node, name: str, value: Any) -> None:
        if name in self.values:
            raise ImporterError(
                f"{node.place} defines {name!r:.80}, which is already defined; each value of an "
                "ONNX graph is defined once"
            )
        try:
            sequence = isinstance(value, list)
            normalized = [self.normalizer(v) for v in value] if sequence else self.normalizer(value)
        except ByocLabError as error:
            raise UnsupportedOperatorError(f"{node.place}: {error}") from error
        self.values[name] = normalized

    def _initializers(self, graph: Any) -> None:
        if graph.sparse_initializer:
            raise ImporterError(
                "sparse initializers are not supported; store them as dense tensors"
            )
        for tensor in graph.initializer:
            if not tensor.name:
                raise ImporterError("an initializer has no name; each needs one")
            with self._naming_reader(graph, tensor.name):
                array = array_of(tensor)
            value: Expr = Constant(array)
            if not self.freeze_params and self.outer is None:
                self.params[tensor.name] = array
                value = Var(tensor.name, TensorType(array.shape, str(array.dtype)))
            with self.normalizer.placed(tensor.name):
                self.values[tensor.name] = self.normalizer(value)

    def _graph_inputs(self, graph: Any) -> None:
        for info in graph.input:
            if info.name in self.params:
                self.inputs[info.name] = self.values[info.name]
            elif info.name not in self.values:
                with self.normalizer.placed(info.name), self._naming_reader(graph, info.name):
                    self.values[info.name] = self._graph_input(info.name, info.type)

    def _graph_input(self, name: str, kind: Any) -> Any:
        """The value of an input: a variable, or a list of variables for a sequence. An optional
        input is treated as its element, unless it is frozen to None."""
        if kind.WhichOneof("value") == "optional_type":
            if name in self.frozen and self.frozen[name] is None:
                return None
            kind = kind.optional_type.elem_type
        if kind.WhichOneof("value") == "sequence_type":
            element = kind.sequence_type.elem_type
            if name not in self.shapes:
                raise TensorTypeError(
                    "it is a sequence whose number of elements is unknown; give the shape of each "
                    f"element, such as from_onnx(..., shape={{{name!r:.80}: [(2, 3), (2, 3)]}})"
                )
            return [
                self._variable(f"{name}_{i}", self._tensor_type(name, element, shape))
                for i, shape in enumerate(self.shapes[name])
            ]
        ty = self._tensor_type(name, kind, self.shapes.get(name))
        if name in self.frozen:
            return self.normalizer(Constant(frozen_value(name, self.frozen[name], ty, [name])))
        return self._variable(name, ty)

    def _variable(self, name: str, ty: TensorType) -> Var:
        if name in self.inputs:
            raise ImporterError(f"two inputs, or elements of them, have the name {name!r:.80}")
        variable = self.normalizer(Var(name or "input", ty))
        assert isinstance(variable, Var)
        self.inputs[name] = variable
        return variable

    @contextmanager
    def _naming_reader(self, graph: Any, name: str) -> Iterator[None]:
        """If a value raises an error, adds the name of the first node that reads the value."""
        try:
            yield
        except TensorTypeError as error:
            reader = next((p for p in graph.node if name in p.input), None)
            place = "no node" if reader is None else Node(reader, [], self).place
            raise UnsupportedOperatorError(f"{place}, reads {name!r:.80}: {error}") from error

    def _tensor_type(self, name: str, kind: Any, shape: Any) -> TensorType:
        """The type of an input: as the user states it, or as the model does."""
        if kind.WhichOneof("value") not in (None, "tensor_type"):
            raise TensorTypeError(f"it is a {kind.WhichOneof('value')}; only tensors are supported")
        if shape is None:
            shape = [d.dim_value if d.dim_value > 0 else None for d in kind.tensor_type.shape.dim]
        stated = self.dtypes.get(name) if isinstance(self.dtypes, Mapping) else None
        default = self.dtypes if isinstance(self.dtypes, str) else "float32"
        elem = kind.tensor_type.elem_type
        lengths = [AnyDim() if n is None else n for n in shape]
        return TensorType(lengths, stated or (dtype_of(elem) if elem else default))

    def packed(self, outputs: Sequence[Any]) -> Expr:
        """The outputs as one expression."""
        if any(o is None for o in outputs):
            raise UnsupportedOperatorError("an output of the model is an optional without a value")
        flat = [Tuple(o) if isinstance(o, list) else o for o in outputs]
        return flat[0] if len(flat) == 1 else Tuple(flat)
