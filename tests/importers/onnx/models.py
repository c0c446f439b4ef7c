"""ONNX models for tests, built node by node: small versions of the networks that users import."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

Array = np.ndarray[Any, Any]
OPSET = 17


class Builder:
    """Collects nodes and weights; `call` returns the name of an output."""

    def __init__(self, opset: int = OPSET, seed: int = 0):
        self.opset = opset
        self.random = np.random.RandomState(seed)
        self.nodes: list[Any] = []
        self.weights: list[Any] = []
        self.count = 0

    def name(self, word: str) -> str:
        self.count += 1
        return f"{word}_{self.count}"

    def weight(self, *shape: int, scale: float = 0.5) -> str:
        return self.constant(self.random.uniform(-scale, scale, shape).astype(np.float32))

    def constant(self, array: Any) -> str:
        name = self.name("w")
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def call(self, op: str, *inputs: str, outputs: int = 1, **attributes: Any) -> Any:
        names = [self.name(op.lower()) for _ in range(outputs)]
        self.nodes.append(helper.make_node(op, list(inputs), names, name=names[0], **attributes))
        return names[0] if outputs == 1 else names

    def conv(self, x: str, inputs: int, outputs: int, size: int = 3, **attributes: Any) -> str:
        groups = attributes.get("group", 1)
        pads = attributes.pop("pads", [size // 2] * 4)
        kernel, bias = self.weight(outputs, inputs // groups, size, size), self.weight(outputs)
        return str(self.call("Conv", x, kernel, bias, pads=pads, **attributes))

    def model(
        self,
        output: str | Sequence[str],
        dtype: int = TensorProto.FLOAT,
        shape: Sequence[Any] = (1, 3, 16, 16),
        output_dtype: int = TensorProto.FLOAT,
    ) -> Any:
        outputs = [output] if isinstance(output, str) else list(output)
        graph = helper.make_graph(
            self.nodes,
            "network",
            [helper.make_tensor_value_info("x", dtype, list(shape))],
            [helper.make_tensor_value_info(o, output_dtype, None) for o in outputs],
            self.weights,
        )
        opsets = [helper.make_opsetid("", self.opset)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return onnx.shape_inference.infer_shapes(model)


def residual() -> Any:
    b = Builder()
    x = b.call("Relu", b.conv("x", 3, 8))
    statistics = [b.constant(np.full(8, v, np.float32)) for v in (1.5, 0.1, 0.2, 0.9)]
    y = b.call("BatchNormalization", b.conv(x, 8, 8), *statistics, epsilon=1e-3)
    y = b.call("Relu", b.call("Add", y, x))
    y = b.call("Flatten", b.call("GlobalAveragePool", y))
    return b.model(b.call("Gemm", y, b.weight(10, 8), b.weight(10), transB=1))


def depthwise() -> Any:
    b = Builder()
    x = b.call("Clip", b.conv("x", 3, 8, strides=[2, 2]), *_bounds(b, 0.0, 6.0))
    x = b.call("Clip", b.conv(x, 8, 8, group=8), *_bounds(b, 0.0, 6.0))
    x = b.conv(x, 8, 16, size=1)
    return b.model(b.call("MaxPool", x, kernel_shape=[2, 2], strides=[2, 2]))


def _bounds(b: Builder, low: float, high: float) -> list[str]:
    return [b.constant(np.float32(low)), b.constant(np.float32(high))]


def squeeze_excitation() -> Any:
    b = Builder()
    x = b.call("HardSwish", b.conv("x", 3, 16))
    w = b.call("ReduceMean", x, axes=[2, 3], keepdims=1)
    w = b.call("Relu", b.conv(w, 16, 4, size=1))
    w = b.call("HardSigmoid", b.conv(w, 4, 16, size=1), alpha=1 / 6)
    return b.model(b.call("Mul", x, w))


def unet() -> Any:
    b = Builder()
    top = b.call("Relu", b.conv("x", 3, 8))
    low = b.call("Relu", b.conv(top, 8, 16, strides=[2, 2]))
    scales = b.constant(np.array([1, 1, 2, 2], np.float32))
    up = b.call(
        "Resize", low, "", scales, mode="linear", coordinate_transformation_mode="half_pixel"
    )
    kernel = b.weight(16, 8, 2, 2)
    other = b.call("ConvTranspose", low, kernel, b.weight(8), strides=[2, 2])
    joined = b.call("Concat", top, up, other, axis=1)
    return b.model(b.conv(joined, 32, 2, size=1))


def attention() -> Any:
    b = Builder()
    q, k, v = (_heads(b, "x") for _ in range(3))
    scores = b.call("MatMul", q, b.call("Transpose", k, perm=[0, 1, 3, 2]))
    scores = b.call("Mul", scores, b.constant(np.float32(8**-0.5)))
    mixed = b.call("MatMul", b.call("Softmax", scores, axis=-1), v)
    mixed = b.call("Transpose", mixed, perm=[0, 2, 1, 3])
    mixed = b.call("Reshape", mixed, b.constant(np.array([2, 5, 32])))
    return b.model(b.call("Add", mixed, "x"), shape=(2, 5, 32))


def _heads(b: Builder, x: str) -> str:
    y = b.call("Add", b.call("MatMul", x, b.weight(32, 32)), b.weight(32))
    y = b.call("Reshape", y, b.constant(np.array([2, 5, 4, 8])))
    return str(b.call("Transpose", y, perm=[0, 2, 1, 3]))


def layer_norm() -> Any:
    """A layer norm in the form that PyTorch exports before opset 17."""
    b = Builder(opset=13)
    centred = b.call("Sub", "x", b.call("ReduceMean", "x", axes=[-1]))
    squares = b.call("Pow", centred, b.constant(np.float32(2)))
    variance = b.call("ReduceMean", squares, axes=[-1])
    root = b.call("Sqrt", b.call("Add", variance, b.constant(np.float32(1e-5))))
    scaled = b.call("Mul", b.call("Div", centred, root), b.weight(32))
    return b.model(b.call("Add", scaled, b.weight(32)), shape=(2, 5, 32))


def detection() -> Any:
    """Boxes and scores on a grid, through NonMaxSuppression."""
    b = Builder()
    features = b.call("Relu", b.conv("x", 3, 8, strides=[4, 4]))
    boxes = b.call("Sigmoid", b.conv(features, 8, 4, size=1))
    boxes = b.call("Reshape", boxes, b.constant(np.array([1, 4, 16])))
    boxes = b.call("Transpose", boxes, perm=[0, 2, 1])
    scores = b.call("Softmax", b.conv(features, 8, 3, size=1), axis=1)
    scores = b.call("Reshape", scores, b.constant(np.array([1, 3, 16])))
    limits = [
        b.constant(np.array([4])),
        *(b.constant(np.array([v], np.float32)) for v in (0.5, 0.3)),
    ]
    chosen = b.call("NonMaxSuppression", boxes, scores, *limits)
    return b.model(chosen, output_dtype=TensorProto.INT64)


def quantize_dequantize() -> Any:
    b = Builder()
    x = _dequantized(b, "x", 0.02, 0)
    kernel = b.constant(b.random.randint(-100, 100, (8, 3, 3, 3)).astype(np.int8))
    scales = b.constant(np.linspace(0.01, 0.02, 8).astype(np.float32))
    zeros = b.constant(np.zeros(8, np.int8))
    kernel = b.call("DequantizeLinear", kernel, scales, zeros, axis=0)
    y = b.call("Relu", b.call("Conv", x, kernel, pads=[1, 1, 1, 1]))
    return b.model(_dequantized(b, y, 0.05, 3))


def _dequantized(b: Builder, x: str, scale: float, zero: int) -> str:
    pair = b.constant(np.float32(scale)), b.constant(np.uint8(zero))
    return str(b.call("DequantizeLinear", b.call("QuantizeLinear", x, *pair), *pair))


def qlinear_conv() -> Any:
    b = Builder()
    pair = b.constant(np.float32(0.02)), b.constant(np.uint8(10))
    x = b.call("QuantizeLinear", "x", *pair)
    kernel = b.constant(b.random.randint(-100, 100, (8, 3, 3, 3)).astype(np.int8))
    bias = b.constant(b.random.randint(-500, 500, 8).astype(np.int32))
    weights = b.constant(np.float32(0.01)), b.constant(np.int8(0))
    result = b.constant(np.float32(0.05)), b.constant(np.uint8(3))
    y = b.call("QLinearConv", x, *pair, kernel, *weights, *result, bias, pads=[1, 1, 1, 1])
    return b.model(b.call("DequantizeLinear", y, *result))


MODELS: dict[str, Callable[[], Any]] = {
    f.__name__: f
    for f in (
        residual, depthwise, squeeze_excitation, unet, attention, layer_norm, detection,
        quantize_dequantize, qlinear_conv,
    )
}  # fmt: skip


def random_input(model: Any, seed: int = 1) -> Array:
    """An array for the model input x."""
    dims = [d.dim_value or 1 for d in model.graph.input[0].type.tensor_type.shape.dim]
    return np.random.RandomState(seed).uniform(-1, 1, dims).astype(np.float32)


def save(model: Any, path: Any) -> None:
    onnx.save(model, str(path))
