"""Converts a Relay module to ONNX, operator by operator; parameters become initializers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from onnx import TensorProto, checker, helper, numpy_helper

from byoc_lab import relay
from byoc_lab.relay.ir.expr import Call, Expr, Tuple, TupleGetItem, Var
from byoc_lab.relay.ir.visit import post_order


def translate(mod: relay.IRModule, params: Mapping[str, Any]) -> bytes:
    """The serialized model; parameters of @main in `params` become constants."""
    arrays = {name: value.numpy() for name, value in params.items()}
    names: dict[Any, str] = {}
    nodes = []
    for node in post_order(mod["main"].body):
        if isinstance(node, Var):
            names[node] = node.name_hint
        elif isinstance(node, TupleGetItem):
            names[node] = names[node.tuple_value]
        elif isinstance(node, Call):
            inputs = [names[a] for a in _operands(node)]
            if node.is_op("nn.batch_norm") and not node.attrs.scale:
                arrays[inputs[1]] = np.ones_like(arrays[inputs[1]])
            if node.is_op("nn.bias_add"):
                _, *spatial = node.checked_type.concrete_shape[node.attrs.axis :]
                arrays[inputs[1]] = arrays[inputs[1]].reshape(-1, *(1 for _ in spatial))
            names[node] = f"t{len(nodes)}"
            kind, attributes = _operator(node)
            nodes.append(helper.make_node(kind, inputs, [names[node]], **attributes))
    free = [p for p in mod["main"].params if p.name_hint not in params]
    graph = helper.make_graph(
        nodes,
        "main",
        [_value(p.name_hint, p.checked_type) for p in free],
        [_value(names[mod["main"].body], mod["main"].body.checked_type)],
        [numpy_helper.from_array(array, name) for name, array in arrays.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    checker.check_model(model)
    return model.SerializeToString()


def _operands(call: Call) -> tuple[Expr, ...]:
    """The arguments of a call; for a concatenation, the fields of its tuple."""
    (first, *_) = call.args
    return first.fields if isinstance(first, Tuple) else call.args


def _value(name: str, ty: Any) -> Any:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, ty.concrete_shape)


def _operator(call: Call) -> tuple[str, dict[str, Any]]:
    """The ONNX operator for a call, and its attributes."""
    a: Any = call.attrs
    name = call.op.name
    if name == "nn.conv2d":
        windows = {"strides": a.strides, "pads": a.padding, "dilations": a.dilation}
        return "Conv", {**windows, "group": a.groups, "kernel_shape": a.kernel_size}
    if name in ("nn.max_pool2d", "nn.avg_pool2d"):
        window = {"strides": a.strides, "pads": a.padding, "kernel_shape": a.pool_size}
        if name == "nn.max_pool2d":
            return "MaxPool", window
        return "AveragePool", {**window, "count_include_pad": a.count_include_pad}
    if name == "concatenate":
        return "Concat", {"axis": a.axis}
    if name == "nn.batch_norm":
        return "BatchNormalization", {"epsilon": a.epsilon}
    return {
        "add": ("Add", {}),
        "nn.relu": ("Relu", {}),
        "nn.global_avg_pool2d": ("GlobalAveragePool", {}),
        "nn.batch_flatten": ("Flatten", {"axis": 1}),
        "nn.dense": ("Gemm", {"transB": 1}),
        "nn.bias_add": ("Add", {}),
        "nn.softmax": ("Softmax", {"axis": -1}),
        "nn.dropout": ("Dropout", {}),
    }[name]
