"""The tensors of a graph that compute the nodes of a region: their orders of axes, and fusion."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from byoc_lab.backends.dnnl import native
from byoc_lab.backends.dnnl.graph import DnnlGraphWriter
from byoc_lab.backends.dnnl.operators import Operator
from byoc_lab.errors import BuildError
from byoc_lab.relay.ir.expr import Call, Expr, Op, TupleGetItem, describe
from byoc_lab.relay.ir.types import TensorType
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

COMMUTATIVE = ("add", "mul", "max", "min")  # native algorithms


@dataclass(frozen=True)
class Value:
    """The value of a node: a tensor of the graph, and the permutation of its axes that is still
    pending."""

    tensor: int
    axes: Axes | None = None


class GraphValues:
    """The tensors that compute the nodes of one region.

    The native runtime has one axis order (NCHW, OIHW). A value in a different order is stored as a
    tensor in the runtime's order and a pending permutation. Element-wise operations propagate the
    permutation, so a network in NHWC is fused like a network in NCHW and transposed only at the
    region's boundary.
    """

    def __init__(self, symbol: str):
        self.symbol = symbol
        self.out = DnnlGraphWriter(symbol)
        self.value_of: dict[Expr, Value] = {}
        self.uses: Counter[Expr] = Counter()

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

    # Orders of axes

    def _plain(self, node: Expr) -> int:
        """The tensor that a node computes, in Relay's axis order."""
        value = self.value_of[node]
        if value.axes is not None:
            value = Value(self.out.transposed(value.tensor, value.axes))
            self.value_of[node] = value
        return value.tensor

    def _in_order(self, node: Expr, axes: Axes) -> int:
        """The tensor with the value of a node, its axes permuted."""
        value = self.value_of[node]
        axes = axes if value.axes is None else permute(value.axes, axes)
        return self.out.transposed(value.tensor, axes)

    def _turned(self, call: Call, axes: Sequence[int] | None) -> Value:
        value = self.value_of[call.args[0]]
        rank = len(self.out.shape(value.tensor))
        order = tuple(axis % rank for axis in (range(rank)[::-1] if axes is None else axes))
        order = order if value.axes is None else permute(value.axes, order)
        return Value(value.tensor, None if is_identity(order) else order)

    def _sliced(self, call: Call, given: Any) -> Value:
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
        return Value(tensor)

    def _relaid(self, call: Call, source: str, target: str) -> Value:
        tensor = self._plain(call.args[0])
        parts, order, shape = relaid("layout_transform", self.out.shape(tensor), source, target)
        # The runtime limits the number of axes, so axes of size 1 are removed.
        long = [n for n, length in enumerate(parts) if length != 1]
        split = self.out.reshaped(tensor, [parts[n] for n in long])
        turned = self.out.transposed(split, tuple(long.index(n) for n in order if n in long))
        return Value(self.out.reshaped(turned, shape))

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
        self.value_of[call] = Value(made, None if is_identity(back) else back)

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
        self.value_of[call] = Value(made, axes)

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
        self.value_of[call] = Value(made, value.axes)

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
