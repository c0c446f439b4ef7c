"""The tensors of a graph in C++, and a check of everything that is written into the C++ code.

A graph may be read from a file, so it is not trusted. Only its names may be arbitrary text; they
occur only in comments, escaped by `c_text`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from byoc_lab.backends.dnnl.cpp import words
from byoc_lab.errors import BuildError
from byoc_lab.run.symbols import checked_symbol, is_symbol, shown

TYPES = {"float32": "f32", "bfloat16": "bf16", "uint8": "u8", "int8": "s8", "int32": "s32"}
Operation = dict[str, Any]  # an entry of a graph's "ops"


class Tensors:
    """The tensors of a graph, by their ids: shapes, types, and descriptors as C++ expressions."""

    def __init__(self, graph: Mapping[str, Any]):
        self.graph = graph

    def shape(self, tensor: int) -> list[int]:
        """The shape for oneDNN, which has no rank 0: a scalar is a vector of one element."""
        return self.graph["tensors"][tensor]["shape"] or [1]

    def dims(self, tensor: int) -> str:
        return words.dims(self.shape(tensor))

    def dtype(self, tensor: int) -> str:
        dtype: str = self.graph["tensors"][tensor]["dtype"]
        return dtype

    def type(self, tensor: int) -> str:
        """The argument for a tensor's type, if it is not float32."""
        dtype = self.dtype(tensor)
        return "" if dtype == "float32" else f", Type::{TYPES[dtype]}"

    def plain(self, tensor: int, shape: Sequence[int] | None = None) -> str:
        """The descriptor of the tensor, row-major, in its own shape or in `shape`."""
        dims = self.dims(tensor) if shape is None else words.dims(shape)
        return f"plain({dims}{self.type(tensor)})"

    def any(self, tensor: int, shape: Sequence[int] | None = None) -> str:
        return f"any{self.plain(tensor, shape).removeprefix('plain')}"


def check_graph(graph: Mapping[str, Any]) -> None:
    """Raise BuildError if the symbol is not a C identifier, or if a part of the graph that is
    written into C++ is neither a number nor a word."""
    checked_symbol(graph["symbol"])
    for role in ("tensors", "ops", "inputs", "constants", "outputs"):
        if not isinstance(graph[role], (list, tuple)):
            raise BuildError(f"graph '{graph['symbol']}': {role} must be a list")
    parts: list[Any] = [graph[role] for role in ("inputs", "constants", "outputs")]
    for tensor in graph["tensors"]:
        parts += [tensor["shape"], tensor["dtype"]]
    for op in graph["ops"]:
        parts += [value for key, value in op.items() if key != "name"]
    for leaf in _leaves(parts):
        if not isinstance(leaf, (bool, int, float)) and not is_symbol(leaf):
            raise BuildError(
                f"graph '{graph['symbol']}': expected numbers and words, found {shown(leaf)}"
            )


def _leaves(parts: list[Any]) -> Iterator[Any]:
    todo = list(parts)
    while todo:
        part = todo.pop()
        if isinstance(part, Mapping):
            todo += part.values()
        elif isinstance(part, (list, tuple)):
            todo += part
        elif part is not None:
            yield part
