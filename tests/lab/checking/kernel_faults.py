"""Faults that tests plant in generated code: each changes one operator in a region's DNNL graph.

A changed operator is recognized by its kind and constants in every program compiled for its region.
So the running region has the fault, and so has code that a check compiles again.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from byoc_lab.backends import dnnl
from byoc_lab.backends.dnnl import native
from byoc_lab.relay.ir.expr import Function

Op = dict[str, Any]
Constants = dict[int, np.ndarray]  # by tensor number
KernelFault = Callable[[Op, Constants], bool]
"""Changes an operator or its constants; returns False if the fault does not apply."""

LAYERS = ("conv2d", "dense")


def constant(argument: int, change: Callable[[np.ndarray], np.ndarray], *kinds: str) -> KernelFault:
    """A fault in the argument with this index, a constant, of operators of the given `kinds`."""

    def fault(op: Op, constants: Constants) -> bool:
        if op["kind"] not in kinds or len(op["inputs"]) <= argument:
            return False
        tensor = op["inputs"][argument]
        if tensor not in constants:
            return False
        old = constants[tensor]
        new = np.array(change(old.copy()), old.dtype, order="C")
        if new.shape != old.shape or np.array_equal(new, old):
            return False
        constants[tensor] = new
        return True

    return fault


def attribute(kind: str, name: str, change: Callable[[Any], Any]) -> KernelFault:
    def fault(op: Op, constants: Constants) -> bool:
        if op["kind"] != kind or name not in op["attrs"]:
            return False
        old = op["attrs"][name]
        op["attrs"][name] = change(old)
        return bool(op["attrs"][name] != old)

    return fault


def kind(old: str, new: str, change: Callable[[Op], Op]) -> KernelFault:
    def fault(op: Op, constants: Constants) -> bool:
        if op["kind"] != old:
            return False
        op["kind"] = new
        op["attrs"] = change(op["attrs"])
        return True

    return fault


def post_op(alg: str, change: Callable[[list[Op], Op], None]) -> KernelFault:
    """A fault in the first fused operator `alg`; `change` gets the list and the operator."""

    def fault(op: Op, constants: Constants) -> bool:
        for post in op["post_ops"]:
            if post["alg"] == alg:
                change(op["post_ops"], post)
                return True
        return False

    return fault


def drop(posts: list[Op], post: Op) -> None:
    posts.remove(post)


def change_to(**values: Any) -> Callable[[list[Op], Op], None]:
    return lambda posts, post: post.update(values)


def _drop_bias(op: Op, constants: Constants) -> bool:
    if op["kind"] not in LAYERS or len(op["inputs"]) != 3:
        return False
    del op["inputs"][2:]
    return True


def _relu_before_add(op: Op, constants: Constants) -> bool:
    algs = [post["alg"] for post in op["post_ops"]]
    if "add" not in algs or "relu" not in algs[algs.index("add") :]:
        return False
    op["post_ops"].reverse()
    return True


def _steeper(op: Op, constants: Constants) -> bool:
    """The fault is in an operator, or in a post-op fused into it."""
    for values in (op["attrs"], *op["post_ops"]):
        if values.get("alg") == "relu" and values.get("alpha"):
            values["alpha"] = 0.11
            return True
    return False


def _one(change: Callable[[Any], Any]) -> Callable[[np.ndarray], np.ndarray]:
    """Changes the element with the largest magnitude."""

    def changed(array: np.ndarray) -> np.ndarray:
        line = array.reshape(-1)
        place = int(np.argmax(np.abs(line.astype(float))))
        line[place] = change(line[place])
        return array

    return changed


def _other_side(padding: list[int]) -> list[int]:
    top, left, bottom, right = padding
    if (top, left) != (bottom, right):
        return [bottom, right, top, left]
    return [top - 1, left - 1, bottom + 1, right + 1] if top else padding


KERNEL_FAULTS: dict[str, KernelFault] = {
    "dropped bias": _drop_bias,
    "bias rolled": constant(2, lambda b: np.roll(b, 1), *LAYERS),
    "bias too large": constant(2, lambda b: b + b.dtype.type(1), *LAYERS),
    "NaN in a bias": constant(2, _one(lambda v: np.nan), "dense"),
    "one weight zeroed": constant(1, _one(lambda v: v * 0), *LAYERS),
    "one weight +1 %": constant(1, _one(lambda v: v * np.float32(1.01)), "conv2d"),
    "one weight of dense +1 %": constant(1, _one(lambda v: v * np.float32(1.01)), "dense"),
    "weights flipped": constant(1, lambda w: w[..., ::-1], *LAYERS),
    "weights rolled": constant(1, lambda w: np.roll(w, 1, axis=0), *LAYERS),
    "weights transposed": constant(1, lambda w: w.swapaxes(-1, -2), "conv2d"),
    "weights in float16": constant(1, lambda w: w.astype(np.float16), *LAYERS),
    "wrong padding side": attribute("conv2d", "padding", _other_side),
    "dropped relu": post_op("relu", drop),
    "relu to leaky relu": post_op("relu", change_to(alpha=0.01)),
    "relu before add": _relu_before_add,
    "dropped addition": post_op("add", drop),
    "add to mul": post_op("add", change_to(alg="mul")),
    "dropped multiplication": post_op("mul", drop),
    "dropped clip": post_op("clip", drop),
    "clip 6 to 5.9": post_op("clip", change_to(beta=5.9)),
    "clip 0 to 0.1": post_op("clip", change_to(alpha=0.1)),
    "leaky slope 0.1 to 0.11": _steeper,
    "max pooling to average": kind(
        "max_pool2d", "avg_pool2d", lambda attrs: {**attrs, "count_include_pad": False}
    ),
    "average pooling to max": kind(
        "avg_pool2d",
        "max_pool2d",
        lambda attrs: {name: v for name, v in attrs.items() if name != "count_include_pad"},
    ),
    "axis of softmax": attribute("softmax", "axis", lambda a: 0),
    "operator add to mul": attribute("binary", "alg", lambda a: "mul" if a == "add" else a),
    "quantize zero point +1": constant(2, lambda z: z + 1, "quantize"),
    "quantize scale times 1.05": constant(1, lambda s: s * 1.05, "quantize"),
    "quantize saturates early": attribute("quantize", "high", lambda h: 40),
    "convolution zero point +1": attribute("conv2d", "data_zero_point", lambda z: z + 1),
    "requantize rounding mode": attribute("requantize", "rounding", lambda r: "TONEAREST"),
    "requantize scale times 1.05": constant(1, lambda s: s * 1.05, "requantize"),
    "requantize zero point +1": constant(4, lambda z: z + 1, "requantize"),
    "requantize saturates early": attribute("requantize", "high", lambda h: 40),
    "dequantize scale times 1.05": constant(1, lambda s: s * 1.05, "dequantize"),
    "dequantize zero point +1": constant(2, lambda z: z + 1, "dequantize"),
}  # fmt: skip


def signature(op: Op, constants: Constants) -> tuple[Any, ...]:
    """A key that distinguishes an operator from others in its region: its kind and constants."""
    return (
        op["kind"],
        op["attrs"].get("alg"),
        *(constants[t].tobytes() for t in op["inputs"] if t in constants),
    )


def graph_parts(function: Function, symbol: str) -> tuple[Any, Constants]:
    made = dnnl.region_graph(function, symbol)
    return made, dict(zip(made.graph["constants"], made.constants, strict=True))


RELAY_NAMES = {"mul": "multiply", "add": "add", "relu": "nn.relu", "clip": "clip"}


def kernel_places(function: Function, fault: KernelFault) -> list[tuple[Any, set[str]]]:
    """The operators of a region in which a fault can be planted: signature, and the operators
    that the kernel computes."""
    found = []
    for number in range(len(graph_parts(function, "r")[0].graph["ops"])):
        made, constants = graph_parts(function, "r")
        op = made.graph["ops"][number]
        key = signature(op, constants)
        fused = {
            "nn.leaky_relu" if post.get("alpha") else RELAY_NAMES.get(post["alg"], post["alg"])
            for post in op["post_ops"]
        }
        if fault(op, constants):
            found.append((key, {str(op["name"]).rpartition("_")[0], *fused}))
    return found


def faulty_codegen(
    fault: KernelFault, region: str, wanted: tuple[Any, ...]
) -> Callable[[Function, str], Any]:
    """DNNL's code generation with a fault in the operator with the given signature in `region`."""

    def codegen(function: Function, symbol: str) -> Any:
        made, constants = graph_parts(function, symbol)
        for op in made.graph["ops"]:
            if symbol == region and signature(op, constants) == wanted:
                fault(op, constants)
        changed = [constants[t] for t in made.graph["constants"]]
        return native.DnnlRegion(made.graph, changed)

    return codegen


def wrong_tanh(function: Function, symbol: str) -> Any:
    """DNNL's code generation with each tanh replaced by a sigmoid."""
    made, constants = graph_parts(function, symbol)
    for op in made.graph["ops"]:
        if op["attrs"].get("alg") == "tanh":
            op["attrs"]["alg"] = "sigmoid"
    return native.DnnlRegion(made.graph, [constants[t] for t in made.graph["constants"]])
