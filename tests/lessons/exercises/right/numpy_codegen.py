"""Other right answers to "numpy-codegen"."""

from __future__ import annotations

import numpy as np

from byoc_lab.lessons.solutions.numpy_codegen import KERNELS, codegen
from byoc_lab.relay import Call, Constant
from byoc_lab.relay.ir.visit import post_order


def recursive(function):
    def run(*arrays):
        def value(node):
            if isinstance(node, Constant):
                return node.data.numpy()
            if not isinstance(node, Call):
                return arrays[list(function.params).index(node)]
            args = [value(arg) for arg in node.args]
            if node.op.name == "nn.relu":
                return np.where(args[0] > 0, args[0], 0)
            return getattr(np, node.op.name)(*args)

        return value(function.body)

    return run


def as_source(function):
    """Python source code, compiled once."""
    names = {param: f"p{n}" for n, param in enumerate(function.params)}
    lines, constants = [f"def run({', '.join(names.values())}):"], {}
    for node in post_order(function.body):
        if isinstance(node, Constant):
            names[node] = f"c{len(names)}"
            constants[names[node]] = node.data.numpy()
        elif isinstance(node, Call):
            args = [names[arg] for arg in node.args]
            names[node] = f"v{len(names)}"
            symbol = {"add": "+", "subtract": "-", "multiply": "*"}.get(node.op.name)
            call = {"nn.relu": "np.maximum(0, {})", "tanh": "np.tanh({})"}.get(node.op.name, "")
            lines.append(f"    {names[node]} = " + (call.format(*args) or f" {symbol} ".join(args)))
    lines.append(f"    return {names[function.body]}")
    namespace = {"np": np, **constants}
    exec("\n".join(lines), namespace)
    return namespace["run"]


class Program:
    """A callable object."""

    def __init__(self, function):
        self.function = function

    def __call__(self, *arrays):
        wide = [array.astype("float64") for array in arrays]
        return codegen(self.function, KERNELS)(*wide).astype("float32")


RIGHT = (recursive, as_source, Program)
