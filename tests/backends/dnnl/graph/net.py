"""Small networks as graphs of the DNNL runtime, each with its reference."""

from __future__ import annotations

import functools

import numpy as np

from byoc_lab.backends.dnnl.native import DnnlRegion
from tests.backends.dnnl import reference as ref
from tests.backends.dnnl.kernels import functions
from tests.backends.dnnl.kernels.functions import BINARY
from tests.backends.dnnl.reference import Bounded, assert_close, exact


class Net:
    """Writes a graph and computes its reference side by side."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.graph = {
            "format": "byoc_lab.dnnl.graph",
            "version": 1,
            "symbol": "dnnl_0",
            "tensors": [],
            "inputs": [],
            "constants": [],
            "outputs": [],
            "ops": [],
        }
        self.values: list[Bounded] = []
        self.arrays: dict[str, list[np.ndarray]] = {"inputs": [], "constants": []}

    def tensor(self, value: Bounded, name: str) -> int:
        shape = list(value.value.shape)
        self.graph["tensors"].append({"name": name, "shape": shape, "dtype": "float32"})
        self.values.append(value)
        return len(self.values) - 1

    def given(self, role: str, *shape: int, positive: bool = False) -> int:
        array = np.asarray(self.rng.standard_normal(shape), np.float32)
        array = np.abs(array) + np.float32(0.5) if positive else array
        self.arrays[role].append(array)
        name = f"{role[:-1]}_{len(self.arrays[role])}"
        self.graph[role].append(self.tensor(exact(array), name))
        return len(self.values) - 1

    def input(self, *shape: int) -> int:
        return self.given("inputs", *shape)

    def const(self, *shape: int, positive: bool = False) -> int:
        return self.given("constants", *shape, positive=positive)

    def op(self, kind: str, inputs: list[int], post_ops: list | None = None, **attrs) -> int:
        value = COMPUTE[kind](*(self.values[i] for i in inputs), **attrs)
        for post_op in post_ops or []:
            value = self.apply(value, post_op)
        name = f"{kind}_{len(self.graph['ops'])}"
        output = self.tensor(value, name)
        entry = {"name": name, "kind": kind, "inputs": inputs, "output": output}
        if kind == "transpose":
            entry |= {"attrs": attrs}
        elif kind != "reshape":
            entry |= {"attrs": attrs, "post_ops": post_ops or []}
        self.graph["ops"].append(entry)
        return output

    def apply(self, value: Bounded, post_op: dict) -> Bounded:
        if post_op["kind"] == "eltwise":
            rest = {k: v for k, v in post_op.items() if k != "kind"}
            return functions.apply(x=value, **rest)
        other = self.values[post_op["input"]]
        if post_op["kind"] == "sum":
            return ref.add(value, other, post_op.get("scale", 1.0))
        return BINARY[post_op["alg"]](value, other)

    def check(self, *outputs: int, layouts: str = "fixed") -> DnnlRegion:
        self.graph["outputs"] = list(outputs)
        region = DnnlRegion(self.graph, self.arrays["constants"], layouts=layouts)
        for _ in range(2):  # the second call reuses the arena
            results = region(*self.arrays["inputs"])
            for result, output in zip(results, outputs, strict=True):
                assert_close(result, self.values[output])
        return region


def transposed(data: Bounded, weight: Bounded, bias: Bounded | None = None, **attrs) -> Bounded:
    """The native weight (O, C / groups, ...) as Relay writes it: (C, O / groups, ...)."""
    groups = attrs.get("groups", 1)
    parts = weight.value.reshape(groups, -1, *weight.value.shape[1:]).swapaxes(1, 2)
    return ref.conv_transpose(data, exact(parts.reshape(-1, *parts.shape[2:])), bias, **attrs)


def columns(x: Bounded, begin: int, end: int) -> Bounded:
    return Bounded(x.value[:, begin:end], x.error[:, begin:end])


def lstm_cell(gates: Bounded, before: Bounded, order=(0, 1, 2, 3)) -> Bounded:
    width = before.value.shape[1]
    parts = [columns(gates, n * width, (n + 1) * width) for n in order]
    first, output, forget = (functions.apply("sigmoid", part) for part in parts[:3])
    added = ref.multiply(first, functions.apply("tanh", parts[3]))
    cell = ref.add(ref.multiply(forget, before), added)
    state = ref.multiply(output, functions.apply("tanh", cell))
    return Bounded(
        np.concatenate([state.value, cell.value], 1), np.concatenate([state.error, cell.error], 1)
    )


COMPUTE = {
    **{f"conv{n}d": ref.conv for n in (1, 2, 3)},
    **{f"conv{n}d_transpose": transposed for n in (1, 2, 3)},
    **{f"max_pool{n}d": ref.max_pool for n in (1, 2, 3)},
    **{f"avg_pool{n}d": ref.avg_pool for n in (1, 2, 3)},
    **{f"global_avg_pool{n}d": ref.global_avg_pool for n in (1, 2, 3)},
    **{f"global_max_pool{n}d": ref.global_max_pool for n in (1, 2, 3)},
    **{f"resample{n}d": ref.resample for n in (1, 2, 3)},
    "layer_norm": ref.layer_norm,
    "log_softmax": ref.log_softmax,
    "reduce": ref.reduce,
    "concat": lambda *xs, axis: Bounded(
        np.concatenate([x.value for x in xs], axis), np.concatenate([x.error for x in xs], axis)
    ),
    "slice": lambda x, axis, begin, length, step=1: Bounded(
        x.value.take(range(begin, begin + length * step, step), axis),
        x.error.take(range(begin, begin + length * step, step), axis),
    ),
    "lstm_cell": lstm_cell,
    "sum": lambda *xs: functools.reduce(ref.add, xs),
    "transpose": lambda x, axes: Bounded(x.value.transpose(axes), x.error.transpose(axes)),
    "dense": ref.dense,
    "matmul": ref.matmul,
    "softmax": ref.softmax,
    "batch_norm": ref.batch_norm,
    "eltwise": lambda x, alg, **parameters: functions.apply(alg, x, **parameters),
    "binary": lambda a, b, alg: BINARY[alg](a, b),
    "reshape": lambda x, shape: ref.reshape(x, shape),
}
RELU = {"kind": "eltwise", "alg": "relu"}


def residual_net() -> tuple[Net, int]:
    """conv -> relu, conv + residual -> relu, pool, flatten, dense, softmax."""
    net = Net()
    data = net.input(1, 3, 16, 16)
    first = net.op(
        "conv2d", [data, net.const(20, 3, 3, 3), net.const(20, 1, 1)], [RELU], padding=[1, 1, 1, 1]
    )
    second = net.op(
        "conv2d",
        [first, net.const(20, 20, 3, 3), net.const(1, 20, 1, 1)],
        [{"kind": "sum", "input": first}, RELU],
        padding=[1, 1, 1, 1],
    )
    pooled = net.op("max_pool2d", [second], pool_size=[2, 2], strides=[2, 2])
    mean = net.op("global_avg_pool2d", [pooled])
    flat = net.op("reshape", [mean], shape=(1, 20))
    logits = net.op("dense", [flat, net.const(10, 20), net.const(10)])
    return net, net.op("softmax", [logits], axis=1)
