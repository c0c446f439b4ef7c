"""Post-training quantization in its simplest form, from float32 to qnn operators.

It has three steps:

1. `calibrate` runs the network on a few samples and records the largest magnitude of each value.
2. `quantized_weight` quantizes the weights, with one scale for each output channel, because the
   channels of one convolution differ by orders of magnitude.
3. `Quantizer` rewrites each operator. Products are computed on integers as int32 sums, and the bias
   is added in their scale. The next user of a sum converts it to 8 bits (qnn.requantize) or to real
   numbers (qnn.dequantize). A relu costs nothing, because uint8 has no negative values.

A real number is scale * (integer - zero point). Results of relu are uint8 with zero point 0, other
values int8 with zero point 0, and weights int8.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from byoc_lab.errors import ArgumentError, kind_of
from byoc_lab.passes.fold.fold_constant import FoldConstant
from byoc_lab.passes.fold.fold_scale_axis import FoldScaleAxis
from byoc_lab.passes.framework.infer_type import InferType
from byoc_lab.passes.framework.passes import PassContext, Sequential
from byoc_lab.passes.simplify.simplify_inference import SimplifyInference
from byoc_lab.relay.build_module import bind_params_by_name
from byoc_lab.relay.ir.expr import Call, Constant, Expr, Function, Op, const
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.types import TensorType
from byoc_lab.relay.ir.visit import post_order
from byoc_lab.relay.op import builder
from byoc_lab.relay.qnn import op as qnn
from byoc_lab.relay.typing.infer import infer_module
from byoc_lab.run.reference import evaluate


def quantize(
    mod: IRModule, params: Mapping[str, Any] | None, samples: Sequence[np.ndarray]
) -> IRModule:
    """`mod` with nn.conv2d and nn.dense computed in int8.

    params: parameters of @main by name. samples: arrays for the only remaining parameter, which
    determine the range of every value.

    Only constant weights in the layouts OIHW and (units, columns) are quantized; everything else
    stays float32.

    Raises ArgumentError for samples that are not a list of arrays.
    """
    is_list = isinstance(samples, (list, tuple))
    if not is_list or not samples:
        raise ArgumentError(
            f"quantize: samples must be a list of at least one array, found "
            f"{'an empty one' if is_list else kind_of(samples)}"
        )
    mod = mod.copy()
    mod["main"] = bind_params_by_name(mod["main"], params or {})
    passes = [InferType(), SimplifyInference(), FoldConstant(), FoldScaleAxis(), FoldConstant()]
    with PassContext(opt_level=3):
        mod = Sequential(passes)(mod)
    return Quantizer(mod["main"], calibrate(mod["main"], samples)).run()


def calibrate(main: Function, samples: Sequence[np.ndarray]) -> dict[Expr, float]:
    """The largest magnitude of every float32 tensor that `main` computes on the samples."""
    largest: dict[Expr, float] = {}
    for sample in samples:
        values = evaluate(main, [sample], keep=True).values
        for node, value in values.items():
            if isinstance(value, np.ndarray) and value.dtype == np.float32 and value.size:
                largest[node] = max(largest.get(node, 0.0), float(np.abs(value).max()))
    return largest


def quantized_weight(weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The int8 weight and the float32 scale of each output channel; channels are the first axis."""
    rows = np.abs(weight.reshape(weight.shape[0], -1)).max(1)
    scale = (np.maximum(rows, 1e-8) / 127).astype(np.float32)
    across = scale.reshape(-1, *[1] * (weight.ndim - 1))
    return np.clip(np.round(weight / across), -127, 127).astype(np.int8), scale


@dataclass(frozen=True)
class Sums:
    """The result of a product of integers: expr is int32, and 1 represents scale[channel].

    bias: real numbers that must still be added. positive: whether a relu must still be applied.
    """

    expr: Expr
    scale: np.ndarray
    bias: np.ndarray | None = None
    positive: bool = False


@dataclass(frozen=True)
class Narrow:
    """A uint8 or int8 value with zero point 0."""

    expr: Expr
    scale: float


def _number(value: float) -> Expr:
    return const(np.asarray(value, np.float32))


MAX_BIAS = 2**30
"""A larger bias, in the scale of int32 sums, is added as a real number, because the sums could
overflow. The scale is tiny if all samples or all weights of a channel are zero."""
ZERO = const(np.asarray(0, np.int32))


class Quantizer:
    """Rewrites one function. Each node becomes an expression of real numbers, a Narrow or a
    Sums."""

    def __init__(self, main: Function, largest: Mapping[Expr, float]):
        self.main = main
        self.largest = largest
        self.made: dict[Expr, Expr | Narrow | Sums] = {}
        self.narrowed: dict[Expr, Narrow] = {}  # cached by node, so that users share one value

    def run(self) -> IRModule:
        for node in post_order(self.main.body):
            self.made[node] = self._visit(node)
        body = self._real(self.main.body)
        return infer_module(IRModule.from_expr(Function(self.main.params, body)))

    def _visit(self, node: Expr) -> Expr | Narrow | Sums:
        if not (isinstance(node, Call) and isinstance(node.op, Op)):
            return node
        if node.is_op("nn.conv2d") and _is_plain(node):
            return self._product(node, node.args[0])
        if node.is_op("nn.dense") and isinstance(node.args[1], Constant):
            return self._product(node, node.args[0])
        before = self.made[node.args[0]] if node.args else None
        if isinstance(before, Sums):
            if node.is_op("nn.relu"):
                return replace(before, positive=True)
            bias = _bias(node)
            if bias is not None and before.bias is None and not before.positive:
                return replace(before, bias=bias)
        return Call(node.op, [self._real(arg) for arg in node.args], node.attrs)

    def _product(self, call: Call, data: Expr) -> Sums:
        narrow = self._narrow(data)
        weight, weight_scale = quantized_weight(call.args[1].numpy())  # type: ignore[attr-defined]
        scales = (_number(narrow.scale), const(weight_scale))
        operands = (narrow.expr, const(weight), ZERO, ZERO, *scales)
        scale = (np.float32(narrow.scale) * weight_scale).astype(np.float32)
        attrs = call.attrs
        assert attrs is not None
        if call.is_op("nn.dense"):
            return Sums(qnn.dense(*operands, units=weight.shape[0]), scale)
        names = ("strides", "padding", "dilation", "groups")
        given = {name: attrs[name] for name in names}
        size = weight.shape[2:]
        made = qnn.conv2d(*operands, kernel_size=size, channels=weight.shape[0], **given)
        return Sums(made, scale)

    def _narrow(self, node: Expr) -> Narrow:
        """The values of a node as 8-bit integers."""
        if node not in self.narrowed:
            value = self.made[node]
            positive = isinstance(value, Sums) and value.positive
            dtype, steps = ("uint8", 255) if positive else ("int8", 127)
            scale = max(self.largest.get(node, 1.0), 1e-8) / steps
            self.narrowed[node] = Narrow(self._integers(value, scale, dtype), scale)
        return self.narrowed[node]

    def _integers(self, value: Expr | Narrow | Sums, scale: float, dtype: str) -> Expr:
        assert not isinstance(value, Narrow)
        if not isinstance(value, Sums):
            return qnn.quantize(value, _number(scale), ZERO, out_dtype=dtype)
        sums = value.expr
        if value.bias is not None:
            whole = np.round(value.bias.astype(np.float64) / value.scale)
            if np.abs(whole).max() > MAX_BIAS:
                real = self._real_sums(value)
                return qnn.quantize(real, _number(scale), ZERO, out_dtype=dtype)
            sums = builder(Op.get("nn.bias_add"))(sums, const(whole.astype(np.int32)), axis=1)
        ends = (const(value.scale), ZERO, _number(scale), ZERO)
        return qnn.requantize(sums, *ends, axis=1, out_dtype=dtype)

    def _real(self, node: Expr) -> Expr:
        """The values of a node as float32."""
        value = self.made[node]
        if not isinstance(value, Sums):
            assert isinstance(value, Expr)
            return value
        if value.positive:
            narrow = self._narrow(node)
            return qnn.dequantize(narrow.expr, _number(narrow.scale), ZERO)
        return self._real_sums(value)

    def _real_sums(self, value: Sums) -> Expr:
        """The sums with their bias as float32, without the relu."""
        real = qnn.dequantize(value.expr, const(value.scale), ZERO, axis=1)
        if value.bias is None:
            return real
        return builder(Op.get("nn.bias_add"))(real, const(value.bias), axis=1)


def _is_plain(conv: Call) -> bool:
    attrs = conv.attrs
    assert attrs is not None
    layouts = (attrs.data_layout, attrs.kernel_layout, attrs.out_layout or "NCHW")
    return layouts == ("NCHW", "OIHW", "NCHW") and isinstance(conv.args[1], Constant)


def _bias(call: Call) -> np.ndarray | None:
    """The numbers that a call adds to each channel; None if it is not such an addition."""
    result = call.checked_type
    if len(call.args) != 2 or not isinstance(call.args[1], Constant):
        return None
    assert isinstance(result, TensorType)
    added = call.args[1].numpy()
    if call.is_op("nn.bias_add"):
        return added if call.attrs.axis == 1 else None
    channels = (result.shape[1], *[1] * (len(result.shape) - 2))
    fits = call.is_op("add") and added.shape in (channels, (1, *channels))
    return added.reshape(-1) if fits else None
