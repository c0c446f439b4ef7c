"""Picture of the graph of a compiled region (native/README.md): one box per operation.

An operation that is fused into another operation shares its box; constants are folded into their
user.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from byoc_lab.lab.view.drawing.elements import Arrow, Box, Picture, PictureFrame

TIMES = "\N{MULTIPLICATION SIGN}"
BIASED = {"dense": 3, "matmul": 3, "conv": 3}  # the number of operands including a bias


def region_picture(graph: Mapping[str, Any]) -> Picture:
    """The picture of a region's graph: its inputs, operations and outputs, in a frame."""
    tensors = graph["tensors"]
    frame = PictureFrame("external", f"@{graph['symbol']} · dnnl", "dnnl", colour=0)
    made: dict[int, Box] = {}
    boxes: list[Box] = []
    arrows: list[Arrow] = []

    def add(kind: str, title: str, detail: str, inside: PictureFrame | None) -> Box:
        boxes.append(Box(kind, title, detail, [], inside))
        return boxes[-1]

    for tensor in graph["inputs"]:
        made[tensor] = add("input", tensors[tensor]["name"], _size(tensors[tensor]), None)
    for op in graph["ops"]:
        box = add("op", _title(op), _detail(op, tensors), frame)
        post_ops = op.get("post_ops", ())
        for tensor in [*op["inputs"], *(p["input"] for p in post_ops if "input" in p)]:
            if tensor in made:
                arrows.append(Arrow(made[tensor], box))
            else:
                box.weights += 1  # a constant
        made[op["output"]] = box
    for tensor in graph["outputs"]:
        arrows.append(Arrow(made[tensor], add("output", "output", "", None)))
    frames = [frame] if graph["ops"] else []
    return Picture(boxes, frames, arrows, len(frames))


def _title(op: Mapping[str, Any]) -> str:
    """The title, such as "conv2d + bias + relu"; eltwise and binary operations are named by their
    algorithm."""
    kind, attrs = op["kind"], op.get("attrs", {})
    name = attrs.get("alg", kind) if kind in ("eltwise", "binary") else kind
    biased = any(kind.startswith(k) and len(op["inputs"]) == n for k, n in BIASED.items())
    fused = [p.get("alg", p["kind"]) for p in op.get("post_ops", ())]
    return " + ".join([name, *(["bias"] if biased else []), *fused])


def _detail(op: Mapping[str, Any], tensors: Sequence[Mapping[str, Any]]) -> str:
    """The window of the operation, if it has one, and the shape of its result."""
    attrs = op.get("attrs", {})
    window = attrs.get("pool_size", ())
    if op["kind"].startswith("conv"):
        window = tensors[op["inputs"][1]]["shape"][2:]
    parts = [TIMES.join(map(str, window))] if window else []
    strides = attrs.get("strides", ())
    if any(s != 1 for s in strides):
        one = len(set(strides)) == 1
        parts.append(f"stride {strides[0] if one else TIMES.join(map(str, strides))}")
    if attrs.get("groups", 1) != 1:
        parts.append(f"{attrs['groups']} groups")
    return ", ".join([*parts, _size(tensors[op["output"]])])


def _size(tensor: Mapping[str, Any]) -> str:
    dims = TIMES.join(map(str, tensor["shape"])) or "scalar"
    dtype = tensor.get("dtype", "float32")
    return dims if dtype == "float32" else f"{dims} {dtype}"
