"""Writing a graph of the native runtime: tensors, operations, and the operations fused into them.

This module does not depend on Relay, which `codegen.py` reads. native/README.md documents the
graph.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from byoc_lab.display import VIEW
from byoc_lab.printing import printable
from byoc_lab.relay.op.framework.layout import Axes, is_identity, permute

FORMAT, VERSION = "byoc_lab.dnnl.graph", 1
VIEWS = ("reshape", "transpose")  # kinds that compute nothing, and accept no post-ops
MOVES = (*VIEWS, "slice")  # may return views of their input, which post-ops would overwrite
BIASED = ("dense", "matmul", *(f"conv{n}d{kind}" for n in (1, 2, 3) for kind in ("", "_transpose")))
MAX_POST_OPS = 32  # maximum per oneDNN primitive
MAX_OPERANDS = 64  # maximum per concatenation: kMaxOperands in native/src/check.h


class DnnlGraph(dict[str, Any]):
    """A region as data (native/README.md); displayed as a drawing of its operations."""

    @printable
    def __str__(self) -> str:
        return VIEW().render_text(self)

    __repr__ = __str__

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        return VIEW().mimebundle(self)


@dataclass(frozen=True)
class RegionGraph:
    """One region: the graph of native/README.md as a dict, and its constants in order."""

    graph: DnnlGraph
    constants: list[np.ndarray]


class DnnlGraphWriter:
    """Writes a graph. Methods take and return the ids of tensors."""

    def __init__(self, symbol: str):
        self.symbol = symbol
        self.tensors: list[dict[str, Any]] = []
        self.inputs: list[int] = []
        self.constants: dict[int, np.ndarray] = {}
        self.ops: list[dict[str, Any]] = []
        self.made_by: dict[int, int] = {}  # tensor -> index of the operation that computes it
        self.defined_at: dict[int, int] = {}  # tensor -> number of operations before it exists
        self._views: dict[tuple[int, str, tuple[int, ...]], int] = {}  # reuses equal views

    def graph(self, outputs: Sequence[int]) -> RegionGraph:
        """The finished graph with these results, each of which a separate operation produces."""
        graph = DnnlGraph(
            format=FORMAT,
            version=VERSION,
            symbol=self.symbol,
            tensors=self.tensors,
            inputs=self.inputs,
            constants=list(self.constants),
            outputs=list(outputs),
            ops=self.ops,
        )
        return RegionGraph(graph, list(self.constants.values()))

    # Tensors

    def shape(self, tensor: int) -> list[int]:
        shape: list[int] = self.tensors[tensor]["shape"]
        return shape

    def dtype(self, tensor: int) -> str:
        dtype: str = self.tensors[tensor]["dtype"]
        return dtype

    def tensor(self, name: str, shape: Sequence[int], dtype: str) -> int:
        self.tensors.append({"name": name, "shape": list(shape), "dtype": dtype})
        self.defined_at[len(self.tensors) - 1] = len(self.ops)
        return len(self.tensors) - 1

    def input(self, name: str, shape: Sequence[int], dtype: str) -> int:
        made = self.tensor(name, shape, dtype)
        self.inputs.append(made)
        return made

    def constant(self, value: np.ndarray) -> int:
        name = f"{self.symbol}_const_{len(self.constants)}"
        made = self.tensor(name, value.shape, value.dtype.name)
        self.defined_at[made] = 0
        self.constants[made] = value
        return made

    def reshaped(self, tensor: int, shape: Sequence[int]) -> int:
        """A tensor reshaped, with its elements in row-major order."""
        if list(shape) == self.shape(tensor):
            return tensor
        key = (tensor, "reshape", tuple(shape))
        if key not in self._views:
            if tensor in self.constants:
                self._views[key] = self.constant(self.constants[tensor].reshape(shape))
            else:
                dtype = self.dtype(tensor)
                self._views[key] = self.op("reshape", "reshape", [tensor], shape, dtype=dtype)
        return self._views[key]

    def transposed(self, tensor: int, axes: Axes) -> int:
        """A tensor with its axes permuted."""
        if is_identity(axes):
            return tensor
        key = (tensor, "transpose", axes)
        if key not in self._views:
            if tensor in self.constants:
                turned = self.constants[tensor].transpose(axes)
                self._views[key] = self.constant(turned)
            else:
                shape, attrs = permute(self.shape(tensor), axes), {"axes": list(axes)}
                self._views[key] = self.op(
                    "transpose", "transpose", [tensor], shape, attrs, self.dtype(tensor)
                )
        return self._views[key]

    # Operations

    def op(
        self,
        kind: str,
        name: str,
        inputs: Sequence[int],
        shape: Sequence[int],
        attrs: dict[str, Any] | None = None,
        dtype: str = "float32",
    ) -> int:
        """Append an operation; its result, a new tensor."""
        label = f"{name}_{len(self.ops)}"
        output = self.tensor(label, shape, dtype)
        self.made_by[output] = len(self.ops)
        entry = {"name": label, "kind": kind, "inputs": list(inputs), "output": output}
        self.ops.append({**entry, "attrs": attrs or {}, "post_ops": []})
        self.defined_at[output] = len(self.ops)
        return output

    def joined(self, name: str, tensors: Sequence[int], axis: int) -> int:
        """A concatenation. More tensors than an operation takes are joined in groups first."""
        parts = list(tensors)
        while len(parts) > MAX_OPERANDS:
            groups = [parts[n : n + MAX_OPERANDS] for n in range(0, len(parts), MAX_OPERANDS)]
            parts = [self.joined(name, group, axis) for group in groups]
        shape = list(self.shape(parts[0]))
        shape[axis] = sum(self.shape(part)[axis] for part in parts)
        return self.op("concat", name, parts, shape, {"axis": axis}, self.dtype(parts[0]))

    def producer(self, tensor: int) -> dict[str, Any]:
        """The operation that computes a tensor. Raises KeyError for inputs and constants."""
        return self.ops[self.made_by[tensor]]

    def takes_post_op(self, tensor: int, others: Sequence[int] = ()) -> bool:
        """Whether the tensor's producer accepts another post-op that reads existing tensors."""
        maker = self.made_by.get(tensor)
        return (
            maker is not None
            and self.ops[maker]["kind"] not in MOVES
            and len(self.ops[maker]["post_ops"]) < MAX_POST_OPS
            and all(self.defined_at[other] <= maker for other in others)
        )

    def takes_bias(self, tensor: int, axis: int) -> bool:
        """Whether the tensor's producer accepts a bias along `axis`, which is added before
        post-ops."""
        op = self.producer(tensor)
        free = op["kind"] in BIASED and len(op["inputs"]) == 2 and not op["post_ops"]
        return free and axis == self._channel_axis(tensor)

    def _channel_axis(self, tensor: int) -> int:
        last = self.producer(tensor)["kind"] in ("dense", "matmul")
        return len(self.shape(tensor)) - 1 if last else 1

    def add_bias(self, tensor: int, bias: int) -> None:
        self.producer(tensor)["inputs"].append(bias)

    def add_post_op(self, tensor: int, kind: str, **entry: Any) -> None:
        self.producer(tensor)["post_ops"].append({"kind": kind, **entry})

    def is_bias(self, tensor: int, other: int) -> bool:
        """Whether adding `other` to a tensor adds one number for each channel."""
        axis = self._channel_axis(tensor)
        return self.takes_bias(tensor, axis) and is_bias_shape(
            self.shape(other), self.shape(tensor), axis
        )


def is_bias_shape(operand: Sequence[Any], result: Sequence[Any], axis: int = 1) -> bool:
    """Whether adding a tensor shaped `operand` adds one number for each channel (along `axis`)."""
    along_channels = (result[axis], *[1] * (len(result) - 1 - axis))
    return tuple(operand) in (along_channels, (1, *along_channels))
