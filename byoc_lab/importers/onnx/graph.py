"""`GraphConverter`: converts the nodes of one ONNX graph, and of the graphs inside it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from byoc_lab.errors import ByocLabError, ImporterError, UnsupportedOperatorError
from byoc_lab.importers.given import frozen as frozen_value
from byoc_lab.importers.onnx.converters import converter_of, supported
from byoc_lab.importers.onnx.node import Node
from byoc_lab.importers.onnx.reading import TensorTypeError, array_of, check_text, dtype_of
from byoc_lab.importers.settle import Settler
from byoc_lab.relay.ir.dims import Any as AnyDim
from byoc_lab.relay.ir.expr import Constant, Expr, Tuple, Var
from byoc_lab.relay.ir.types import TensorType


class GraphConverter:
    """Values by name, and what is needed to convert the nodes that compute them. The value of a
    sequence is the list of its elements.

    shapes, dtypes: what the user says of inputs. outer: the graph around this one (a branch or the
    body of a loop), whose values this one may use. use_nt_batch_matmul: products of batches have
    their right operand transposed. frozen: values of inputs, which become constants.
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
        self.outer = outer
        self.use_nt_batch_matmul: bool = outer.use_nt_batch_matmul if outer else use_nt_batch_matmul
        self.settle: Settler = outer.settle if outer else Settler()
        self.values: dict[str, Any] = {}
        self.inputs: dict[str, Var] = {}
        self.params: dict[str, np.ndarray[Any, Any]] = {}

    def opset_of(self, domain: str) -> int:
        """The version of an operator set that the model imports."""
        return self.opsets.get("" if domain == "ai.onnx" else domain, 1)

    def value(self, name: str, user: str) -> Any:
        """The value of a name, which may belong to an outer graph."""
        graph: GraphConverter | None = self
        while graph is not None:
            if name in graph.values:
                return graph.values[name]
            graph = graph.outer
        raise ImporterError(
            f"{user} reads {name!r:.80}, which no input, initializer or earlier node defines; the "
            f"nodes of an ONNX graph must be in topological order"
        )

    def value_of_parameter(self, variable: Var) -> np.ndarray[Any, Any] | None:
        """The array of an initializer that is a parameter, or None for other variables."""
        root = self
        while root.outer is not None:
            root = root.outer
        name = variable.name_hint
        return root.params.get(name) if root.values.get(name) is variable else None

    def convert(self, graph: Any) -> list[Any]:
        """Convert all nodes of a GraphProto; returns the values of its outputs."""
        check_text(graph)
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
            with self.settle.placed(node.title):
                self._define(node, self._converted(node))

    def _check_supported(self, protos: Sequence[Any]) -> None:
        """One error for all operators that have no converter, before the work begins."""
        missing = [p for p in protos if converter_of(p.domain, p.op_type) is None]
        if not missing:
            return
        names = sorted({f"{p.domain}.{p.op_type}" if p.domain else p.op_type for p in missing})
        first = missing[0]
        raise UnsupportedOperatorError(
            f"ONNX operators {', '.join(names):.400} are not supported; the first is "
            f"{Node(first, [], self).place}; {len(supported())} operators are, which "
            f"byoc_lab.importers.onnx.converters.supported() lists"
        )

    def _converted(self, node: Node) -> Any:
        converter = converter_of(node.domain, node.op_type)
        assert converter is not None  # _check_supported saw to it
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
            if name and value is not None:
                self._define_one(node, name, value)
        missing = [n for n in node.outputs[len(results) :] if n]
        missing += [n for n, v in zip(node.outputs, results, strict=False) if n and v is None]
        if missing:
            node.fail(f"output {missing[0]!r:.80} is not computed")

    def _define_one(self, node: Node, name: str, value: Any) -> None:
        if name in self.values:
            raise ImporterError(
                f"{node.place} defines {name!r:.80}, which is defined before; each value of an "
                "ONNX graph is defined once"
            )
        try:
            sequence = isinstance(value, list)
            settled = [self.settle(v) for v in value] if sequence else self.settle(value)
        except ByocLabError as error:
            raise UnsupportedOperatorError(f"{node.place}: {error}") from error
        self.values[name] = settled

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
            with self.settle.placed(tensor.name):
                self.values[tensor.name] = self.settle(value)

    def _graph_inputs(self, graph: Any) -> None:
        for info in graph.input:
            if info.name in self.params:
                self.inputs[info.name] = self.values[info.name]
            elif info.name not in self.values:
                with self.settle.placed(info.name), self._naming_reader(graph, info.name):
                    if info.name in self.frozen:
                        ty, value = self.input_type(info), self.frozen[info.name]
                        array = frozen_value(info.name, value, ty, [info.name])
                        self.values[info.name] = self.settle(Constant(array))
                        continue
                    variable = self.settle(Var(info.name or "input", self.input_type(info)))
                assert isinstance(variable, Var)
                self.values[info.name] = self.inputs[info.name] = variable

    @contextmanager
    def _naming_reader(self, graph: Any, name: str) -> Iterator[None]:
        """An error about the value of a name says which node is the first to read it."""
        try:
            yield
        except TensorTypeError as error:
            reader = next((p for p in graph.node if name in p.input), None)
            place = "no node" if reader is None else Node(reader, [], self).place
            raise UnsupportedOperatorError(f"{place}, reads {name!r:.80}: {error}") from error

    def input_type(self, info: Any) -> TensorType:
        """The type of a graph's input: as the user states it, else as the model does."""
        if info.type.WhichOneof("value") not in (None, "tensor_type"):
            raise TensorTypeError(
                f"it is a {info.type.WhichOneof('value')}; only tensors are supported"
            )
        shape: Sequence[Any]
        if info.name in self.shapes:
            shape = [AnyDim() if n is None else n for n in self.shapes[info.name]]
        else:
            dims = info.type.tensor_type.shape.dim
            shape = [d.dim_value if d.dim_value > 0 else AnyDim() for d in dims]
        stated = self.dtypes.get(info.name) if isinstance(self.dtypes, Mapping) else None
        default = self.dtypes if isinstance(self.dtypes, str) else "float32"
        elem = info.type.tensor_type.elem_type
        return TensorType(shape, stated or (dtype_of(elem) if elem else default))

    def packed(self, outputs: Sequence[Any]) -> Expr:
        """The outputs as one expression."""
        flat = [Tuple(o) if isinstance(o, list) else o for o in outputs]
        return flat[0] if len(flat) == 1 else Tuple(flat)
