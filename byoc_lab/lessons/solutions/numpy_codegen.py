"""Answers to "numpy-codegen"."""

from __future__ import annotations

import numpy as np

from byoc_lab.relay import Call, Constant
from byoc_lab.relay.ir.visit import post_order

KERNELS = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "nn.relu": lambda x: np.maximum(x, np.float32(0)),
    "tanh": np.tanh,
}


def codegen(function, kernels):
    def run(*arrays):
        values = dict(zip(function.params, arrays, strict=True))
        for node in post_order(function.body):
            if isinstance(node, Constant):
                values[node] = node.data.numpy()
            elif isinstance(node, Call):
                values[node] = kernels[node.op.name](*(values[arg] for arg in node.args))
        return values[function.body]

    return run


def answer(function):
    return codegen(function, KERNELS)


# Typical mistakes


def swapped_subtract(function):
    return codegen(function, {**KERNELS, "subtract": lambda a, b: b - a})


def one_number(function):
    return lambda *arrays: answer(function)(*arrays).sum(keepdims=True)


def in_a_list(function):
    return lambda *arrays: [answer(function)(*arrays)]


def remembers(function):
    values = []

    def run(*arrays):
        values.append(answer(function)(*arrays))
        return values[0]

    return run


def in_float64(function):
    return lambda *arrays: answer(function)(*arrays).astype("float64")


def in_place(function):
    def run(*arrays):
        result = answer(function)(*arrays)
        arrays[0][:] = result
        return result

    return run


def its_result(function):
    return answer(function)(*(np.zeros((2, 3), "float32") for _ in function.params))


def without_subtract(function):
    return codegen(function, {"add": np.add})


def nothing(function):
    return lambda *arrays: None


WRONG = {
    "numbers": swapped_subtract,
    "shape": one_number,
    "not-array": in_a_list,
    "dtype": in_float64,
    "second-call": remembers,
    "changed-input": in_place,
    "not-callable": its_result,
    "unhandled": without_subtract,
    "none": nothing,
    "kind": "a text",
}
