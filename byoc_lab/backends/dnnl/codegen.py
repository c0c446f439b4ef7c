"""Code generation: an external function of Relay becomes one graph of the native runtime.

Each operation of `operators.py` becomes a native operation. An element-wise operation is fused into
its operand's producer, as post-op or as bias, if it is the only user of that operand. So conv2d +
bias + relu is one kernel, even if MergeComposite did not create a composite for it. The same is
true of every other chain that oneDNN supports.

The native runtime has one axis order (NCHW, OIHW). A value in a different order is stored as a
tensor in the runtime's order and a pending permutation. Element-wise operations propagate the
permutation, so a network in NHWC is fused like a network in NCHW and transposed only at the
region's boundary.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from byoc_lab.backends.dnnl import native, quantized_codegen
from byoc_lab.backends.dnnl.activations import SPELLINGS, Reading
from byoc_lab.backends.dnnl.graph import DnnlGraphWriter, RegionGraph
from byoc_lab.backends.dnnl.lstm import Cell, find_cells
from byoc_lab.backends.dnnl.operators import OPERATORS, Operator, eltwise, why_not
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
from byoc_lab.relay.op.framework.layout import (
    Axes,
    inverse,
    inverse_permute,
    is_identity,
    permutation,
    permute,
)
from byoc_lab.relay.op.tensor.relayout import relaid
from byoc_lab.relay.op.tensor.slice import slices_of
from byoc_lab.relay.typing.infer import infer_expr
from byoc_lab.run.backends import wanted_layouts
from byoc_lab.run.inline import inlined
from byoc_lab.run.stand_in import in_place_of
from byoc_lab.run.symbols import c_text, checked_symbol

LIBRARY = "DNNL"
COMMUTATIVE = ("add", "mul", "max", "min")  # native algorithms


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


@dataclass(frozen=True)
class _Value:
    """The value of a node: a tensor of the graph, and the permutation of its axes that is still
    pending."""

    tensor: int
    axes: Axes | None = None


class _Builder:
    def __init__(self, function: Function, symbol: str):
        self.function = function
        self.symbol = symbol
        self.out = DnnlGraphWriter(symbol)
        self.value_of: dict[Expr, _Value] = {}
        self.uses: Counter[Expr] = Counter()
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
            self.value_of[param] = _Value(self.out.input(name, shape, dtype))
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

    def refuse(self, node: Expr, reason: str, advice: str = "") -> BuildError:
        place = f"{node.span}: " if node.span else ""
        advice = advice or (
            f"Leave {describe(node)} out of the region (AnnotateTarget('dnnl') does), or give its "
            f"operator an entry in byoc_lab.backends.dnnl.operators.OPERATORS"
        )
        return BuildError(f"{place}region @{self.symbol}: {reason}. {advice}")

    def _shape(self, node: Expr, ty: Any) -> tuple[int, ...]:
        if not isinstance(ty, TensorType) or ty.dtype not in native.DTYPES:
            raise self.refuse(
                node,
                f"{describe(node)} must be a tensor whose dtype is one of "
                f"{', '.join(native.DTYPES)}, found {ty}",
                "DNNL supports no other dtypes: cast before the region, or leave the operator to "
                "the host",
            )
        if not ty.is_static:
            raise self.refuse(
                node,
                f"{describe(node)} must have a known shape when it is compiled, found {ty}",
                "byoc_lab.build compiles regions for the shapes of actual inputs; to compile a "
                "single region, give the shapes of its inputs",
            )
        return ty.concrete_shape

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
            self.value_of[node] = _Value(made)

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
            self.value_of[node] = _Value(self.out.constant(node.numpy()))
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

    def _projection(self, node: TupleGetItem) -> _Value:
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
            self.value_of[call] = _Value(self.out.joined(op.name, tensors, attrs["axis"]))
        else:
            operands = call.args[:2] if op.name in PRODUCTS else _operands(call)
            inputs = [self._plain(a) for a in operands]
            if op.name == "nn.batch_norm":
                inputs = self._with_scale_and_shift(call, inputs)
            self.value_of[call] = _Value(self._emit(operator.kind, op.name, call, inputs, attrs))

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

    # Orders of axes

    def _plain(self, node: Expr) -> int:
        """The tensor that a node computes, in Relay's axis order."""
        value = self.value_of[node]
        if value.axes is not None:
            value = _Value(self.out.transposed(value.tensor, value.axes))
            self.value_of[node] = value
        return value.tensor

    def _in_order(self, node: Expr, axes: Axes) -> int:
        """The tensor with the value of a node, its axes permuted."""
        value = self.value_of[node]
        axes = axes if value.axes is None else permute(value.axes, axes)
        return self.out.transposed(value.tensor, axes)

    def _turned(self, call: Call, axes: Sequence[int] | None) -> _Value:
        value = self.value_of[call.args[0]]
        rank = len(self.out.shape(value.tensor))
        order = tuple(axis % rank for axis in (range(rank)[::-1] if axes is None else axes))
        order = order if value.axes is None else permute(value.axes, order)
        return _Value(value.tensor, None if is_identity(order) else order)

    def _sliced(self, call: Call, given: Any) -> _Value:
        """A native slice for each sliced axis."""
        tensor = self._plain(call.args[0])
        shape = list(self.out.shape(tensor))
        for axis, cut in slices_of(given, tuple(shape)).items():
            kept = range(*cut.indices(shape[axis]))
            if len(kept) == shape[axis] and kept.step == 1:
                continue
            shape[axis] = len(kept)
            attrs = {"axis": axis, "begin": kept.start, "length": len(kept), "step": kept.step}
            dtype = self.out.dtype(tensor)
            tensor = self.out.op("slice", "strided_slice", [tensor], shape, attrs, dtype)
        return _Value(tensor)

    def _relaid(self, call: Call, source: str, target: str) -> _Value:
        tensor = self._plain(call.args[0])
        parts, order, shape = relaid("layout_transform", self.out.shape(tensor), source, target)
        # The runtime limits the number of axes, so axes of size 1 are removed.
        long = [n for n, length in enumerate(parts) if length != 1]
        split = self.out.reshaped(tensor, [parts[n] for n in long])
        turned = self.out.transposed(split, tuple(long.index(n) for n in order if n in long))
        return _Value(self.out.reshaped(turned, shape))

    def _laid_out(
        self, operator: Operator, call: Call, name: str, given: Any, attrs: dict[str, Any]
    ) -> None:
        """Write a convolution or pooling: transpose the operands to the runtime's axis order, and
        record the result's permutation."""
        assert operator.layouts is not None
        layouts = operator.layouts(given)
        inputs = [self._in_order(call.args[0], permutation(layouts.data, layouts.canonical))]
        if len(call.args) > 1:
            inputs.append(operator.weight(self.out, self._plain(call.args[1]), given))
        back = permutation(layouts.canonical, layouts.result)
        shape = inverse_permute(self._shape(call, call.checked_type), back)
        dtype = call.checked_type.dtype
        made = self.out.op(operator.kind, name, inputs, shape, attrs, dtype)
        self.value_of[call] = _Value(made, None if is_identity(back) else back)

    # Fusion

    def _elementwise(
        self, operator: Operator, call: Call, operands: Sequence[Expr], attrs: dict[str, Any]
    ) -> None:
        shape = self._shape(call, call.checked_type)
        values = [self.value_of[operand] for operand in operands]
        axes = next((v.axes for v in values if v.axes and len(v.axes) == len(shape)), None)
        tensors = [self.aligned(operand, axes) for operand in operands]
        if axes is not None:
            shape = inverse_permute(shape, axes)
        made = self._fused(operator, operands, tensors, attrs, shape)
        if made is None:
            name = call.op.name if isinstance(call.op, Op) else operator.kind
            dtype = self.out.dtype(tensors[0])
            made = self.out.op(operator.kind, name, tensors, shape, attrs, dtype)
        self.value_of[call] = _Value(made, axes)

    def aligned(self, operand: Expr, axes: Axes | None) -> int:
        """The operand as a tensor that broadcasts with tensors whose permutation `axes` is
        pending."""
        value = self.value_of[operand]
        if axes is None or value.axes == axes:
            return self._plain(operand) if axes is None else value.tensor
        if value.axes is not None and len(value.axes) == len(axes):
            return self._in_order(operand, inverse(axes))
        plain = self._plain(operand)
        shape = self.out.shape(plain)
        padded = self.out.reshaped(plain, [*[1] * (len(axes) - len(shape)), *shape])
        return self.out.transposed(padded, inverse(axes))

    def _bias_add(self, operator: Operator, call: Call, axis: int) -> None:
        """Add a vector along one axis: as bias, if the data's producer supports a bias along that
        axis."""
        data, vector = call.args
        value, other = self.value_of[data], self._plain(vector)
        shape = self.out.shape(value.tensor)
        axis %= len(shape)
        axis = axis if value.axes is None else value.axes[axis]
        made = value.tensor
        if self._may_fuse(data, value.tensor, [other]) and self.out.takes_bias(value.tensor, axis):
            self.out.add_bias(value.tensor, other)
        else:
            laid = self.out.reshaped(other, [shape[axis], *[1] * (len(shape) - 1 - axis)])
            tensors, attrs = [value.tensor, laid], {"alg": "add"}
            fused = self._fused(operator, call.args, tensors, attrs, shape)
            if fused is None:
                dtype = self.out.dtype(value.tensor)
                fused = self.out.op(operator.kind, "nn.bias_add", tensors, shape, attrs, dtype)
            made = fused
        self.value_of[call] = _Value(made, value.axes)

    def _fused(
        self,
        operator: Operator,
        operands: Sequence[Expr],
        tensors: list[int],
        attrs: dict[str, Any],
        shape: Sequence[int],
    ) -> int | None:
        """Fuse an operation into the producer of one of its operands; returns that operand, or None
        if that is impossible."""
        order = list(range(len(tensors)))
        if len(tensors) == 2 and attrs["alg"] not in COMMUTATIVE:
            order = [0]
        # Try the operand computed last first: its producer can read the other operand.
        for n in sorted(order, key=lambda n: -self.out.defined_at[tensors[n]]):
            tensor, others = tensors[n], tensors[:n] + tensors[n + 1 :]
            if list(shape) != self.out.shape(tensor):
                continue
            if not self._may_fuse(operands[n], tensor, others):
                continue
            if operator.kind == "eltwise":
                self.out.add_post_op(tensor, "eltwise", **attrs)
            elif attrs["alg"] == "add" and self.out.is_bias(tensor, others[0]):
                self.out.add_bias(tensor, others[0])
            else:
                self.out.add_post_op(tensor, "binary", input=others[0], **attrs)
            return tensor
        return None

    def _may_fuse(self, operand: Expr, tensor: int, others: list[int]) -> bool:
        return self._used_once(operand) and self.out.takes_post_op(tensor, others)

    def _used_once(self, node: Expr) -> bool:
        """Whether `node` has a single user; a projection counts as a use of its tuple."""
        if isinstance(node, TupleGetItem) and self.uses[node.tuple_value] != 1:
            return False
        return self.uses[node] == 1


def _batch_norm_results(call: Call) -> tuple[Expr, Expr, Expr]:
    """For inference, the new moving mean and variance are the old ones."""
    return call, call.args[3], call.args[4]


def _operands(call: Call) -> list[Expr]:
    """The operands of a call, with tuples flattened."""
    found: list[Expr] = []
    for arg in call.args:
        found += arg.fields if isinstance(arg, Tuple) else [arg]
    return found
