"""`Importing`: the import of an ONNX graph, which can be repeated with other shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from byoc_lab.errors import ByocLabError
from byoc_lab.importers.given import shapes_of
from byoc_lab.importers.guessing import Attempt, Guess, guessed_inputs
from byoc_lab.importers.onnx.graph import GraphConverter
from byoc_lab.importers.onnx.inputs import candidate_sizes, inputs_of_graph
from byoc_lab.relay.ir.expr import Function
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.variables import free_vars
from byoc_lab.relay.typing.infer import infer_module

Params = dict[str, np.ndarray[Any, Any]]


class Importing:
    """A parsed graph and the arguments of `from_onnx`.

    Raises ArgumentError for shapes of inputs that the graph lacks."""

    def __init__(
        self,
        graph: Any,
        opsets: Mapping[str, int],
        shape: Mapping[str, Any],
        dtype: str | Mapping[str, str],
        freeze_params: bool,
        use_nt_batch_matmul: bool,
        freeze: Mapping[str, Any],
    ):
        self.graph, self.freeze = graph, freeze
        self.opsets, self.dtype = opsets, dtype
        self.freeze_params, self.use_nt_batch_matmul = freeze_params, use_nt_batch_matmul
        self.inputs = inputs_of_graph(graph)
        self.shapes = shapes_of(self.inputs, shape)
        self.begun = False  # whether all operators are supported and nodes have been converted

    def module(self) -> tuple[IRModule, Params]:
        """The module of the graph, and the parameters that the module uses."""
        converter = self._converter({}, {})
        try:
            return _module(converter, self.graph)
        finally:
            self.begun = converter.begun

    def guess(self) -> Guess:
        """Shapes for the inputs with unknown sizes, found by trial imports."""
        sequences = {name for name, given in self.shapes.items() if any(map(_is_shape, given))}
        known = {*self.freeze, *(t.name for t in self.graph.initializer), *sequences}
        return guessed_inputs(
            self.inputs, self.shapes, known, self._attempt, candidate_sizes(self.graph)
        )

    def _attempt(self, shape: Mapping[str, Any], freeze: Mapping[str, Any]) -> Attempt:
        converter = self._converter(shape, freeze)
        try:
            _module(converter, self.graph)
        except ByocLabError as error:
            return Attempt(converter.converted, error)
        return Attempt(converter.converted, None)

    def _converter(self, shape: Mapping[str, Any], freeze: Mapping[str, Any]) -> GraphConverter:
        return GraphConverter(
            self.opsets,
            {**self.shapes, **shape},
            self.dtype,
            self.freeze_params,
            use_nt_batch_matmul=self.use_nt_batch_matmul,
            frozen={**self.freeze, **freeze},
        )


def _is_shape(given: Any) -> bool:
    """Whether an item of an input's `shape` argument is itself a shape: the shape of an element of
    a sequence."""
    return isinstance(given, (list, tuple))


def _module(converter: GraphConverter, graph: Any) -> tuple[IRModule, Params]:
    body = converter.packed(converter.convert(graph))
    used = {id(v) for v in free_vars(body)}
    inputs = dict(converter.inputs)
    for name in converter.params:
        variable = converter.values[name]
        if id(variable) in used:
            inputs.setdefault(name, variable)
    mod = infer_module(IRModule.from_expr(Function(list(inputs.values()), body)))
    return mod, {name: array for name, array in converter.params.items() if name in inputs}
