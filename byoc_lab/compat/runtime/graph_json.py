"""The graph of a module in the format of TVM's graph executor: nodes, and the storage of their
results.

Operators are optimized and fused as in TVM. Each group is a node "tvm_op", each input and each
constant a node "null"; results share storage if their lifetimes do not overlap. The graph is for
inspection only: byoc_lab runs the module itself.

Source: graph_executor_codegen.cc and graph_plan_memory.cc of TVM 0.16.
"""

from __future__ import annotations

import hashlib
from bisect import insort
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from math import prod
from typing import Any

from byoc_lab.compat.passes import FuseOps
from byoc_lab.errors import BuildError
from byoc_lab.passes import InferType, ToGraphNormalForm
from byoc_lab.passes.framework.passes import Sequential
from byoc_lab.relay.analysis.structural import structural_equal
from byoc_lab.relay.analysis.structural_hash import structural_hash
from byoc_lab.relay.ir.expr import (
    Call,
    Constant,
    Expr,
    Function,
    GlobalVar,
    Op,
    Tuple,
    TupleGetItem,
    describe,
)
from byoc_lab.relay.ir.module import IRModule
from byoc_lab.relay.ir.ndarray import NDArray, numpy_dtype
from byoc_lab.relay.ir.types import TensorType, TupleType
from byoc_lab.relay.ir.visit import post_order

LONGEST_NAME = 80
MATCH_RANGE = 16  # storage may be reused for tensors up to this many times smaller or larger
CPU = 1
NOP = "__nop"

Entry = tuple[int, int]  # (node index, index of its result)


@dataclass
class Storage:
    """Memory that several results use one after the other."""

    number: int
    size: int  # size in bytes
    users: int = 0  # number of pending readers


@dataclass
class GraphNode:
    """One node; `results` are the type and storage of each result."""

    fields: dict[str, Any]
    types: list[TensorType]
    storage: list[Storage] = field(default_factory=list)


def graph_of(mod: IRModule, mod_name: str = "default") -> ExecutorGraph:
    """The graph of @main, after operators are fused.

    Raises BuildError for branches, closures and calls of functions, which a graph cannot represent.
    """
    passes = [ToGraphNormalForm(), FuseOps(), InferType()]
    return ExecutorGraph(Sequential(passes, name="graph")(mod), mod_name)


def planned(func: Function) -> dict[Expr, list[Storage]]:
    """The storage of every tensor of every node of a fused function."""
    graph = ExecutorGraph(IRModule.from_expr(func), "default")
    return {
        node: [graph.nodes[at].storage[n] for at, n in entries]
        for node, entries in graph.entries.items()
    }


class ExecutorGraph:
    """Nodes in execution order, the called `functions` by name, and the values of `constants` by
    name ("p0")."""

    def __init__(self, mod: IRModule, mod_name: str):
        self.mod, self.prefix = mod, f"tvmgen_{mod_name}_"
        self.nodes: list[GraphNode] = []
        self.entries: dict[Expr, list[Entry]] = {}
        self.nodes_named: Counter[str] = Counter()  # number of requests of a name
        self.functions_named: Counter[str] = Counter()
        self.functions: dict[str, Function] = {}
        self.constants: dict[str, NDArray] = {}
        main = mod["main"]
        for param in main.params:
            self.input(param, param.name_hint)
        for node in post_order(main.body, enter=lambda n: not isinstance(n, Function)):
            if node not in self.entries:
                self.visit(node)
        self.heads = self.entries[main.body]
        plan(self.nodes, self.heads)

    def document(self) -> dict[str, Any]:
        """The graph as JSON types, in the format of graph_executor_codegen.cc."""
        results = [(t, s) for n in self.nodes for t, s in zip(n.types, n.storage, strict=True)]
        rows = [0, *accumulate(len(n.types) for n in self.nodes)]
        return {
            "nodes": [n.fields for n in self.nodes],
            "arg_nodes": [k for k, n in enumerate(self.nodes) if n.fields["op"] == "null"],
            "heads": [[node, result, 0] for node, result in self.heads],
            "attrs": {
                "dltype": ["list_str", [t.dtype for t, _ in results]],
                "device_index": ["list_int", [CPU] * len(results)],
                "storage_id": ["list_int", [s.number for _, s in results]],
                "shape": ["list_shape", [[int(d) for d in t.concrete_shape] for t, _ in results]],
            },
            "node_row_ptr": rows,
        }

    # Nodes ---------------------------------------------------------------------------------------

    def visit(self, node: Expr) -> None:
        if isinstance(node, Constant):
            name = f"p{len(self.constants)}"
            self.input(node, name)
            self.constants[name] = node.data
        elif isinstance(node, Tuple):
            self.entries[node] = [e for f in node.fields for e in self.entries[f]]
        elif isinstance(node, TupleGetItem):
            self.entries[node] = [self.entries[node.tuple_value][node.index]]
        elif isinstance(node, Call):
            self.call(node)
        elif not isinstance(node, (Function, GlobalVar, Op)):
            raise BuildError(f"a graph cannot hold {describe(node)}; use the executor 'vm'")

    def input(self, node: Expr, name: str) -> None:
        self.add(node, {"op": "null", "name": name, "inputs": []})

    def add(self, node: Expr, fields: dict[str, Any]) -> None:
        ty = node.checked_type
        types = ty.fields if isinstance(ty, TupleType) else [ty]
        if not all(isinstance(t, TensorType) and t.is_static for t in types):
            raise BuildError(f"a graph holds tensors of known shape, found {ty}; use 'vm'")
        self.nodes.append(GraphNode(fields, [t for t in types if isinstance(t, TensorType)]))
        self.entries[node] = [(len(self.nodes) - 1, n) for n in range(len(types))]

    def call(self, call: Call) -> None:
        function = self.mod[call.op] if isinstance(call.op, GlobalVar) else call.op
        assert isinstance(function, Function)  # operators are inside groups
        inputs = [entry for arg in call.args for entry in self.entries[arg]]
        attrs: dict[str, Any] = {}
        if isinstance(call.op, GlobalVar) and "Compiler" in function.attrs:
            name = call.op.name_hint
            attrs["Compiler"] = function.attrs["Compiler"]
        elif function.attrs.get("Primitive"):
            name = self.function_name(function)
        elif isinstance(function.body, TupleGetItem):  # a tuple field that is read directly
            self.entries[call] = [inputs[function.body.index]]
            return
        else:
            raise BuildError("a graph cannot hold the call of a function; use the executor 'vm'")
        nop = "relay.reshape_only" in function.attrs
        ty = call.checked_type
        attrs |= {
            "num_outputs": str(len(ty.fields) if isinstance(ty, TupleType) else 1),
            "num_inputs": str(len(inputs)),
            "flatten_data": "0",
            "func_name": NOP if nop else name,
            "hash": f"{structural_hash(function) & (2**64 - 1):016x}",
            **_layouts(function),
        }
        name = "reshape_nop" if nop else self.fresh(name, self.nodes_named)
        fields = {"op": "tvm_op", "name": name, "attrs": attrs}
        self.add(call, {**fields, "inputs": [[node, result, 0] for node, result in inputs]})

    def function_name(self, function: Function) -> str:
        """One name for all structurally equal functions."""
        for name, known in self.functions.items():
            if structural_equal(known, function):
                return name
        calls = [n for n in post_order(function.body) if isinstance(n, Call)]
        parts = "_".join(["fused", *(str(n.op_name).replace(".", "_") for n in calls)])
        if len(parts) > LONGEST_NAME:
            digest = hashlib.sha256(parts.encode()).hexdigest()[:16]
            parts = f"{parts[:LONGEST_NAME]}_{digest}_"
        name = self.fresh(self.prefix + parts, self.functions_named)
        self.functions[name] = function
        return name

    def fresh(self, name: str, asked: Counter[str]) -> str:
        """`name`, with the next number appended if it is taken. Source: tvm::NameSupply."""
        made = name
        while made in asked:
            asked[name] += 1
            made = f"{name}_{asked[name]}"
        asked[made] = 0
        return made


def _layouts(function: Function) -> dict[str, str]:
    """The layout attributes of the function's operators."""
    calls = [n for n in post_order(function.body) if isinstance(n, Call) and n.attrs is not None]
    found = (item for call in calls for item in call.attrs.items())
    return {name: value for name, value in found if "layout" in name and isinstance(value, str)}


# Storage -----------------------------------------------------------------------------------------


def plan(nodes: Sequence[GraphNode], heads: Sequence[Entry]) -> None:
    """Assign storage to every result.

    Inputs and outputs of the program keep their storage; other storage is reused after its last
    reader, for a result that is not much larger or smaller.
    """
    free: list[Storage] = []
    count = 0
    readers = Counter((node, n) for node, n in heads)
    for node in nodes:
        readers.update((at, n) for at, n, _ in node.fields["inputs"])
    for k, node in enumerate(nodes):
        inputs = [nodes[at].storage[n] for at, n, _ in node.fields["inputs"]]
        is_input = node.fields["op"] == "null"
        for n, ty in enumerate(node.types):
            if node.fields.get("attrs", {}).get("func_name") == NOP:
                storage = inputs[0]
            else:
                size = prod(ty.concrete_shape) * numpy_dtype(ty.dtype).itemsize
                found = None if is_input else _fitting(free, size)
                if found is None:
                    found = Storage(count, size)
                    count += 1
                found.size = max(found.size, size)
                storage = found
            storage.users += readers[k, n] + is_input  # an input must survive until the next run
            node.storage.append(storage)
        for storage in node.storage:
            _release(free, storage)
        for storage in inputs:
            storage.users -= 1
            _release(free, storage)


def _release(free: list[Storage], storage: Storage) -> None:
    if storage.users == 0 and storage not in free:
        insort(free, storage, key=lambda s: s.size)


def _fitting(free: list[Storage], size: int) -> Storage | None:
    """The smallest storage that is large enough, otherwise the largest that is not much too
    small."""
    larger = [s for s in free if size <= s.size <= size * MATCH_RANGE]
    smaller = [s for s in free if size // MATCH_RANGE <= s.size < size]
    found = larger[0] if larger else smaller[-1] if smaller else None
    if found is not None:
        free.remove(found)
    return found
