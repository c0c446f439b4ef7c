"""The inputs that an ONNX graph declares, and the sizes that its constants suggest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from byoc_lab.errors import ArgumentError, nearest
from byoc_lab.importers.given import Input
from byoc_lab.importers.guessing import MAX_LENGTH
from byoc_lab.importers.onnx.reading import array_of

TENSOR_INT32, TENSOR_INT64 = 6, 7  # data types of onnx.TensorProto


def inputs_of_graph(graph: Any) -> list[Input]:
    """The inputs of a GraphProto, as declared; for an optional input, its content."""
    found = []
    for info in graph.input:
        kind = info.type
        if kind.WhichOneof("value") == "optional_type":
            kind = kind.optional_type.elem_type
        if kind.WhichOneof("value") == "sequence_type":
            found.append(Input(info.name, None, sequence=True))
            continue
        tensor = kind.tensor_type
        lengths = tuple(_length(d) for d in tensor.shape.dim) if tensor.HasField("shape") else None
        found.append(Input(info.name, lengths))
    return found


def _length(dim: Any) -> int | str | None:
    return dim.dim_value if dim.dim_value > 0 else dim.dim_param or None


def check_frozen(freeze: Mapping[str, Any], graph: Any) -> None:
    """Raise ArgumentError if a frozen name is not an input of the graph."""
    names = [i.name for i in graph.input]
    for name in freeze:
        if name not in names:
            raise ArgumentError(
                f"freeze names {name!r}, which is not an input of the model; {nearest(name, names)}"
            )


def candidate_sizes(graph: Any) -> list[int]:
    """Candidate sizes for the inputs of a graph: kernel sizes of convolutions, and elements of
    constants that reshapes and slices read. Inner graphs are included."""
    found: set[int] = set()
    for part in _graphs(graph):
        values = {t.name: t for t in part.initializer}
        for node in part.node:
            tensors = [values[n] for n in node.input if n in values]
            tensors += [a.t for a in node.attribute if a.HasField("t")]
            for tensor in tensors:
                if node.op_type == "Conv":
                    found.update(tensor.dims[2:])
                elif tensor.data_type in (TENSOR_INT32, TENSOR_INT64) and prod(tensor.dims) <= 64:
                    found.update(int(n) for n in array_of(tensor).ravel())
    return sorted(n for n in found if 1 < n <= MAX_LENGTH)


def _graphs(graph: Any) -> Iterator[Any]:
    """A graph and those inside it."""
    waiting = [graph]
    while waiting:
        yield (one := waiting.pop())
        waiting += [a.g for node in one.node for a in node.attribute if a.HasField("g")]
