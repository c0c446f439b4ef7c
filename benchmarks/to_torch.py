"""Converts a Relay module to torch, layer by layer: the `torch.nn` layers that one would write by
hand, called in the module's order, with its parameters as weights."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import fx, nn

from byoc_lab import relay
from byoc_lab.relay.ir.expr import Call, Expr, TupleGetItem, Var
from byoc_lab.relay.ir.visit import post_order


def translate(mod: relay.IRModule, params: Mapping[str, Any]) -> nn.Module:
    """The torch module for inference. Parameters of @main that are not in `params` are arguments of
    each call."""
    graph, layers = fx.Graph(), nn.Module()
    values: dict[Expr, Any] = {}
    weights: dict[Expr, torch.Tensor] = {}
    for node in post_order(mod["main"].body):
        if isinstance(node, Var) and node.name_hint in params:
            weights[node] = torch.from_numpy(params[node.name_hint].numpy().copy())
        elif isinstance(node, Var):
            values[node] = graph.placeholder(node.name_hint)
        elif isinstance(node, TupleGetItem):
            values[node] = values[node.tuple_value]
        elif isinstance(node, Call):
            inputs = [values[a] for a in node.args if a in values]
            held = [weights[a] for a in node.args if a in weights]
            if node.is_op("nn.bias_add"):  # included in torch's Linear
                layers.get_submodule(inputs[0].target).bias = nn.Parameter(held[0])
                values[node] = inputs[0]
            elif node.is_op("add"):
                values[node] = graph.call_function(torch.add, tuple(inputs))
            elif node.is_op("concatenate"):
                fields = [values[field] for field in node.args[0].fields]
                values[node] = graph.call_function(torch.cat, (fields, node.attrs.axis))
            else:
                name = f"layer_{len(values)}"
                layers.add_module(name, _layer(node, held))
                values[node] = graph.call_module(name, tuple(inputs))
    graph.output(values[mod["main"].body])
    return fx.GraphModule(layers, graph).eval()


def _layer(call: Call, held: list[torch.Tensor]) -> nn.Module:
    a: Any = call.attrs
    name = call.op.name
    if name == "nn.conv2d":
        (weight,) = held
        channels = weight.shape[1] * a.groups
        conv = nn.Conv2d(
            channels,
            weight.shape[0],
            tuple(a.kernel_size),
            tuple(a.strides),
            tuple(a.padding[:2]),
            tuple(a.dilation),
            a.groups,
            bias=False,
        )
        conv.weight = nn.Parameter(weight)
        return conv
    if name == "nn.batch_norm":
        gamma, beta, mean, variance = held
        norm = nn.BatchNorm2d(len(gamma), eps=a.epsilon)
        norm.weight = nn.Parameter(gamma if a.scale else torch.ones_like(gamma))
        norm.bias = nn.Parameter(beta)
        norm.running_mean, norm.running_var = mean, variance
        return norm
    if name == "nn.dense":
        dense = nn.Linear(*reversed(held[0].shape), bias=False)
        dense.weight = nn.Parameter(held[0])
        return dense
    if name == "nn.max_pool2d":
        return nn.MaxPool2d(tuple(a.pool_size), tuple(a.strides), tuple(a.padding[:2]))
    if name == "nn.avg_pool2d":
        window = tuple(a.pool_size), tuple(a.strides), tuple(a.padding[:2])
        return nn.AvgPool2d(*window, count_include_pad=a.count_include_pad)
    return {
        "nn.relu": nn.ReLU,
        "nn.dropout": nn.Identity,
        "nn.global_avg_pool2d": lambda: nn.AdaptiveAvgPool2d(1),
        "nn.batch_flatten": nn.Flatten,
        "nn.softmax": lambda: nn.Softmax(-1),
    }[name]()
