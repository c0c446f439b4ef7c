"""Code generation: an external function of Relay becomes one graph of the native runtime.

Each operation of `operators.py` becomes a native operation. An element-wise operation is fused into
its operand's producer, as post-op or as bias, if it is the only user of that operand. So conv2d +
bias + relu is one kernel, even if MergeComposite did not create a composite for it. The same is
true of every other chain that oneDNN supports.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from byoc_lab.backends.dnnl import native, quantized_codegen
from byoc_lab.backends.dnnl.activations import SPELLINGS, Reading
from byoc_lab.backends.dnnl.graph import RegionGraph
from byoc_lab.backends.dnnl.graph_values import GraphValues, Value
from byoc_lab.backends.dnnl.lstm import Cell, find_cells
from byoc_lab.backends.dnnl.operators import OPERATORS, eltwise, why_not
from byoc_lab.backends.dnnl.quantized import PRODUCTS
from byoc_lab.backends.dnnl.unblock import unblocked
from byoc_lab.backends.reference_region import ReferenceRegion
from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    Op,
    Tuple,
    TupleGetItem,
    Var,
    describe,
)
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.backends import wanted_layouts
from byoc_lab.run.inline import inlined
from byoc_lab.run.stand_in import in_place_of
from byoc_lab.run.symbols import c_text, checked_symbol

LIBRARY = "DNNL"


def stand_in() -> str | None:
    """The sentence that NumPy replaces DNNL (`run.stand_in`); None with the extension."""
    return None if native.available() else in_place_of(LIBRARY)


def compile_region(function: Function, symbol: str) -> native.DnnlRegion | ReferenceRegion:
    """DNNL's code generator: compiles an external function.

    Without the extension, NumPy computes the same regions. Raises BuildError, naming the operator
    and the remedy, if DNNL cannot compute the function.
    """
    made = region_graph(function, symbol)
    if stand_in() is not None:
        return ReferenceRegion(function, symbol, LIBRARY)
    try:
        return native.DnnlRegion(made.graph, made.constants, layouts=wanted_layouts())
    except (ValueError, TypeError, RuntimeError, MemoryError) as error:
        raise BuildError(
            f"DNNL refuses region @{symbol}: {error}. Annotate that operator for another compiler "
            f"or leave it to the host"
        ) from error


def region_graph(function: Function, symbol: str) -> RegionGraph:
    """The graph of an external function; its composites are inlined.

    Inputs are the parameters in order; outputs the result, or the fields of a tuple. Raises
    BuildError if DNNL cannot compute the function, and for a symbol that is not an identifier of C.
    """
    checked_symbol(symbol)
    typed = function if function.is_typed else infer_expr(function)
    assert isinstance(typed, Function)
    return _Builder(unblocked(inlined(typed)), symbol).build()


class _Builder(GraphValues):
    """Writes the graph of one region, node by node."""

    def __init__(self, function: Function, symbol: str):
        super().__init__(symbol)
        self.function = function
        self.lists: set[Expr] = set()  # tuples that are the operands of a call
        self.spelled: dict[Expr, Reading] = {}  # key: last call of the activation
        self.cells: dict[Expr, Cell] = {}  # key: the addition that computes the cell value
        self.inside: set[Expr] = set()  # nodes used only inside these activations and cells

    def build(self) -> RegionGraph:
        nodes = list(post_order(self.function.body))
        self.uses = Counter(part for node in nodes for part in node.parts())
        self.lists = {a for n in nodes if isinstance(n, Call) for a in n.args}
        self.requantized = {
            n.args[0] for n in nodes if isinstance(n, Call) and n.is_op("qnn.requantize")
        }
        self.inside |= quantized_codegen.parameters(nodes)
        self._find_cells(nodes)
        self._find_spelled(nodes)
        for n, param in enumerate(self.function.params):
            shape, dtype = self._shape(param, param.checked_type), param.checked_type.dtype
            name = c_text(param.name_hint) or f"input_{n}"  # the graph is JSON, in Unicode
            self.value_of[param] = Value(self.out.input(name, shape, dtype))
        for node in nodes:
            if node in self.spelled:
                self._activation(node, self.spelled[node])
            elif node in self.cells:
                self._cell(self.cells[node])
            elif node not in self.inside:
                self._visit(node)
        return self.out.graph(self._outputs(self._results()))

    def _results(self) -> list[Expr]:
        body = self.function.body
        if isinstance(body, Call) and body.is_op("nn.batch_norm"):
            return list(_batch_norm_results(body))
        return list(body.fields) if isinstance(body, Tuple) else [body]

    # Cells of LSTMs

    def _find_cells(self, nodes: list[Expr]) -> None:
        for found in find_cells(nodes, self.uses):
            self.cells[found.cell] = found
            self.inside.update((found.state, *found.inner))
            self.inside.update(part for part in found.parts if self.uses[part] == 1)

    def _cell(self, found: Cell) -> None:
        rows, width = self._shape(found.cell, found.cell.checked_type)
        inputs, attrs = (
            [self._plain(found.gates), self._plain(found.before)],
            {"order": list(found.order)},
        )
        dtype = self.out.dtype(inputs[0])
        both = self.out.op("lstm_cell", "lstm_cell", inputs, (rows, 2 * width), attrs, dtype)
        for n, node in enumerate((found.state, found.cell)):
            cut = {"axis": 1, "begin": n * width, "length": width}
            made = self.out.op("slice", "strided_slice", [both], (rows, width), cut, dtype)
            self.value_of[node] = Value(made)

    # Activations of several operators

    def _find_spelled(self, nodes: list[Expr]) -> None:
        """Find activations whose inner calls have no users outside. Longer activations end later,
        so they are found first."""
        for node in reversed(nodes):
            if node in self.inside or not isinstance(node, Call):
                continue
            for spelling in SPELLINGS.values():
                reading = spelling.read(node)
                if reading is not None and not reading.why_not() and self._is_closed(reading):
                    self.spelled[node] = reading
                    self.inside.update(reading.calls[1:])
                    self._forget_numbers(reading)
                    break

    def _is_closed(self, reading: Reading) -> bool:
        within = reading.uses()
        return all(self.uses[call] == within[call] for call in reading.calls[1:])

    def _forget_numbers(self, reading: Reading) -> None:
        within = reading.uses()
        for number in {number for _, number in reading.numbers}:
            self.uses[number] -= within[number]
            if not self.uses[number]:
                self.inside.add(number)

    def _activation(self, node: Expr, reading: Reading) -> None:
        spelling, operand = reading.spelling, reading.operand
        assert isinstance(node, Call) and operand is not None
        # The calls read the operand several times, the native operation reads it once.
        self.uses[operand] -= reading.uses()[operand] - 1
        attrs = {"alg": spelling.alg, **spelling.parameters}
        self._elementwise(eltwise(spelling.alg), node, [operand], attrs)

    # Nodes

    def _visit(self, node: Expr) -> None:
        if isinstance(node, Constant):
            self._shape(node, TensorType(node.numpy().shape, node.numpy().dtype.name))
            self.value_of[node] = Value(self.out.constant(node.numpy()))
        elif isinstance(node, Call) and isinstance(node.op, Op):
            reason = why_not(node, chained=True)
            if reason:
                raise self.refuse(node, reason)
            self._call(node, node.op)
        elif isinstance(node, TupleGetItem):
            self.value_of[node] = self._projection(node)
        elif isinstance(node, Var):
            if node not in self.value_of:
                raise self.refuse(node, f"%{node.name_hint} is not a parameter of the function")
        elif isinstance(node, Tuple):
            if node is not self.function.body and node not in self.lists:
                raise self.refuse(node, "DNNL has no tuples but the result")
        elif not isinstance(node, Op):
            raise self.refuse(node, f"DNNL has no counterpart of {describe(node)}")

    def _projection(self, node: TupleGetItem) -> Value:
        call = node.tuple_value
        if not (isinstance(call, Call) and call.is_op("nn.batch_norm")):
            raise self.refuse(node, "DNNL reads items only from the results of nn.batch_norm")
        return self.value_of[_batch_norm_results(call)[node.index]]

    def _call(self, call: Call, op: Op) -> None:
        if quantized_codegen.visit(self, call):
            return
        operator, given = OPERATORS[op.name], op.definition.attributes(call.attrs)
        attrs = dict(operator.attrs(given))
        if op.name in PRODUCTS:
            attrs["data_zero_point"] = quantized_codegen.zero_point(call)
        if op.name == "nn.bias_add":
            self._bias_add(operator, call, attrs["axis"])
        elif operator.post_op:
            self._elementwise(operator, call, call.args, attrs)
        elif operator.layouts is not None:
            self._laid_out(operator, call, op.name, given, attrs)
        elif op.name == "layout_transform":
            self.value_of[call] = self._relaid(call, **attrs)
        elif operator.kind == "slice":
            self.value_of[call] = self._sliced(call, given)
        elif operator.kind == "transpose":
            self.value_of[call] = self._turned(call, attrs["axes"])
        elif operator.kind == "concat":
            tensors = [self._plain(a) for a in _operands(call)]
            self.value_of[call] = Value(self.out.joined(op.name, tensors, attrs["axis"]))
        else:
            operands = call.args[:2] if op.name in PRODUCTS else _operands(call)
            inputs = [self._plain(a) for a in operands]
            if op.name == "nn.batch_norm":
                inputs = self._with_scale_and_shift(call, inputs)
            self.value_of[call] = Value(self._emit(operator.kind, op.name, call, inputs, attrs))

    def _emit(
        self, kind: str, name: str, node: Expr, inputs: Sequence[int], attrs: dict[str, Any]
    ) -> int:
        ty = node.checked_type
        ty = ty if isinstance(ty, TensorType) else ty.fields[0]
        return self.out.op(kind, name, inputs, self._shape(node, ty), attrs, ty.dtype)

    def _outputs(self, results: list[Expr]) -> list[int]:
        found: list[int] = []
        for result in results:
            tensor = self._plain(result)
            if tensor in found or tensor not in self.out.made_by:
                # Each output needs a separate buffer, so an input or a repeated output is copied.
                dtype = self.out.dtype(tensor)
                tensor = self.out.op(
                    "reshape", "copy", [tensor], self.out.shape(tensor), dtype=dtype
                )
            found.append(tensor)
        return found

    def _with_scale_and_shift(self, call: Call, inputs: list[int]) -> list[int]:
        """oneDNN always scales and shifts: by 1 and 0 if the attributes disable it."""
        assert call.attrs is not None
        data, gamma, beta, *statistics = inputs
        shape, dtype = self.out.shape(gamma), native.numpy_dtype(self.out.dtype(gamma))
        if not call.attrs.scale:
            gamma = self.out.constant(np.ones(shape, dtype))
        if not call.attrs.center:
            beta = self.out.constant(np.zeros(shape, dtype))
        return [data, gamma, beta, *statistics]


def _batch_norm_results(call: Call) -> tuple[Expr, Expr, Expr]:
    """For inference, the new moving mean and variance are the old ones."""
    return call, call.args[3], call.args[4]


def _operands(call: Call) -> list[Expr]:
    """The operands of a call, with tuples flattened."""
    found: list[Expr] = []
    for arg in call.args:
        found += arg.fields if isinstance(arg, Tuple) else [arg]
    return found
